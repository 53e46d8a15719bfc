/* The trials of `contend selfcheck`: whole commands of this program, judged by their files. */
#ifndef CONTEND_CMD_SESSION_SELFCHECK_TRIALS_H
#define CONTEND_CMD_SESSION_SELFCHECK_TRIALS_H

#include "harness/cmd/common/cmd.h"
#include "harness/lib/sys/signals.h"
#include "harness/store/read/runs.h"
#include "harness/verdict/runs/selfcheck.h"

/* What is the same for all of them. */
struct selfcheck_trials {
    const struct bench *const *benches;
    const struct cli *cli;           /* the parameters */
    const char *scenario;            /* its name */
    const char *workers, *device;    /* as they were given; NULL = were not */
    const char *dir;                 /* a trial's is DIR/KIND/NUMBER */
    struct signals *signals;         /* open */
    double limit_s[SELFCHECK_KINDS]; /* of a trial by ab */
    struct runs runs;                /* of those that compare, two a trial; freed by the caller */
};

/* Whether such a trial can be planned here, without running it. -EINVAL says what is wrong. */
int selfcheck_try(struct selfcheck_trials *trials, enum selfcheck_kind kind, struct err *err);

/*
 * Makes one: fills all but its kind and number, which are given. What goes wrong in it is its
 * outcome. -EINTR: we were asked to stop, and it does not count; -ENOMEM.
 */
int selfcheck_make(struct selfcheck_trials *trials, struct selfcheck_trial *trial, struct err *err);

/* How many of all pairs of the runs are called changed. -ENOMEM only. */
int selfcheck_all_pairs(const struct selfcheck_trials *trials, struct selfcheck *check,
                        struct err *err);

#endif
