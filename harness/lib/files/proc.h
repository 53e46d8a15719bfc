/* Small files of /proc and /sys. `root` is "", or in tests a directory in place of "/". */
#ifndef CONTEND_LIB_FILES_PROC_H
#define CONTEND_LIB_FILES_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/bitset.h"

enum { PROC_TEXT_MAX = 128 };

/* cgroup limits of this process, as far as visible to it; NaN and "" = none. */
struct cgroup_limits {
    char path[256];                /* cgroup version 2 only, as are cpu_max and cpuset */
    char cpu_max[PROC_TEXT_MAX];   /* the file's text: "QUOTA PERIOD" in us, or "max PERIOD" */
    double cpus_limit;             /* smallest quota / period of this cgroup and its ancestors */
    char cpuset[1024];             /* cpuset.cpus.effective */
    double memory_limit_bytes;     /* smallest limit of this cgroup and its ancestors */
    double memory_available_bytes; /* smallest limit minus use of this cgroup and its ancestors */
};

/* Copies text, cut to size. */
void proc_copy_text(char *out, size_t size, const char *text);

/*
 * Reads the file's first size - 1 bytes, without trailing white space. False and "": unreadable or
 * empty. This function and the next three format the path as printf does.
 */
bool proc_read_text(const char *root, char *out, size_t size, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

/* proc_read_text into an array. */
#define PROC_TEXT(root, out, ...) proc_read_text(root, out, sizeof(out), __VA_ARGS__)

/* Reads a file whose whole content is one number; else NaN. */
double proc_read_number(const char *root, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the number of the line "NAME<separator>NUMBER"; NaN = no such line. */
double proc_read_count(const char *root, const char *name, char separator, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads a list such as "0-3,8"; false and an empty set: no such file, or no list. */
bool proc_read_list(const char *root, struct bitset *set, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* A field of /proc/meminfo in bytes; NaN = unknown. */
double proc_read_memory_bytes(const char *root, const char *name);

/*
 * Finds the first line "NAME<separator>value" of a file and copies the value, without the quotes
 * of os-release. Reads line by line: /proc/cpuinfo of a large machine has megabytes. False and "":
 * no such line or an empty value.
 */
bool proc_read_field(const char *root, const char *path, const char *name, char separator,
                     char *out, size_t size);

/*
 * Finds the cgroup path of a process in the version 1 hierarchy of `controller`, or in version 2 if
 * `controller` is "". False and "": no such hierarchy.
 */
bool cgroup_find_path(const char *root, const char *process, const char *controller, char *path,
                      size_t size);
/* CPU quota of one cgroup, in CPUs; `folder` is its path with the mount point. NaN = no quota. */
double cgroup_read_quota(const char *root, const char *folder, bool v2);
/* Limits of this process's cgroups, of both versions. */
void cgroup_read(const char *root, struct cgroup_limits *cgroup);

/*
 * Time for which CPU quotas have throttled a process's cgroups so far, summed over the CPUs that
 * had runnable threads: CPU time that these threads could have used. With nested quotas the longest
 * time counts, as nested cgroups may be throttled at the same time. NaN = no quota.
 */
struct cgroup_throttled {
    double own_s;    /* of cgroups that do not contain process `beside` */
    double shared_s; /* of cgroups that contain both processes */
};
/* Processes are named as in /proc: "self", "4711". */
void cgroup_read_throttled(const char *root, const char *process, const char *beside,
                           struct cgroup_throttled *out);

/*
 * True if the cgroup's quota is below `cpus` CPUs; then writes a sentence that warns of it, as the
 * kernel throttles processes that use more.
 */
bool cgroup_format_quota(const struct cgroup_limits *cgroup, unsigned cpus, char *buf, size_t size);

#endif
