/*
 * Reduces the observations of an arm to one number per round and quantity: the first step from a
 * run to its rows. The round is the unit of replication (METHOD 1), so later steps take intervals
 * over rounds. Pure apart from allocation.
 *
 * Only foreground workers count, except in background_rate and dose. Only rounds that ended ok,
 * noisy or censored count. The steps of a worker are the iterations of its samples. A censored last
 * sample carries the time until the limit and the work of a whole step: times become lower bounds
 * and rates upper bounds.
 */
#ifndef CONTEND_RECORD_ROUNDS_H
#define CONTEND_RECORD_ROUNDS_H

#include <stddef.h>

#include "harness/engine/result.h"

/* One usable round of one arm. NaN = unknown. "Per step" is a mean over workers of x / steps. */
struct round_fields {
    unsigned round;
    enum status status;
    double throughput;               /* ops/s: sum over workers of ops / (end of last step - go) */
    double stage_time[BENCH_STAGES]; /* s, per stage: mean over workers of each worker's mean over
                                        the steps that ended */
    double stage_cost;               /* share of wall time that timing the stages took: the largest
                                        of a worker */
    double step_time;                /* s: median over workers of each worker's median step */
    double background_rate;          /* ops/s: sum over background workers, of steps while the
                                        foreground was measured; NaN = a worker had no such step */
    double dose;                     /* level held while the foreground was measured; NaN = none */
    double steps;                    /* of the worker that finished the fewest */
    double worst_worker;             /* throughput of the slowest / mean; NaN with one worker */
    struct usage usage;         /* means over workers; most fields are per step: usage_fields */
    double thread_instructions; /* per step and team thread */
    double pages_remote; /* share of counted pages off the planned nodes, if memory was bound */
    double steal;        /* share of the arm's CPU time */
    double stolen_s;     /* per step and team thread: upper bound of the stolen part of blocked_s */
    double foreign_cpu;  /* share of the arm's CPU time that other processes used */
    double psi_cpu_some; /* share of the wall time */
    double gpu_busy;     /* share of the wall time, mean over workers that have a device */
    double gpu_clock_mhz; /* mean over the GPUs in use */
    double gpu_temp_c;
};

/* What an arm is compared with. */
enum baseline {
    BASELINE_NONE,
    BASELINE_SLICE, /* X_slice: one worker alone with 1/N of the CPUs, one arm for all placements */
    BASELINE_SAME_PLACEMENT, /* one worker alone under the same placement */
    BASELINE_SINGLE,         /* one worker alone, unpinned: it owns the machine */
    BASELINE_IDLE,           /* of a `gang` scan under load: all its workers without the load */
    BASELINE_BEST,           /* the placement of as many workers that has the highest throughput */
    BASELINES
};

struct arm_rounds {
    size_t source; /* index of the arm that was measured: another arm if same_as is set */
    size_t n;      /* usable rounds */
    struct round_fields
        *fields;        /* owned: of the usable rounds, in order; NULL if read from files */
    double rate;        /* median throughput over those rounds; NaN = unknown */
    char rate_unit[32]; /* "items/s" */
    size_t nsteps;
    double *steps;           /* s: every sample of every usable round, ascending */
    enum status status;      /* the worst of all its rounds; skipped when it has none */
    char reason[256];        /* one line; "" when ok */
    int baseline[BASELINES]; /* index of an arm with usable rounds, or -1 */
    double slices;           /* how many workers with the CPUs of BASELINE_SLICE fit in all CPUs */
};

struct rounds {
    size_t narms; /* as in the result, index by index */
    struct arm_rounds *arms;
};

/* The rate of a worker in ops/s, or as its steps report it; NaN if it has none, or failed. */
double rounds_worker_rate(const struct bench *bench, const struct worker_result *worker);

/* Free with rounds_free, also after an error. -ENOMEM only. */
int rounds_make(const struct result *result, struct rounds *rounds, struct err *err);
void rounds_free(struct rounds *rounds);

/* "same plan as partition of 4 workers, measured once"; "" if the arm was measured itself. Returns
 * buf. */
const char *rounds_format_shared(const struct result *result, const struct rounds *rounds,
                                 size_t arm);

/* That round of the arm, or NULL when it is not usable or `arm` is -1. */
const struct round_fields *rounds_find(const struct rounds *rounds, int arm, unsigned round);

/*
 * CPUs that the workers of a plan for `planned_workers` may use together: those of the unpinned
 * plan, else the union of all plans. 0 when no arm with that number could be planned.
 */
unsigned rounds_cpus(const struct result *result, unsigned planned_workers);

#endif
