/*
 * A directory with results of several scenarios, each in a directory of its name, as 'contend run
 * all' and 'contend run A B --out DIR' leave it: what became of each, told from its files.
 */
#ifndef CONTEND_STORE_READ_COLLECTED_H
#define CONTEND_STORE_READ_COLLECTED_H

#include "harness/contract/scenario.h"
#include "harness/store/files/directory.h"
#include "harness/store/read/recorded.h"
#include "harness/verdict/odd/collection.h"

enum { COLLECTED_NAME_MAX = 64 };

/* Zeroed = none. */
struct collected_dir {
    struct collection collection; /* n = 0: no such result is there */
    size_t damaged; /* of them, those that could not be read: failed, with the reason */
    bool machines_differ;
    bool all;                          /* one of them says that its run was of all scenarios */
    char host[80], command[1024];      /* of the one that began first */
    char machine[MACHINE_KEY_MAX];     /* of any of them */
    char (*names)[COLLECTED_NAME_MAX]; /* [collection.n] */
};

struct collected_request {
    const struct bench *const *benches;
    const struct scenario *scenarios; /* that this program has, and in their order */
    directory_remove *remove_figures;
    /* NULL, or called with each that could be read. 0, or what ends all. */
    int (*found)(void *arg, const char *name, int dir_fd, struct recorded *recorded);
    void *arg;
};

/*
 * Reads them all. Where one says that its run was of all scenarios, those without a result are
 * there, too, as absent; one without a finished round is interrupted. `page` is the file that leads
 * on, in the directory of each. 0, -ENOMEM, what reading the directory gives, or what `found` gave;
 * free also after an error.
 */
int collected_read(int dir_fd, const char *page, const struct collected_request *request,
                   struct collected_dir *dir, struct err *err);
void collected_free(struct collected_dir *dir);

#endif
