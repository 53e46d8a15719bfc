/*
 * A result as tables, sentences and pages take it: of the run that just ended, from memory, or read
 * from its directory. Reading needs neither the machine that measured it nor its benchmarks: values
 * of a benchmark that this program lacks are shown without that benchmark's descriptions.
 */
#ifndef CONTEND_SHOW_JSON_RECORDED_H
#define CONTEND_SHOW_JSON_RECORDED_H

#include <jansson.h>

#include "harness/machine/key.h"
#include "harness/verdict/verdict.h"

/* Zeroed = empty. */
struct recorded {
    struct result result;     /* if read, its arms have plans, but no observations */
    struct analysis analysis; /* of `result`; if read, without the times of single steps */
    struct findings findings;
    struct comparisons comparisons; /* of an ab */
    const char *version, *commit;   /* of the program that measured; NULL = not recorded */
    const char *started;            /* UTC, ISO 8601; NULL = not recorded */
    struct slo slo;                 /* that the result borrows, if it had one */
    struct machine_key machine; /* that measured; made from other keys if an old record has none */

    bool is_live;   /* of a run in memory: the members above are borrowed from it */
    json_t *record; /* from here on owned: the members above borrow from these */
    char *rows_text, *rounds_text;
    size_t rows_size, rounds_size;
    size_t nbenches;
    struct bench **benches; /* of the arms, each once */
    size_t nowned, owned_capacity;
    void **owned;
};

/* The result of a run that has ended, from its verdict and its run.json. */
void recorded_of_run(json_t *record, const struct verdict *verdict, struct recorded *recorded);

/*
 * Reads run.json and rounds.csv of the directory, and makes rows of them as a run does. `benches`
 * are those of this program. Free with recorded_free, also after an error. -ENOENT: no result is
 * there; -ENODATA: no round of it was finished; -EINVAL: the files are damaged, compressed, not of
 * one run, or of another version; -EFBIG: a file is too large; or an error of reading. The message
 * names the file and its line.
 */
int recorded_read(int dir_fd, const struct bench *const *benches, struct recorded *recorded,
                  struct err *err);
void recorded_free(struct recorded *recorded);

#endif
