/*
 * Workers right now: process trees, and where their time went since the last look. `contend doctor
 * --live` shows them from a view (view.h).
 *
 *   struct live live;
 *   rc = live_make(&reader.view, pids, npids, &live, &err);
 *   ... doctor/doctor_tables.h, doctor/doctor_json.h ...
 *   live_free(&live);
 *   reader_roll(&reader);
 */
#ifndef CONTEND_DOCTOR_CHECKS_LIVE_H
#define CONTEND_DOCTOR_CHECKS_LIVE_H

#include <stddef.h>
#include <sys/types.h>

#include "harness/doctor/reader/view.h"

/* Times are in CPUs: seconds per second. NaN = unknown. */
struct live_worker {
    pid_t pid; /* of the topmost process */
    char name[VIEW_NAME_MAX];
    unsigned nprocesses, nthreads;
    double oncpu;
    double queue;        /* in the run queue */
    double blocked;      /* blocked time of threads that also ran or waited */
    char wait_cause[32]; /* the cause of the wait: "4711 nvtop", "itself"; "" = it hardly waits */
    double migrations;   /* between CPUs, per second, of its busy threads */
    double throttled;    /* share of periods in which a cgroup quota stopped it */
    uint64_t gpus;       /* bit i: view.gpus[i] */
    double gpu_busy;     /* share of the time, mean of its GPUs: live_set_gpus */
    struct bitset cpus;  /* CPUs that it may run on */
    double *used;        /* owned, [ncpus]: share of each CPU's time that its threads used */
};

struct live {
    double wall_s;
    double busy, steal;    /* share of all CPUs' time */
    double load, pressure; /* as in the view */
    double own;            /* CPUs that doctor itself uses */
    size_t ncpus;
    unsigned *os_cpu; /* owned */
    size_t nworkers;
    struct live_worker *workers; /* owned; sorted by wanted CPU time, most first */
};

/*
 * The workers are the processes `pids`, each with its descendants. With npids = 0: every busy
 * process that is not a descendant of a busy one (view_lead). -ENOMEM only; free with live_free,
 * also then.
 */
int live_make(const struct view *view, const pid_t *pids, size_t npids, struct live *live,
              struct err *err);
void live_free(struct live *live);

/* busy[i]: share of the time that view.gpus[i] was busy, NaN = unknown. */
void live_set_gpus(struct live *live, const double *busy, size_t ngpus);

#endif
