/*
 * What a fingerprint is made of, as two tables: the runs of contend that measure it, and where its
 * values stand in their results. A new value is a line in one or both.
 */
#ifndef CONTEND_CMD_FINGERPRINT_MEASURED_H
#define CONTEND_CMD_FINGERPRINT_MEASURED_H

#include "harness/machine/topo/topo.h"
#include "harness/store/read/runs.h"
#include "harness/verdict/runs/fingerprint.h"

enum { MEASURED_WORDS = 16, MEASURED_WORD_MAX = 512, MEASURED_RUNS = 16, MEASURED_S = 180 };

/*
 * One child run, into that folder. In its words {cpus} is how many CPUs may be used, {half} the
 * list of the first half of them, core by core, {beyond} a size that no cache holds.
 */
struct measured_run {
    const char *folder, *words[MEASURED_WORDS]; /* words end with NULL */
    double max_s;                               /* of MEASURED_S in all */
    bool needs_gpu, needs_half;
};

/* Ends with folder NULL; at most MEASURED_RUNS. */
extern const struct measured_run measured_runs[];

/* Why it cannot be measured here; "" = it can. `sim`: GPUs are not to be used. */
const char *measured_not_here(const struct measured_run *run, const struct topo *topo, bool sim);

/* The word with what stands for it on that machine. Returns buf. */
char *measured_expand(const char *word, const struct topo *topo, char buf[MEASURED_WORD_MAX]);

/* What became of a run: its result, or why there is none. */
struct measured {
    struct runs runs;
    char reason[200]; /* "" = the first of `runs` is its result */
};

/* Adds all values, or why they are absent; `all` has one of each run. */
void measured_read(const struct measured *all, struct fingerprint *print);

#endif
