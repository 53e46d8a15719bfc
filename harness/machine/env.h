/*
 * The environment of a result: kernel, CPU settings, limits, versions, variables.
 *
 * Gathered once, from /proc, /sys and libc. What this machine does not have or does not show is
 * absent, never an error: "" for text, NaN for numbers, and null in JSON.
 */
#ifndef CONTEND_MACHINE_ENV_H
#define CONTEND_MACHINE_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/sys/cgroup.h"

enum { ENV_HOST_LABEL_MAX = 65 };

struct environment {
    char hostname[PROC_TEXT_MAX];
    char os[PROC_TEXT_MAX];            /* PRETTY_NAME of os-release */
    char kernel[PROC_TEXT_MAX];        /* release, such as "6.1.0-18-amd64" */
    char scheduler[3 * PROC_TEXT_MAX]; /* lib/sys/affinity.h: "EEVDF", "sched_ext: NAME" */
    char arch[PROC_TEXT_MAX];          /* "x86_64" */
    char cpu_model[PROC_TEXT_MAX];     /* machine/env.h */
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
    char hypervisor[PROC_TEXT_MAX];      /* such as "KVMKVMKVM": machine/env.h */
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

/* Finds the processor's name, also on Arm, and whether the machine is virtual. */

/*
 * Arm processors give numbers, such as "0x41" and "0xd4f": writes "Neoverse V2", or the numbers if
 * the processor is unknown. Source: Linux, arch/arm64/include/asm/cputype.h.
 */
const char *processor_name(const char *implementer, const char *part);

/* The model by /proc/cpuinfo below `root`; "" = unknown. */
void processor_model(const char *root, char *out, size_t size);

/*
 * 1 = runs under a visible hypervisor, 0 = none visible, NaN = unknown. hypervisor: its own name,
 * or "". On x86, CPUID tells (with a root, the flags of cpuinfo); on Arm, firmware does: names in
 * DMI, or the device tree.
 */
double processor_is_virtual(const char *root, char *hypervisor, size_t size);

/*
 * Effects of the user's OpenMP settings on workers, which inherit them. Pure: `get` is getenv, or a
 * test's replacement.
 */

/*
 * This setting is not passed on to workers: with it, libgomp (of gcc 12) binds threads also to CPUs
 * outside of the process's mask, so no placement would hold. The plan sets the number of threads.
 */
#define OPENMP_NOT_FOR_WORKERS "GOMP_CPU_AFFINITY"

enum { OPENMP_NOTES_MAX = 8, OPENMP_NOTE_MAX = 280 };

struct openmp_notes {
    size_t n;
    char text[OPENMP_NOTES_MAX][OPENMP_NOTE_MAX];
};

/* True if libgomp is told to bind threads. Its constructor then binds the first thread. */
bool openmp_binds(char *(*get)(const char *name));

/* The user's OMP_NUM_THREADS, of a list its first number; 0 = none. */
unsigned openmp_threads(char *(*get)(const char *name));

/* Who gets the user's OMP_NUM_THREADS: no worker, as benchmarks size their teams themselves; a
 * command under placements that leave threads alone; or a command under all placements. */
enum openmp_use { OPENMP_FOR_NONE, OPENMP_FOR_DEFAULT, OPENMP_FOR_ALL };

/* Writes a sentence on each setting by which workers of up to `threads` threads leave the plan. */
void openmp_report(char *(*get)(const char *name), unsigned threads, enum openmp_use use,
                   struct openmp_notes *notes);

#endif
