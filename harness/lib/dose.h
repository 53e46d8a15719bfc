/*
 * A dose of contention: a set amount of a resource is taken from the foreground workers, regardless
 * of their demand.
 *
 * - cpu=20%: aggressors take this share of the time of each CPU that the workers may use. A task
 *   that is always runnable waits for them this share of its time, with any number of other tasks.
 * - bandwidth=0.8: read rate of a memory probe, relative to its rate while the aggressors rest.
 * - latency=1.5: time of a probe's load from memory, relative to the same.
 * - cache=0.5: read rate of a probe whose data fills half of the last-level cache, relative to the
 *   same.
 * - h2d=0.7: the share of each GPU's host-to-device link time that aggressors leave, by their bytes
 *   and the link's own rate.
 * - throttle=10%: a worker's cgroup CPU quota stops it for this share of the time it would run.
 *
 * Both rates of a probe's ratio are measured beside the workers, so the ratio does not contain the
 * workers' own effect on the probe.
 */
#ifndef CONTEND_LIB_DOSE_H
#define CONTEND_LIB_DOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"

enum dose_kind {
    DOSE_CPU,
    DOSE_BANDWIDTH,
    DOSE_LATENCY,
    DOSE_CACHE,
    DOSE_H2D,
    DOSE_THROTTLE,
    DOSE_KINDS
};

/* The benchmark that applies a dose; its parameters are a struct dose. */
#define DOSE_BENCH "dose"

struct dose {
    int kind; /* enum dose_kind */
    double level;
};

/* "cpu", "bandwidth", "latency", "cache", "h2d", "throttle", NULL. */
extern const char *const dose_names[];

/* True for cpu and throttle: the level is the share of time taken (0 to 1), written in percent. */
bool dose_is_share(int kind);

/* True for bandwidth, cache and h2d: the level is the remaining share of a speed or a time. */
bool dose_is_remainder(int kind);

/* The level that takes nothing: 0 for a share, else 1. */
double dose_idle_level(enum dose_kind kind);

/* True if the dose takes nothing: no aggressor is needed. */
bool dose_is_idle(const struct dose *dose);

bool dose_is_same(const struct dose *a, const struct dose *b);

/* -EINVAL: a level that no aggressor can hold, such as 95% of a CPU. */
int dose_check(const struct dose *dose, struct err *err);

/*
 * Parse "cpu=20%", "cpu=0.2", "bandwidth=0.8" or "latency=1.5"; the second also a list of levels,
 * "cpu=0,10,20%", all in percent if the last one is. dose_parse returns 0, dose_parse_list the
 * number of levels, at most `most`. -EINVAL: the message names the text.
 */
int dose_parse(const char *text, struct dose *dose, struct err *err);
int dose_parse_list(const char *text, struct dose *doses, size_t most, struct err *err);

/* Writes a text that dose_parse reads: "cpu=20%". */
const char *dose_format(const struct dose *dose);
/* The level alone: "20%". */
const char *dose_format_level(const struct dose *dose);

#endif
