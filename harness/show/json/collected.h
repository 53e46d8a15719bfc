/*
 * Reads a directory with results of several scenarios, each in a directory of its name, as 'contend
 * run all' and 'contend run A B --out DIR' write it: the outcome of each scenario, from its files.
 */
#ifndef CONTEND_SHOW_JSON_COLLECTED_H
#define CONTEND_SHOW_JSON_COLLECTED_H

#include "harness/engine/contract/scenario.h"
#include "harness/record/directory.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/verdict.h"

enum { COLLECTED_NAME_MAX = 64 };

/* Zeroed = none. */
struct collected_dir {
    struct collection collection; /* n = 0: no such result is there */
    size_t damaged;               /* how many could not be read: they are failed, with the reason */
    bool machines_differ;
    bool all;                          /* a result says that its run was of all scenarios */
    char host[80], command[1024];      /* of the result that began first */
    char machine[MACHINE_KEY_MAX];     /* of one of the results */
    char (*names)[COLLECTED_NAME_MAX]; /* [collection.n] */
};

struct collected_request {
    const struct bench *const *benches;
    const struct scenario *scenarios; /* of this program; the collection has their order */
    directory_remove *remove_figures;
    /* NULL, or called with each readable result. Returns 0, or an error that ends the reading. */
    int (*found)(void *arg, const char *name, int dir_fd, struct recorded *recorded);
    void *arg;
};

/*
 * Reads all results. If a result says that its run was of all scenarios, scenarios without a result
 * are listed as absent. A result without a finished round is interrupted. `page` is the name of the
 * page in the directory of each result, for `has_page`. Returns 0, -ENOMEM, the error of reading
 * the directory, or that of `found`; free also after an error.
 */
int collected_read(int dir_fd, const char *page, const struct collected_request *request,
                   struct collected_dir *dir, struct err *err);
void collected_free(struct collected_dir *dir);

#endif
