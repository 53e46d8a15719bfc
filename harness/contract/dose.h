/*
 * Contention at a dose: how much is taken from the workers in front, whatever these ask for.
 *
 * - cpu=20% of the time of each CPU that the workers may use. A task that always wants to run
 *   waits so much of its time for aggressors, however many others it shares the CPU with.
 * - bandwidth=0.8 of memory: what a probe reads in a second, relative to when the aggressors rest.
 * - latency=1.5 of memory: the time of a probe's load, relative to the same.
 * - cache=0.5 of the last-level cache: what a probe reads in a second of data that fills half of
 * it, relative to the same.
 * - throttle=10% of the time in which a worker would run: a CPU quota of its cgroup stops it.
 *
 * Both sides of a ratio are measured beside the workers, so what these cost the probe is in
 * neither.
 */
#ifndef CONTEND_CONTRACT_DOSE_H
#define CONTEND_CONTRACT_DOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

enum dose_kind { DOSE_CPU, DOSE_BANDWIDTH, DOSE_LATENCY, DOSE_CACHE, DOSE_THROTTLE, DOSE_KINDS };

/* The benchmark that gives them, whose parameters are a struct dose. */
#define DOSE_BENCH "dose"

struct dose {
    int kind; /* enum dose_kind */
    double level;
};

/* "cpu", "bandwidth", "latency", "cache", "throttle", NULL. */
extern const char *const dose_names[];

/* Its level is a share of time, in percent: of cpu and throttle. */
bool dose_is_share(int kind);

/* Its level is what is left of a probe's speed: of bandwidth and cache. */
bool dose_is_left(int kind);

/* The level at which nothing is taken: 0 of a share, else 1. */
double dose_idle_level(enum dose_kind kind);

/* Nothing is taken: no aggressor is needed. */
bool dose_is_idle(const struct dose *dose);

bool dose_is_same(const struct dose *a, const struct dose *b);

/* -EINVAL: a level that no aggressor can hold, such as 95% of a CPU. */
int dose_check(const struct dose *dose, struct err *err);

/*
 * "cpu=20%", "cpu=0.2", "bandwidth=0.8", "latency=1.5"; and a list of levels, "cpu=0,10,20%", all
 * in percent where the last one is, of which it returns how many, at most `most`. -EINVAL: one
 * message that names the text.
 */
int dose_parse(const char *text, struct dose *dose, struct err *err);
int dose_parse_list(const char *text, struct dose *doses, size_t most, struct err *err);

/* As dose_parse reads it: "cpu=20%". Returns buf. */
enum { DOSE_TEXT_MAX = 32 };
char *dose_format(const struct dose *dose, char buf[static DOSE_TEXT_MAX]);

#endif
