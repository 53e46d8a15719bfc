/* Small files of /proc and /sys, looked up under `root`: "" or, in tests, what stands for "/". */
#ifndef CONTEND_LIB_FILES_PROC_H
#define CONTEND_LIB_FILES_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/bitset.h"

enum { PROC_TEXT_MAX = 128 };

/* Limits of this process, as it sees them; NaN and "" = none. */
struct cgroup_limits {
    char path[256];                /* this and the next, and cpuset: version 2 only */
    char cpu_max[PROC_TEXT_MAX];   /* as written: "QUOTA PERIOD" in us, or "max PERIOD" */
    double cpus_limit;             /* smallest quota / period from here to the root */
    char cpuset[1024];             /* cpuset.cpus.effective */
    double memory_limit_bytes;     /* smallest limit from here to the root */
    double memory_available_bytes; /* the least that a limit from here to the root leaves */
};

/* Cut to fit. */
void proc_copy_text(char *out, size_t size, const char *text);

/*
 * The file's first size - 1 bytes without trailing white space; false and "" when unreadable. This
 * and the next three take paths as printf does.
 */
bool proc_read_text(const char *root, char *out, size_t size, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

/* Into an array. */
#define PROC_TEXT(root, out, ...) proc_read_text(root, out, sizeof(out), __VA_ARGS__)

/* The file's whole content is one number, else NaN. */
double proc_read_number(const char *root, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* The number behind "NAME<separator>" in a file of such lines; NaN = there is none. */
double proc_read_count(const char *root, const char *name, char separator, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* A list such as "0-3,8"; false and empty where there is none. */
bool proc_read_list(const char *root, struct bitset *set, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* A value of /proc/meminfo; NaN = unknown. */
double proc_read_memory_bytes(const char *root, const char *name);

/*
 * Finds the first line "NAME<separator>value" of a file and copies the value, without the quotes
 * of os-release. Reads line by line, as /proc/cpuinfo of a large machine has megabytes.
 */
bool proc_read_field(const char *root, const char *path, const char *name, char separator,
                     char *out, size_t size);

/*
 * The path of a process in the hierarchy of version 1 that has the controller, "" = in version 2.
 * False and "" where there is none.
 */
bool cgroup_find_path(const char *root, const char *process, const char *controller, char *path,
                      size_t size);
/* The CPUs that the quota of one cgroup grants, by its whole path; NaN = none is set there. */
double cgroup_read_quota(const char *root, const char *folder, bool v2);
/* Limits of this process's cgroups, of both versions. */
void cgroup_read(const char *root, struct cgroup_limits *cgroup);

/*
 * For how long quotas of CPU time have stopped a process's cgroups so far, summed over the CPUs
 * that had somebody to run: what threads that wait so are kept from. With nested quotas the one
 * that stopped longest, since they may stop at once. NaN = no quota.
 */
struct cgroup_throttled {
    double own_s;    /* of cgroups that `beside` is not in */
    double shared_s; /* of those that both are in */
};
/* Processes as in /proc: "self", "4711". */
void cgroup_read_throttled(const char *root, const char *process, const char *beside,
                           struct cgroup_throttled *out);

/*
 * Whether the cgroup grants less time than `cpus` CPUs have: then in words, as the kernel stops who
 * takes more.
 */
bool cgroup_format_quota(const struct cgroup_limits *cgroup, unsigned cpus, char *buf, size_t size);

#endif
