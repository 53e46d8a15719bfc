/* A made-up fleet in memory, of which it is known who is bad. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_FLEET_H
#define CONTEND_TESTS_LIB_FIXTURE_FLEET_H

#include "harness/validate/fleet/fleet.h"

struct fixture_fleet {
    unsigned machines, figures;
    unsigned runs;     /* a machine; 0 = 1 */
    double run_spread; /* standard deviations of logarithms: from run to run, */
    double machine_spread;
    bool heavy; /* the first is Student's t with 5 degrees of freedom, scaled to it */
    bool modes; /* of every second figure three in ten machines are 8% lower */
    uint64_t seed;

    unsigned nbad; /* the first machines */
    double ratio;  /* that one figure of each is off by, machine 3 its figure 3; 0 = none */
    bool drifts;   /* the last run is, and those before it on the way there */
    bool lacks;    /* theirs with gpu=1 are not there: every second one */
};

/* Figures are rates of about 100, called "rate" at gpu=0, gpu=1 and so on; machines "m0" ... */
void fixture_fleet_make(const struct fixture_fleet *with, struct fleet *fleet);

/* The key of one of its figures; returns key. */
char *fixture_fleet_key(unsigned figure, char key[static FLEET_KEY_MAX]);

/* Adds a run of one figure, before the fleet is arranged. */
void fixture_fleet_add(struct fleet *fleet, const char *name, uint64_t started, unsigned figure,
                       double value);

#endif
