/*
 * Variants that are other builds of contend. Each observation is a whole run of one round by that
 * build: `PATH run SCENARIO --rounds 1 ... --out DIR/builds/VARIANT/ROUND`. Its values are read
 * from its files. This program runs variants without a build in the same way.
 */
#ifndef CONTEND_CMD_SESSION_BUILDS_H
#define CONTEND_CMD_SESSION_BUILDS_H

#include "harness/engine/setup.h"
#include "harness/lib/cli.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/verdict.h"

/* Zeroed = none. Everything except `runs` is borrowed. */
struct builds {
    const struct bench *const *benches;
    const struct run_options *options;
    const struct cli *cli;
    const struct run_setup *setup;
    const char *dir; /* directory of the whole result */
    size_t n, capacity;
    struct build_run {
        struct recorded recorded;
        const struct arm *arm; /* the arm of this session that the run measures */
        size_t recorded_arm;   /* index of the same arm in `recorded` */
        unsigned round;
    } * *runs; /* owned; in order of rounds */
};

/*
 * Checks that each variant has exactly one arm, else -EINVAL with the numbers, and that each build
 * is executable, else -errno.
 */
int builds_check(const struct run_setup *setup, struct err *err);

/* For struct observe_config: fills the observation's status. `arg` is a struct builds. */
int builds_observe(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *observation, struct err *err);

/* As verdict_make, for the runs of builds; borrows from them. The only error is -ENOMEM. */
int builds_judge(const struct builds *builds, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

void builds_free(struct builds *builds);

#endif
