/*
 * Workers as they are right now: process trees, and where their time went since the last look. What
 * `contend doctor --live` shows of a view (view.h).
 *
 *   struct live live;
 *   rc = live_make(&reader.view, pids, npids, &live, &err);
 *   ... doctor/tables/live.h, doctor/json/live.h ...
 *   live_free(&live);
 *   reader_roll(&reader);
 */
#ifndef CONTEND_DOCTOR_CHECK_LIVE_H
#define CONTEND_DOCTOR_CHECK_LIVE_H

#include <stddef.h>
#include <sys/types.h>

#include "harness/doctor/view/view.h"

/* Times are CPUs: seconds a second. NaN = not known. */
struct live_worker {
    pid_t pid; /* of the topmost process */
    char name[VIEW_NAME_MAX];
    unsigned nprocesses, nthreads;
    double oncpu;
    double queue;       /* in the run queue */
    double blocked;     /* of threads that also ran or waited */
    char because[32];   /* of whom it waits: "4711 nvtop", "itself"; "" = it hardly does */
    double migrations;  /* from CPU to CPU, a second, of its busy threads */
    double throttled;   /* share of its periods in which a quota of its cgroups stopped it */
    uint64_t gpus;      /* bits: of view.gpus */
    double gpu_busy;    /* share of the time, the mean of its GPUs: live_set_gpus */
    struct bitset cpus; /* that it may run on */
    double *used;       /* owned, [ncpus]: share of that CPU's time that its threads had */
};

struct live {
    double wall_s;
    double busy, steal;    /* share of all CPUs' time */
    double load, pressure; /* as of the view */
    double own;            /* CPUs that the looking takes */
    size_t ncpus;
    unsigned *os_cpu; /* owned */
    size_t nworkers;
    struct live_worker *workers; /* owned; who wants most CPU time first */
};

/*
 * The workers are those processes with what they started, or, with npids = 0, whoever is busy, and
 * is not what another busy one started (view_lead). -ENOMEM only; free with live_free, also then.
 */
int live_make(const struct view *view, const pid_t *pids, size_t npids, struct live *live,
              struct err *err);
void live_free(struct live *live);

/* busy: of each of view.gpus, NaN = not known. */
void live_set_gpus(struct live *live, const double *busy, size_t ngpus);

#endif
