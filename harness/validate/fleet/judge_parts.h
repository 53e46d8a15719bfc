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
};

/* Whether the machine's figures say nothing by these bounds. */
bool judge_leaves_out(const struct judge *judge, uint32_t machine);

/* -ENOMEM only. */
int judge_add(struct judge *judge, const struct fleet_offence *offence);

/* Adds what moves over a machine's own runs: -ENOMEM only. */
int judge_drifts(struct judge *judge);

#endif
