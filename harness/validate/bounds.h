/*
 * The bounds of machines of one kind: for each figure a reference and two bounds. They are made
 * from many machines, or read from a file that a person may have changed
 * (validate/files.h). Pure.
 */
#ifndef CONTEND_VALIDATE_BOUNDS_H
#define CONTEND_VALIDATE_BOUNDS_H

#include "harness/validate/fleet.h"

struct bound {
    char *key; /* owned, as fleet_key_join makes it */
    char unit[FLEET_UNIT_MAX];
    bool higher;         /* more is better */
    bool required;       /* nearly all machines have it, so a machine without it lacks something */
    double reference;    /* > 0 */
    double lower, upper; /* NaN = open */
    double spread;       /* as a share of the reference; NaN = not in the file */
    unsigned machines;   /* number of machines that it was made from */
    unsigned line;       /* in the file that it was read from; 0 = none */
};

/* Zeroed = empty. */
struct bounds {
    char *kind; /* owned */
    char how[200];
    unsigned machines; /* number of machines that they were made from */
    size_t n, capacity;
    struct bound *all; /* owned, sorted by key */
    size_t nleft_out, left_out_capacity;
    struct bounds_left_out {
        char machine[64];
        char reason[160];
    } * left_out; /* owned */
};

/* Appends a bound with a copy of its key. -ENOMEM only. */
int bounds_add(struct bounds *bounds, const struct bound *bound, struct err *err);
int bounds_leave_out(struct bounds *bounds, const char *machine, const char *reason,
                     struct err *err);
void bounds_free(struct bounds *bounds);

/*
 * Makes bounds (bounds.h) from the machines of a fleet.
 *
 * Figures are compared as logarithms: half a rate is as far away as twice the rate.
 *
 * - Reference: the median over machines.
 * - Spread: spread_of_distances to the reference. Few machines do not show it. Up to BOUNDS_FEW
 *   machines the prior is used, as measured on such machines: 5.2%, from 4.2% between runs and 3%
 *   between machines. Up to BOUNDS_SOME it is a mixture of both. It is widened by twice its own
 *   standard error.
 * - Distance of a bound: the probability that a good machine has any figure beyond its bounds is
 *   BOUNDS_FALSE. The distance follows from Bonferroni's inequality for normal values, times
 *   BOUNDS_HEAVIER: no tail is normal, and its far end is not seen. From BOUNDS_TAIL machines on,
 *   the tail of the figure itself counts if it gives more.
 * - A bound is at least BOUNDS_LEAST away, because less does not matter. It is at most BOUNDS_MOST
 *   away, or as far as for normal values with the spread of the closer half, which no bad batch
 *   widens. So a rate that is halved, or a time that is doubled, is found.
 *
 * Odd machines are left out and the bounds made again, a few times at most, until none is odd.
 *
 * Pure.
 */

#define BOUNDS_FALSE 3e-4
#define BOUNDS_LEAST 0.10
#define BOUNDS_MOST 0.40
#define BOUNDS_PRIOR 0.052
#define BOUNDS_HEAVIER 1.5
enum { BOUNDS_FEW = 4, BOUNDS_SOME = 20, BOUNDS_OF_KIND = 3, BOUNDS_TAIL = 100 };

/*
 * The spread of ascending distances to a median: the median distance / 0.6745 (the median absolute
 * deviation, Hampel 1974), or from BOUNDS_TAIL distances on the 95th percentile / 1.96 if larger.
 * Both are the standard deviation if values are normal. At least 1%: equal values are luck.
 */
double spread_of_distances(const double *distances, size_t n);

/*
 * Makes bounds from the machines of the most common kind; the others are left out. -ENODATA: no
 * figures, or of several kinds none has both BOUNDS_OF_KIND machines and more than any other kind,
 * so that the odd ones are unknown; -ENOMEM. Free with bounds_free, also after an error.
 */
int bounds_make(const struct fleet *fleet, struct bounds *bounds, struct err *err);

#endif
