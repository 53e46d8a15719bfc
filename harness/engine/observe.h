/*
 * One observation: one arm, once, with freshly launched processes.
 *
 * launch -> all primed -> warm up -> all ready -> go -> settle -> all foreground done -> stop ->
 * all gone.
 * Nothing here can hang: preparing, measuring and finishing each have a limit of their own.
 */
#ifndef CONTEND_ENGINE_OBSERVE_H
#define CONTEND_ENGINE_OBSERVE_H

#include <stdbool.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/command.h"
#include "harness/engine/job.h"
#include "harness/engine/result.h"
#include "harness/engine/worker/cgroups.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/topo.h"

/* Shared by all observations of a run. */
struct observe_config {
    const struct topo *topo;
    const struct result *run; /* its devices, background and seed */
    const void *background_params;
    double warmup_s;       /* uncounted steps before go, alone; at least one step */
    double least_warmup_s; /* warm-up ends after this time once steps are steady, at the latest
                              after warmup_s; equal to warmup_s = always then */
    double settle_s;       /* uncounted steps together after go, of several workers; at least one.
                              Scans and whole runs wait this long for a dose */
    double measure_s;      /* budget of the measured part, at least 3 steps within limit_s */
    double limit_s;        /* a step still under way this long after settling is censored; an arm's
                              own limit_s holds if it is shorter */
    struct job *job;       /* we are one of its ranks; NULL = all workers are ours */
    const struct user_command *command; /* of the user, for benchmarks that run one; NULL = none */
    const char *outputs;                /* directory for its output; NULL = output is not kept */
    struct cgroups *cgroups;            /* for the workers; NULL = none */
    double setup_s;                     /* time limit of everything that is not a measured step */
    bool traced;                /* keep stages of each step of the first round, for a trace */
    void (*on_wait)(void *arg); /* called a few times a second while waiting; NULL = none */
    void *on_wait_arg;
    /* Observes arms with a variant in place of observe_arm, with the same errors; or NULL. */
    int (*observe)(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *out, struct err *err);
    void *observe_arg;
};

/*
 * Fills *out; the caller sets its round, order and slot. Free it with observation_free, also after
 * an error. If a worker fails, hangs or dies, the observation is failed, with the reason, and the
 * function returns 0. Errors: -EINTR: a signal asked to end; -ERESTART: the program was stopped
 * (Ctrl-Z) and continued: observe again; -errno: nothing could be started.
 */
int observe_arm(const struct observe_config *config, const struct arm *arm, bool record_cpu_samples,
                struct signals *signals, struct observation *out, struct err *err);

#endif
