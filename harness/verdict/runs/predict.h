/*
 * What other numbers of workers and other placements would bring, predicted from one and two
 * workers. Pure apart from allocation.
 *
 * The profile measures one worker alone on all cores, half of them, a quarter, ... of the first
 * placement that binds workers to cores of their own, the reference; two workers on few cores each;
 * and two under each placement. Every round measures all of that. Further numbers of workers are
 * arms from the begin, but idle: a prediction needs their plans. If they are to be measured, that
 * is after the profile, beside one worker alone once more, and changes no prediction.
 *
 * A worker of the reference does x = T(c) / (g s(L)):
 * - T(c): alone on its c CPUs; between the measured ones a straight line on logarithmic axes.
 * - s(L) = 1 + beta L^gamma: what the others cost it in shared memory, caches and clocks. L is the
 *   share of all CPUs that they keep busy, less what they are slowed down themselves. That demand
 *   is in proportion to work done, so that rates are a fixed point, is Pandia's (Goodman et al.,
 *   EuroSys 2017); that one number for the others' pressure is enough is Bubble-Up's (Mars et al.,
 *   MICRO 2011). Both constants come from the pairs: of few cores each, and of half of all each.
 * - g: as many as share a GPU take turns at it: mean value analysis of a closed network with one
 *   queue (Reiser and Lavenberg, JACM 1980), from the share of one worker's time in which its GPU
 *   works. No GPU does more than all of its time.
 * Of a gang, whose workers meet in each step, all do as the one with the fewest CPUs.
 * Another placement keeps of that what two workers kept. If two have more threads than CPUs and
 * keep less than PREDICT_COLLAPSE, threads wait for others that have no CPU: then it is a bound,
 * "at most", that holds with 99%. On 2 CPUs the loss of a team did not grow with more workers; what
 * more workers than CPUs lose by taking turns is in the interval, as the loss of two on one CPU
 * said nothing about it.
 */
#ifndef CONTEND_VERDICT_RUNS_PREDICT_H
#define CONTEND_VERDICT_RUNS_PREDICT_H

#include "harness/engine/arms.h"
#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

#define PREDICT_COLLAPSE 0.8
enum { PREDICT_CORES = 8, PREDICT_CELLS = 128 };

/* Zeroed; then the caller sets the first two. */
struct predict {
    double max_time_s;      /* of the profile; one round is always measured */
    unsigned verify_rounds; /* in which what was predicted is measured; 0 = it is not */
    bool is_made;           /* internal from here on */
    struct variant variants[PREDICT_CORES], few, again;
};

/* Adds the arms: for struct arrange, `arg` is the struct predict. */
int predict_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                    struct result *result, struct err *err);

/*
 * Call after each round: another of the profile while there is time, then those that verify; none
 * if the profile gives no prediction. True, once, when the prediction is complete.
 */
bool predict_next(struct predict *predict, const struct analysis *analysis, struct result *result);

/* What a worker lacks first. */
enum predict_limit {
    PREDICT_BY_CORES,
    PREDICT_BY_SHARED,
    PREDICT_BY_GPU,
    PREDICT_BY_WAITING,
    PREDICT_BY_ITSELF
};
/* "cores", "shared memory", "the GPU", "waiting", "itself". */
const char *predict_limit_name(enum predict_limit limit);

/* A number of workers under a placement. Rates are of all workers together; NaN = unknown. */
struct predict_cell {
    const struct arm *arm;
    bool is_profile;        /* measured in the profile: `rate` is that */
    bool is_bound;          /* `rate` is the most that is possible; low is 0 */
    double rate, low, high; /* 90% interval */
    double measured;        /* afterwards */
    double error;           /* (rate - measured) / measured; NaN for a bound */
    double times_one, line; /* as others predict: N times one worker; the line through 1 and 2 */
    enum predict_limit limit;
};

struct predict_errors {
    double median, ninety, worst; /* of magnitudes; NaN = none */
};

struct prediction {
    size_t n;
    struct predict_cell cell[PREDICT_CELLS]; /* by workers, then as the placements of the run */
    double one;                              /* rate of one worker on all CPUs */
    double beta, gamma;                      /* of s(L) */
    double gpu_share;                        /* of one worker's time; NaN = no GPU, or unknown */
    size_t best;                             /* the highest rate that is no bound; n = none */
    size_t fewest; /* the fewest workers under that placement within 2% of it */
    size_t less;   /* the first there that brings less than half of the first worker; n = none */
    double drift;  /* rate of one worker alone while that was verified / before; NaN = unknown */
    size_t verified, inside;    /* predicted and then measured; of these within the interval */
    size_t bounds, bounds_held; /* of those measured */
    struct predict_errors errors, times_one, line;
};

/* False if the analysis has no such arms, or the profile gives no prediction. */
bool predict_read(const struct analysis *analysis, struct prediction *prediction);

/* Appends the findings: the best number of workers and placement, where more stop to pay, and how
 * far off it was. */
void predict_judge(const struct analysis *analysis, struct findings *findings);

#endif
