/*
 * One observation: one arm, once, with freshly launched processes.
 *
 * launch -> all primed -> warm up -> all ready -> go -> settle -> all foreground done -> stop ->
 * all gone.
 * Nothing here can hang: preparing, measuring and finishing each have a limit of their own.
 */
#ifndef CONTEND_ENGINE_OBSERVE_H
#define CONTEND_ENGINE_OBSERVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/engine/collect.h"
#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/command.h"
#include "harness/engine/job.h"
#include "harness/engine/result.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/gpu_watch.h"
#include "harness/machine/topo.h"

/* Workers whose servers run on from one observation to the next, and their shared memory. */
struct kept {
    unsigned n;            /* most workers of an observation */
    double end_s;          /* that they may take to end their servers */
    struct shared *shared; /* NULL = there are none */
    int shared_fd, event_fd;
    struct process_known known; /* processes that are not theirs */
    struct process
        process[BARRIER_RANKS]; /* of each while it waits for orders; pid 0 = none does */
};

/* Ends them, the servers too: in end_s, or at once. */
void observe_end_kept(struct kept *kept, bool now);

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
    struct kept *kept;                  /* --keep: workers of a command stay; NULL = they end */
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

/*
 * Shared by the parts of observe.c: the current observation and its workers.
 *
 *   observe_workers.c   starts the workers, follows their states, ends them
 *   observe_orders.c    their shared memory and orders
 *   observe.c           the phases
 */
struct observer {
    const struct observe_config *config;
    const struct arm *arm;
    struct signals *signals;
    struct err *err; /* of the observation */
    struct shared *shared;
    int shared_fd, event_fd;
    unsigned round;
    unsigned nworkers, foreground;
    unsigned slot;                    /* of struct observation */
    unsigned first, first_background; /* plan index of our first foreground and background worker */
    struct job *job;                  /* NULL = all workers are ours */
    struct kept *kept;                /* where foreground workers that finish stay; or NULL */
    pthread_t in_mpi;                 /* the thread of the worker that calls MPI */
    bool stuck;                       /* which could not be ended */
    uint64_t deadline_ns;             /* when settling or measuring times out; 0 = in neither */
    struct observer_child {
        pid_t pid; /* for /proc; 0 = not started or gone */
        struct process process;
        bool in_mpi; /* a thread of this process, whose pid this is */
        struct worker_end end;
    } * child;
    struct gpu_watch watch; /* of the GPUs in use */
    struct bitset cpus;     /* used by our workers */
    struct observer_reading {
        struct usage_machine machine; /* of those CPUs */
        double workers_s, helpers_s;  /* CPU time used so far by our workers, and by this process */
    } at_go, at_end;
    uint64_t begin_ns, go_ns;
};

/* The end that we gave to worker i; without one, its own state. */
static inline enum worker_state observe_state(const struct observer *o, unsigned i)
{
    const enum worker_state end = o->child[i].end.state;
    return end ? end : shared_state(&o->shared->worker[i]);
}

/* True if worker i has reached `state` or ended. */
bool observe_reached(const struct observer *o, unsigned i, enum worker_state state);

/* The same of all foreground workers, or with `background` of all; in a job, of all ranks. */
bool observe_all_reached(const struct observer *o, bool background, enum worker_state state);

/* True if a worker failed, hung or died: one of ours; or, in a job, one of any rank. */
bool observe_any_lost_here(const struct observer *o);
bool observe_any_lost(const struct observer *o);

/* Notes which workers have ended, and why if they could not report it. Those that stay have ended
 * for this observation when they finish. */
void observe_reap(struct observer *o);

/* Ends worker i. A worker that does not return from MPI is left there, and o->stuck is set. */
void observe_end(struct observer *o, unsigned i);

/*
 * Ends all remaining workers, with -ECANCELED as their error: they are not the cause of a failure.
 * -EBUSY: a worker does not end within setup_s, so nothing else may be started.
 */
int observe_end_all(struct observer *o);

/* Declares worker i, or each of the first n, hung and ends it, unless it has reached `state`. */
void observe_give_up(struct observer *o, unsigned i, enum worker_state state, double limit_s);
void observe_give_up_all(struct observer *o, unsigned n, enum worker_state state, double limit_s);

/* Starts all workers. A worker that cannot be started is lost, and later ones are not started. */
void observe_launch_all(struct observer *o);

/* Sets which workers of the arm's plan we start: first, foreground, first_background, nworkers. */
void observe_select_workers(struct observer *o);

int observe_open(struct observer *o, struct err *err);
void observe_close(struct observer *o);
void observe_write_orders(struct observer *o);

/* Begins to watch the GPUs of the workers, after observe_write_orders; of a scan that is not
 * `gang`, all visible GPUs. */
int observe_watch_gpus(struct observer *o, struct err *err);

#endif
