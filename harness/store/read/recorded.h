/*
 * A result read back from its directory: what tables and sentences are made from, by one reader for
 * all of them. Nothing of it needs the machine that measured it, nor its benchmarks: of one that
 * this program does not have, its values are shown without what it says about them.
 */
#ifndef CONTEND_STORE_READ_RECORDED_H
#define CONTEND_STORE_READ_RECORDED_H

#include <jansson.h>

#include "harness/contract/finding.h"
#include "harness/machine/facts/key.h"
#include "harness/rows/analysis.h"
#include "harness/verdict/pairs/comparison.h"

/* Zeroed = empty. */
struct recorded {
    struct result result;     /* its arms have plans, but no observations */
    struct analysis analysis; /* of that result; without what single steps took */
    struct findings findings;
    struct comparisons comparisons; /* of an ab */
    const char *version, *commit;   /* of the program that measured; NULL = it does not say */
    const char *started;            /* UTC, ISO 8601; NULL = it does not say */
    struct machine_key machine; /* where it measured; of earlier versions from what they wrote */

    json_t *record; /* from here on what the others borrow from; owned */
    char *rows_text, *rounds_text;
    size_t rows_size, rounds_size;
    size_t nowned, owned_capacity;
    void **owned;
};

/*
 * Reads run.json, rounds.csv and rows.csv of the directory. `benches` are those of this program.
 * Free with recorded_free, also after an error: -ENOENT no result is there, -ENODATA no
 * round of it was finished, -EINVAL the files are damaged, packed, not of one run or of another
 * version, -EFBIG one is too large, and what reading gives. The message says which file, and which
 * line of it.
 */
int recorded_read(int dir_fd, const struct bench *const *benches, struct recorded *recorded,
                  struct err *err);
void recorded_free(struct recorded *recorded);

#endif
