/*
 * Shared by the parts of observe.c: one observation under way, and its workers.
 *
 *   observe_workers.c   starting them, seeing how far they are, ending them
 *   observe_orders.c    their memory and orders
 *   observe.c           the phases
 */
#ifndef CONTEND_ENGINE_RUN_OBSERVE_PARTS_H
#define CONTEND_ENGINE_RUN_OBSERVE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/engine/run/observe.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"
#include "harness/machine/gpu/watch.h"

struct observer {
    const struct observe_config *config;
    const struct arm *arm;
    struct signals *signals;
    struct err *err; /* of the observation */
    struct shared *shared;
    int shared_fd, event_fd;
    unsigned round;
    unsigned nworkers, foreground;
    unsigned slot;                   /* of struct observation */
    unsigned first, behind;          /* places of ours in the arm's plan, in front and behind */
    const struct rank_ops *rank_ops; /* NULL = all workers are ours */
    bool stuck;                      /* a worker in MPI could not be ended */
    uint64_t late_ns;                /* when the measured time is over; 0 = not in it */
    struct observer_child {
        pid_t pid; /* where to read what it does; 0 = not started or gone */
        struct process process;
        bool in_mpi; /* started by rank_ops->start, a thread of the process of that pid */
        bool censored;
        bool canceled;      /* ended for what another one did */
        uint64_t killed_ns; /* clock at which a censored step was ended */
    } * child;
    struct gpu_watch watch; /* of the GPUs in use */
    struct bitset cpus;     /* that our workers use */
    struct observer_reading {
        struct usage_machine machine; /* of those CPUs */
        double workers_s, helpers_s;  /* CPU time that our workers, and we ourselves, have used */
    } at_go, at_end;
    uint64_t begin_ns, go_ns;
};

/* Has worker i come to `state`, or ended? */
bool observe_past(const struct observer *o, unsigned i, enum worker_state state);

/* Have those in front, or all? In a job: those of all ranks. */
bool observe_all_past(const struct observer *o, bool background, enum worker_state state);

/* Has a worker failed, hung or died: one of ours, or in a job one of any rank's? */
bool observe_any_lost_here(const struct observer *o);
bool observe_any_lost(const struct observer *o);

/* Notes who has ended, and why where it could not say so. */
void observe_reap(struct observer *o);

/* Ends worker i; one that does not come back from MPI is left there, and o->stuck says so. */
void observe_end(struct observer *o, unsigned i);

/*
 * Ends whoever is left. They are not the cause of what went wrong: -ECANCELED says so. -EBUSY: one
 * does not go within setup_s, and nothing is to be started beside it.
 */
int observe_end_all(struct observer *o);

/* A worker that has not come to `state` is declared hung and ended; of the first n. */
void observe_give_up(struct observer *o, unsigned i, enum worker_state state, double limit_s);
void observe_give_up_all(struct observer *o, unsigned n, enum worker_state state, double limit_s);

/* One that cannot be started is a lost worker, and those behind it are not started. */
void observe_launch_all(struct observer *o);

/* Which workers of the arm's plan are ours to start: first, foreground, behind, nworkers. */
void observe_find_ours(struct observer *o);

int observe_open(struct observer *o, struct err *err);
void observe_close(struct observer *o);
void observe_write_orders(struct observer *o);

/* Begins to watch the GPUs of the workers, which have their orders; of a scan that is not
 * `gang`, all that it sees. */
int observe_watch_gpus(struct observer *o, struct err *err);

#endif
