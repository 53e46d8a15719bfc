/*
 * The environment of a result: kernel, CPU settings, limits, versions, variables.
 *
 * Gathered once, from /proc, /sys and libc. What this machine does not have or does not show is
 * absent, never an error: "" for text, NaN for numbers, and null in JSON.
 */
#ifndef CONTEND_MACHINE_ENV_H
#define CONTEND_MACHINE_ENV_H

#include <stddef.h>

#include "harness/lib/sys/cgroup.h"

enum { ENV_HOST_LABEL_MAX = 65 };

struct environment {
    char hostname[PROC_TEXT_MAX];
    char os[PROC_TEXT_MAX];            /* PRETTY_NAME of os-release */
    char kernel[PROC_TEXT_MAX];        /* release, such as "6.1.0-18-amd64" */
    char scheduler[3 * PROC_TEXT_MAX]; /* lib/sys/scheduler.h: "EEVDF", "sched_ext: NAME" */
    char arch[PROC_TEXT_MAX];          /* "x86_64" */
    char cpu_model[PROC_TEXT_MAX];     /* machine/processor.h */
    char microcode[PROC_TEXT_MAX];
    char governor[PROC_TEXT_MAX];        /* "mixed" when the CPUs differ */
    double boost;                        /* 1 = clocks may rise above nominal, 0 = not */
    char thp[PROC_TEXT_MAX];             /* transparent huge pages: always, madvise or never */
    double numa_balancing;               /* kernel.numa_balancing */
    double swappiness;                   /* vm.swappiness */
    double perf_event_paranoid;          /* kernel.perf_event_paranoid */
    double memory_bytes;                 /* MemTotal; grows with use on some VMs */
    double memlock_bytes;                /* soft limit of locked memory; infinite = no limit */
    char clocksource[PROC_TEXT_MAX];     /* "tsc", "kvm-clock" */
    double virtual_machine;              /* 1 = runs under a visible hypervisor, 0 = none visible */
    char hypervisor[PROC_TEXT_MAX];      /* such as "KVMKVMKVM": machine/processor.h */
    char machine_vendor[PROC_TEXT_MAX];  /* DMI sys_vendor */
    char machine_product[PROC_TEXT_MAX]; /* DMI product_name */
    char machine_board[PROC_TEXT_MAX];   /* DMI board_name */
    char bios[PROC_TEXT_MAX];            /* DMI bios_version */
    char machine_uuid[PROC_TEXT_MAX];    /* of the firmware, if this user may read it */
    char machine_id[PROC_TEXT_MAX];      /* of the operating system */
    struct cgroup_limits cgroup;
    char glibc[PROC_TEXT_MAX];
    char compiler[PROC_TEXT_MAX]; /* that built this program */
    char driver[PROC_TEXT_MAX];   /* of the GPUs */
    double mps; /* 1 = CUDA's MPS daemon runs: processes share a GPU at the same time, 0 = they take
                   turns; NaN = unknown */
    char cuda[PROC_TEXT_MAX]; /* CUDA runtime that this program is linked with */
    char nccl[PROC_TEXT_MAX]; /* that workers loaded; set by the code that has their results */
    size_t nvariables;
    char **variables; /* owned "NAME=value", sorted: OMP_, KMP_, CUDA_, CUBLAS_, NCCL_, ... */
};

/* All optional: NULL = unknown. */
struct env_request {
    const char *driver, *cuda; /* versions, found by the caller */
    const char *root;          /* tests: /proc, /sys and /etc are looked up under it */
};

/* Never fails. Free with env_free, which is safe on a zeroed struct. */
void env_gather(const struct env_request *request, struct environment *env);
void env_free(struct environment *env);

/*
 * A directory name for this host's results: the host name with everything but [A-Za-z0-9._-]
 * replaced by '-'; never empty, never starting with '.' or '-'. Returns label.
 */
char *env_host_label(const struct environment *env, char label[ENV_HOST_LABEL_MAX]);

#endif
