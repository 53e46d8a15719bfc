/*
 * A fingerprint is made from two tables: the runs of contend that measure it, and where its
 * values stand in their results. A new value is a line in one or both.
 */
#ifndef CONTEND_CMD_FINGERPRINT_SOURCES_H
#define CONTEND_CMD_FINGERPRINT_SOURCES_H

#include "harness/machine/topo/topo.h"
#include "harness/store/read/runs.h"
#include "harness/verdict/runs/fingerprint.h"

enum { SOURCE_WORDS = 16, SOURCE_WORD_MAX = 512, SOURCE_RUNS = 16, SOURCE_S = 180 };

/*
 * One child run, into that folder. In its words {cpus} is how many CPUs may be used, {half} the
 * list of the first half of them, core by core, {beyond} a size that no cache holds.
 */
struct source_run {
    const char *folder, *words[SOURCE_WORDS]; /* words end with NULL */
    double max_s;                             /* of SOURCE_S in all */
    bool needs_gpu, needs_half;
};

/* Ends with folder NULL; at most SOURCE_RUNS. */
extern const struct source_run source_runs[];

/* Why it cannot be measured here; "" = it can. `sim`: GPUs are not to be used. */
const char *source_not_here(const struct source_run *run, const struct topo *topo, bool sim);

/* The word with what stands for it on that machine. Returns buf. */
char *source_expand(const char *word, const struct topo *topo, char buf[SOURCE_WORD_MAX]);

/* The result of a run, or why there is none. */
struct source_result {
    struct runs runs;
    char reason[200]; /* "" = the first of `runs` is its result */
};

/* Adds all values, or why they are absent; `all` has one of each run. */
void sources_read(const struct source_result *all, struct fingerprint *print);

#endif
