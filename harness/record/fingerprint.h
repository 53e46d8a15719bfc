/*
 * A machine as a vector of its rates and of its retentions under fixed doses of contention; and the
 * distance between two vectors, in units of the difference between equal runs. Pure.
 */
#ifndef CONTEND_RECORD_FINGERPRINT_H
#define CONTEND_RECORD_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/machine/key.h"

enum { FINGERPRINT_VALUES = 64, FINGERPRINT_PARTS = 16 };

/* One value of a part, such as "copies". */
struct fingerprint_value {
    char part[40], name[40], unit[16];
    bool is_retention; /* a ratio, above 1: faster than without contention; else a rate */
    bool less_is_better;
    double value, low, high; /* value NaN = absent; low and high NaN = unknown */
    unsigned rounds;
    char reason[200]; /* why it is absent */
};

struct fingerprint {
    char host[ENV_HOST_LABEL_MAX], started[32];       /* "" = unknown */
    char cpu_model[96], gpu_model[96];                /* "" = unknown */
    char key[MACHINE_KEY_MAX], kind[MACHINE_KEY_MAX]; /* of machine/key.h */
    unsigned cpus, gpus;
    size_t n;
    struct fingerprint_value value[FINGERPRINT_VALUES];
};

/* Appends a copy; does nothing if there is no room. */
void fingerprint_add(struct fingerprint *print, const struct fingerprint_value *value);

/* The number of absent values. */
size_t fingerprint_absent(const struct fingerprint *print);

/* A value of both fingerprints, or of one: then the other pointer is NULL. */
struct fingerprint_difference {
    const struct fingerprint_value *a, *b; /* borrowed */
    double ratio; /* b relative to a; above 1 is better, also if less is better; NaN = none */
    double units; /* |ln ratio| / difference of equal runs; NaN = none */
};

struct fingerprint_part {
    const char *name; /* borrowed */
    size_t n;         /* values that both have */
    double distance;  /* root mean square of their units */
    size_t farthest;  /* index of the difference with the most units */
};

/* The difference of `b` from `a`. */
struct fingerprint_distance {
    size_t n, nparts, shared;
    struct fingerprint_difference difference[2 * FINGERPRINT_VALUES];
    struct fingerprint_part part[FINGERPRINT_PARTS]; /* parts with shared values, farthest first */
    double distance; /* root mean square of all units; NaN = nothing is shared */
};

/* Borrows from both. */
void fingerprint_compare(const struct fingerprint *a, const struct fingerprint *b,
                         struct fingerprint_distance *out);

/* One of several machines that should be alike, and its difference from their median. */
struct fingerprint_machine {
    const char *path; /* borrowed */
    struct fingerprint print;
    struct fingerprint_distance distance;
};

/*
 * Makes the median machine from the values that more than half of the machines have. Compares each
 * machine with it and sorts them: machines that share no value with it, then the farthest first.
 * -ENOMEM only.
 */
int fingerprint_rank(struct fingerprint_machine *all, size_t n, struct fingerprint *median);

/* True within one unit, the distance of equal runs of one machine. */
bool fingerprint_is_same(const struct fingerprint_distance *distance);

/*
 * "same class (distance 0.7)" or "another class (distance 6.2)", then the parts that are more than
 * two units away: "; copies under memory load are 20% worse here (h2d)". "here" is the machine of
 * `b`.
 */
const char *fingerprint_format(const struct fingerprint_distance *distance);

/* "20% worse", "5% better"; "same" within half a percent. */
const char *fingerprint_format_ratio(double ratio);

#endif
