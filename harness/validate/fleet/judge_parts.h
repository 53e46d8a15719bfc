/* What the files of a judgement have in common. */
#ifndef CONTEND_VALIDATE_FLEET_JUDGE_PARTS_H
#define CONTEND_VALIDATE_FLEET_JUDGE_PARTS_H

#include "harness/validate/fleet/judge.h"

struct judge {
    const struct fleet *fleet;
    const struct bounds *bounds;
    const bool *skip; /* or NULL */
    struct fleet_judgement *out;
    struct err *err;
    bool any_kind; /* the bounds are for */
    uint32_t kind;
    struct judge_whole {
        bool seen;       /* it has a figure of a bound */
        size_t nlacking; /* figures that are required and not there; */
        size_t lacking;  /* the bound of the first */
        double worse;    /* median of the logarithms of how much worse its figures are; NaN = few */
    } * whole;           /* owned, one a machine */
};

/* Whether the machine's figures say nothing by these bounds. */
bool judge_leaves_out(const struct judge *judge, uint32_t machine);

/* -ENOMEM only. */
int judge_add(struct judge *judge, const struct fleet_offence *offence);

/* Adds what moves over a machine's own runs: -ENOMEM only. */
int judge_drifts(struct judge *judge);

#endif
