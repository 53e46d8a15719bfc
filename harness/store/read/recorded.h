/*
 * A result read back from its directory, by the one reader that all tables and sentences use. This
 * needs neither the machine that measured it nor its benchmarks: values of a benchmark that this
 * program lacks are shown without that benchmark's descriptions.
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
    struct analysis analysis; /* of `result`, without the times of single steps */
    struct findings findings;
    struct comparisons comparisons; /* of an ab */
    const char *version, *commit;   /* of the program that measured; NULL = not recorded */
    const char *started;            /* UTC, ISO 8601; NULL = not recorded */
    struct machine_key machine; /* that measured; made from other keys if an old record has none */

    json_t *record; /* from here on owned: the members above borrow from these */
    char *rows_text, *rounds_text;
    size_t rows_size, rounds_size;
    size_t nowned, owned_capacity;
    void **owned;
};

/*
 * Reads run.json, rounds.csv and rows.csv of the directory. `benches` are those of this program.
 * Free with recorded_free, also after an error. -ENOENT: no result is there; -ENODATA: no round of
 * it was finished; -EINVAL: the files are damaged, compressed, not of one run, or of another
 * version; -EFBIG: a file is too large; or an error of reading. The message names the file and its
 * line.
 */
int recorded_read(int dir_fd, const struct bench *const *benches, struct recorded *recorded,
                  struct err *err);
void recorded_free(struct recorded *recorded);

#endif
