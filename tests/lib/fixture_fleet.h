/* A made-up fleet in memory whose bad machines are known. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_FLEET_H
#define CONTEND_TESTS_LIB_FIXTURE_FLEET_H

#include "harness/validate/fleet.h"

struct fixture_fleet {
    unsigned machines, figures;
    unsigned runs;     /* per machine; 0 = 1 */
    double run_spread; /* standard deviations of the logarithm: between runs .. */
    double machine_spread;
    bool heavy; /* run_spread is Student's t, 5 degrees of freedom, scaled to that deviation */
    bool modes; /* in every second figure 30% of the machines are 8% lower */
    uint64_t seed;

    unsigned nbad; /* the first `nbad` machines are bad */
    double ratio;  /* factor on one figure of each bad machine: machine i, figure i; 0 = none */
    bool drifts;   /* the factor grows from run to run and is complete in the last */
    bool lacks;    /* bad machines lack each second figure (gpu=1) */
};

/* Figures are rates of about 100, called "rate", with keys gpu=0 and gpu=1 in turn. Machines are
 * called "m0", "m1" ... */
void fixture_fleet_make(const struct fixture_fleet *with, struct fleet *fleet);

/* Writes the key of that figure; returns `key`. */
char *fixture_fleet_key(unsigned figure, char key[static FLEET_KEY_MAX]);

/* Adds a run with one figure. Call it before fleet_arrange. */
void fixture_fleet_add(struct fleet *fleet, const char *name, uint64_t started, unsigned figure,
                       double value);

#endif
