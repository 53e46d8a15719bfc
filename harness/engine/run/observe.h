/*
 * One observation: one arm, once, with freshly launched processes.
 *
 * launch -> all primed -> warm up -> all ready -> go -> settle -> all foreground done -> stop ->
 * all gone.
 * Nothing here can hang: preparing, measuring and finishing each have a limit of their own.
 */
#ifndef CONTEND_ENGINE_RUN_OBSERVE_H
#define CONTEND_ENGINE_RUN_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/contract/command.h"
#include "harness/engine/arms/rank_ops.h"
#include "harness/engine/arms/result.h"
#include "harness/engine/worker/cgroups.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/topo/topo.h"

/* Shared by all observations of a run. */
struct observe_config {
    const struct topo *topo;
    const struct result *run; /* its devices, background and seed */
    const void *background_params;
    double warmup_s;       /* steps that do not count, at least one, and before go: alone */
    double least_warmup_s; /* so long at least, and then until steps take as long as those before
                              them, or warmup_s is over; warmup_s = no shorter */
    double settle_s;       /* behind go, of several workers: at least one such step together */
    double measure_s;      /* budget of the measured part, at least 3 steps within limit_s */
    double limit_s;        /* so long after those, a step still under way is censored; of arms
                              with a shorter limit of their own, after that */
    const struct rank_ops *rank_ops;    /* NULL = all workers are ours */
    const struct user_command *command; /* of the user, for benchmarks that run one; NULL = none */
    const char *outputs;                /* directory for what it prints; NULL = nowhere */
    struct cgroups *cgroups;            /* that workers go into; NULL = none */
    double setup_s;                     /* watchdog of everything that is not a measured step */
    bool traced;                        /* the first round is kept step by step, for a trace */
    void (*on_wait)(void *arg);         /* called a few times a second while waiting; NULL = none */
    void *on_wait_arg;
    /* Who observes variants in place of observe_arm, with the same errors; NULL = nobody. */
    int (*observe)(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *out, struct err *err);
    void *observe_arg;
};

/*
 * Fills *out (its round, order and arm are the caller's); free it with observation_free, also
 * after an error. A worker that fails, hangs or dies makes the observation failed, with its reason,
 * and returns 0. Errors: -EINTR when a signal asked to end; -ERESTART when it was stopped (Ctrl-Z)
 * and goes on now: do it again; -errno when nothing could be started.
 */
int observe_arm(const struct observe_config *config, const struct arm *arm, bool record_cpu_samples,
                struct signals *signals, struct observation *out, struct err *err);

#endif
