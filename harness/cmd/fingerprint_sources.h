/*
 * The two tables behind a fingerprint: the runs of contend that measure it, and the location of
 * each value in their results. A new value needs a line in one or both.
 */
#ifndef CONTEND_CMD_FINGERPRINT_SOURCES_H
#define CONTEND_CMD_FINGERPRINT_SOURCES_H

#include "harness/machine/topo.h"
#include "harness/record/fingerprint.h"
#include "harness/show/json/runs.h"

enum { SOURCE_WORDS = 16, SOURCE_RUNS = 16, SOURCE_S = 180 };

/*
 * One child run, with its result in that folder. In its words, {cpus} is the number of allowed
 * CPUs, {half} the list of the first half of them, core by core, {beyond} a size that exceeds all
 * caches.
 */
struct source_run {
    const char *folder, *words[SOURCE_WORDS]; /* words end with NULL */
    double max_s;                             /* its part of SOURCE_S, the time of all runs */
    bool needs_gpu, needs_half;
};

/* Ends with folder NULL; at most SOURCE_RUNS. */
extern const struct source_run source_runs[];

/* Why it cannot be measured here; "" = it can. `sim`: GPUs must not be used. */
const char *source_not_here(const struct source_run *run, const struct topo *topo, bool sim);

/* The word with its placeholder replaced for that machine. */
const char *source_expand(const char *word, const struct topo *topo);

/* The result of a run, or why it is missing. */
struct source_result {
    struct runs runs;
    char reason[200]; /* "" = the result is the first of `runs` */
};

/* Adds all values, or why they are absent. `all` has one result for each of source_runs. */
void sources_read(const struct source_result *all, struct fingerprint *print);

#endif
