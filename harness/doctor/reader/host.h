/*
 * The machine beside its processes (view.h), as doctor reads it: memory pressure, NUMA
 * balancing, clocks, processes that hang, GPUs. Read at the mark and at the end of the
 * watch, with a few looks between; changes nothing, and needs no root.
 *
 *   struct host host;
 *   rc = host_mark(&reader.view, &topo, "", &host, &err);
 *   ... host_look(&reader.view, &host) once a second, behind reader_tick ...
 *   if (!rc)
 *       rc = host_finish(&reader.view, &host, &err);
 *   ... host_checks ...
 *   host_free(&host);
 *
 * Sources, of the kernel's Documentation: admin-guide/cgroup-v2.rst (memory), accounting/psi.rst,
 * admin-guide/sysctl/kernel.rst (numa_balancing), admin-guide/pm/intel_pstate.rst,
 * ABI/testing/sysfs-devices-system-cpu (thermal_throttle, isolated).
 */
#ifndef CONTEND_DOCTOR_READER_HOST_H
#define CONTEND_DOCTOR_READER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/contract/finding.h"
#include "harness/doctor/reader/hung.h"
#include "harness/doctor/view/view.h"
#include "harness/lib/base/bitset.h"
#include "harness/machine/facts/facts.h"
#include "harness/machine/gpu/health.h"
#include "harness/machine/gpu/watch.h"
#include "harness/machine/topo/topo.h"

/* How a cgroup of workers fared for memory, during the watch. NaN = not told. */
struct host_memory {
    char path[320];     /* its folder; "" = the whole machine */
    double some;        /* PSI: share of the time that a task waited for memory */
    double refaults;    /* pages that had been evicted, and were needed again; a second */
    double kills;       /* processes ended for want of memory, in all of the watch */
    double limit_bytes; /* memory.high or memory.max */
    double then[3];     /* the reader's: counters at the mark */
};

enum { HOST_MEMORIES_MAX = 16, HOST_CPUS_MAX = 64 };

/* Counters of which the difference matters; a second behind host_finish. */
struct host_counts {
    double numa_faults, numa_moved; /* of /proc/vmstat: hint faults, pages moved */
    double throttles;               /* times that CPUs slowed down for heat */
    double throttled_s;             /* s of it, of all CPUs */
};

/* A CPU of a worker; NaN = not told. */
struct host_cpu {
    unsigned os_cpu;
    double now_mhz, base_mhz; /* its clock, at the end */
};

struct host {
    char root[256];          /* as of the reader */
    const struct topo *topo; /* borrowed; NULL = unknown */
    struct host_counts then, a_second;

    size_t nmemories;
    struct host_memory memories[HOST_MEMORIES_MAX]; /* first: the whole machine */

    char governor[32], preference[32], clock_driver[32]; /* "" = the kernel sets no clocks here */
    size_t ncpus;
    struct host_cpu cpus[HOST_CPUS_MAX];

    bool looked;
    struct hung hung; /* .named is to be set behind host_mark */

    struct gpu_watch gpu_watch;
    struct gpu_health *gpus;        /* owned, [topo->ngpus], at the end */
    struct gpu_change *gpu_changes; /* owned */
    unsigned nchanges;
    struct facts log; /* of the kernel, where it is ours to read */
};

/* Free with host_free, also after an error: -ENOMEM only. `topo` outlives the host. */
int host_mark(const struct view *view, const struct topo *topo, const char *root, struct host *host,
              struct err *err);
/* At most once a second. */
void host_look(const struct view *view, struct host *host);
int host_finish(const struct view *view, struct host *host, struct err *err);
void host_free(struct host *host);

/* The machine as other processes may use it: our own mask is no limit of theirs. As topo_load. */
int host_load_topo(struct topo *topo, struct err *err);

/* NULL = not known. */
static inline const struct topo *host_topo(const struct view *view)
{
    return view->host ? view->host->topo : NULL;
}

/* The parts. Memory: of the cgroups of busy workers, and of the whole machine. */
void host_mark_memory(const struct view *view, struct host *host);
void host_finish_memory(const struct view *view, struct host *host);

#endif
