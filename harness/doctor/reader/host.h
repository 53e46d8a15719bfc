/*
 * The machine around its processes (view.h), as doctor reads it: memory pressure, NUMA balancing,
 * clocks, hung processes, GPUs. Reads at the mark and at the end of the watch, with a few looks in
 * between. Changes nothing, and needs no root.
 *
 *   struct host host;
 *   rc = host_mark(&reader.view, &topo, "", &host, &err);
 *   ... host_look(&reader.view, &host) once a second, after reader_tick ...
 *   if (!rc)
 *       rc = host_finish(&reader.view, &host, &err);
 *   ... host_checks ...
 *   host_free(&host);
 *
 * Sources, in the kernel's Documentation: admin-guide/cgroup-v2.rst (memory), accounting/psi.rst,
 * admin-guide/sysctl/kernel.rst (numa_balancing), admin-guide/pm/intel_pstate.rst,
 * ABI/testing/sysfs-devices-system-cpu (thermal_throttle, isolated).
 */
#ifndef CONTEND_DOCTOR_READER_HOST_H
#define CONTEND_DOCTOR_READER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/doctor/reader/hung.h"
#include "harness/doctor/reader/view.h"
#include "harness/lib/bitset.h"
#include "harness/lib/finding.h"
#include "harness/machine/facts.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/gpu_watch.h"
#include "harness/machine/topo.h"

/* Memory pressure of a cgroup of workers during the watch. NaN = unknown. */
struct host_memory {
    char path[320];     /* path of the cgroup; "" = the whole machine */
    double some;        /* PSI "some": share of the time that a task waited for memory */
    double refaults;    /* refaults per second: evicted pages that were needed again */
    double kills;       /* out-of-memory kills during the watch */
    double scans;       /* pages per second that the kernel examined because free pages ran out;
                           the whole machine only */
    double limit_bytes; /* memory.high or memory.max */
    double used;        /* the largest use of such a limit, of the cgroup and its ancestors; of the
                           machine, what is not available: shares */
    double then[4];     /* reader state: counters at the mark */
};

enum { HOST_MEMORIES_MAX = 16, HOST_CPUS_MAX = 64 };

/* Counters; after host_finish, `a_second` has their growth per second. NaN = unknown. */
struct host_counts {
    double numa_faults, numa_moved; /* from /proc/vmstat: hint faults, pages moved */
    double throttles;               /* thermal throttling events */
    double throttled_s;             /* seconds throttled, summed over CPUs */
    double disk_waits_s;            /* PSI "some" of storage: a task waited for it */
    double disk_bytes;              /* read from and written to storage */
};

/* A CPU of a worker; NaN = unknown. */
struct host_cpu {
    unsigned os_cpu;
    double now_mhz, base_mhz; /* clock at the end; base clock */
};

struct host {
    char root[256];          /* as in the reader */
    const struct topo *topo; /* borrowed; NULL = unknown */
    struct host_counts then, a_second;

    size_t nmemories;
    struct host_memory memories[HOST_MEMORIES_MAX]; /* the first is the whole machine */

    char governor[32], preference[32], clock_driver[32]; /* "" = no cpufreq here */
    size_t ncpus;
    struct host_cpu cpus[HOST_CPUS_MAX];

    bool hung_was_read;
    struct convoys convoys;
    struct hung hung; /* the caller sets .named after host_mark */

    struct gpu_watch gpu_watch;
    struct gpu_health *gpus;        /* owned, [topo->ngpus]; read at the end */
    struct gpu_change *gpu_changes; /* owned */
    unsigned nchanges;
    struct facts log; /* kernel log, if we may read it */
};

/* -ENOMEM only. Free with host_free, also after an error. `topo` must outlive the host. */
int host_mark(const struct view *view, const struct topo *topo, const char *root, struct host *host,
              struct err *err);
/* At most once a second. */
void host_look(const struct view *view, struct host *host);
int host_finish(const struct view *view, struct host *host, struct err *err);
void host_free(struct host *host);

/* Loads the topology for other processes: our own mask does not limit them. Errors of topo_load. */
int host_load_topo(struct topo *topo, struct err *err);

/* NULL = unknown. */
static inline const struct topo *host_topo(const struct view *view)
{
    return view->host ? view->host->topo : NULL;
}

#endif
