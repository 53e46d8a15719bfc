/*
 * Unlike jobs that run at once on one node, each with a command, workers and metrics of its own:
 * `contend run --job`. Pure, but allocates.
 */
#ifndef CONTEND_ENGINE_CONTRACT_NEIGHBOURS_H
#define CONTEND_ENGINE_CONTRACT_NEIGHBOURS_H

#include "harness/engine/contract/command_load.h"

enum { NEIGHBOURS_MOST = 6, NEIGHBOURS_WORKERS = 512, NEIGHBOUR_NAME_MAX = 13 };

struct neighbour {
    char name[NEIGHBOUR_NAME_MAX];
    struct command_options options;
    int64_t workers;
    double share;              /* of the cores, relative to the other jobs; 0 = by its workers */
    char **words, **argv;      /* owned; argv: the command, within words */
    const struct bench *bench; /* of its workers; set by who arranges the arms */
    /* Its metrics in those of the mix: all that its workers emit, its rate if none has a name
     * (otherwise rate = kept), and what it keeps. */
    unsigned first, rate, kept;
};

/* Metrics of a job besides those that its workers emit; `fairness` is of all jobs. */
#define NEIGHBOUR_RATE "rate"
#define NEIGHBOUR_KEPT "kept"
#define NEIGHBOURS_FAIRNESS "fairness"
#define NEIGHBOURS_BENCH "jobs"

struct neighbours {
    size_t n;
    struct neighbour all[NEIGHBOURS_MOST];
    struct bench bench; /* of all jobs together; its rate is the sum of what each keeps */
    struct bench_metric metrics[NEIGHBOURS_MOST * (COMMAND_BENCH_METRICS + 2) + 2];
    unsigned fairness; /* index of that metric */
};

/*
 * Parses "NAME=[OPTIONS] -- COMMAND" for each job: options of `run -- COMMAND`, -n and --share.
 * -EINVAL: the message names the job. Free with neighbours_free, also after an error.
 */
int neighbours_parse(const struct opt_texts *texts, struct neighbours *neighbours, struct err *err);
void neighbours_free(struct neighbours *neighbours);

/* The job that has this metric, for --protect; not for what it keeps. NULL: the message lists all.
 */
const struct neighbour *neighbours_find(const struct neighbours *neighbours, const char *metric,
                                        struct err *err);

/* Divides the cores `of` each job among its workers: cores[] of each worker in order. */
void neighbours_spread(const struct neighbours *neighbours, const unsigned *of, unsigned *cores);

/* How many workers all jobs have. */
unsigned neighbours_workers(const struct neighbours *neighbours);

/*
 * The job of worker `worker` of an arm: of job `alone` - 1 only, or with 0 of all in order. *index,
 * unless NULL: which of its workers it is.
 */
const struct neighbour *neighbour_of(const struct neighbours *neighbours, unsigned alone,
                                     unsigned worker, unsigned *index);

#endif
