/*
 * Variants that are other builds of contend: an observation is a whole run of one round by that
 * program, `PATH run SCENARIO --rounds 1 ... --out DIR/builds/VARIANT/ROUND`, and its values are
 * read back from its files. Variants without a build are run by this program in the same way.
 */
#ifndef CONTEND_CMD_SESSION_BUILDS_H
#define CONTEND_CMD_SESSION_BUILDS_H

#include "harness/engine/run/setup.h"
#include "harness/lib/base/cli.h"
#include "harness/store/read/recorded.h"
#include "harness/verdict/advice/verdict.h"

/* Zeroed = none. All but the runs is borrowed. */
struct builds {
    const struct bench *const *benches;
    const struct run_options *options;
    const struct cli *cli;
    const struct run_setup *setup;
    const char *dir; /* of the whole result */
    size_t n, capacity;
    struct build_run {
        struct recorded recorded;
        const struct arm *arm; /* ours that it stands for */
        size_t recorded_arm;   /* its own */
        unsigned round;
    } * *runs; /* owned; in the order of their rounds */
};

/*
 * One arm a variant is what can be run so. -EINVAL says what else there is; -errno a build that
 * cannot be executed.
 */
int builds_check(const struct run_setup *setup, struct err *err);

/* For struct observe_config: fills the observation's status. `arg` is a struct builds. */
int builds_observe(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *observation, struct err *err);

/* As verdict_make for rounds of our own; borrows from the runs. -ENOMEM only. */
int builds_judge(const struct builds *builds, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

void builds_free(struct builds *builds);

#endif
