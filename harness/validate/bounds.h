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

#endif
