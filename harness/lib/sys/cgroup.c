/*
 * Limits of cgroups: version 2 (Documentation/admin-guide/cgroup-v2.rst) and, for a controller that
 * is in it, version 1 (scheduler/sched-bwc.rst, admin-guide/cgroup-v1/memory.rst). A limit applies
 * to all cgroups below it. A container sees its own cgroup as the root.
 */
#include "harness/lib/files/proc.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"

/* The longest cgroup path: leaves room for the mount point before it and a file name after it. */
enum { GROUP_MAX = PATH_MAX / 2 };

/* Version 1 has no word for "no limit"; it reports a size that no machine has. */
static const double no_limit_bytes = 0x1p60;

static double smaller(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

/* Version 2: "QUOTA PERIOD" in us, or "max PERIOD". Version 1: two files, quota -1 = none. */
double cgroup_read_quota(const char *root, const char *folder, bool v2)
{
    char path[PATH_MAX], text[PROC_TEXT_MAX];
    double quota_us, period_us;
    (void)snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (!v2) {
        quota_us = proc_read_number(root, "%s/cpu.cfs_quota_us", folder);
        period_us = proc_read_number(root, "%s/cpu.cfs_period_us", folder);
    } else if (!PROC_TEXT(root, text, "%s", path) ||
               sscanf(text, "%lf %lf", &quota_us, &period_us) != 2)
        return NAN;
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : NAN;
}

/* The memory files of a cgroup version: mount point and file names. */
struct memory_files {
    const char *mount, *limit, *used, *cache_field;
};

static void merge_memory(const char *root, const char *dir, const struct memory_files *files,
                         struct cgroup_limits *cgroup)
{
    double limit = proc_read_number(root, "%s%s/%s", files->mount, dir, files->limit);
    if (isnan(limit) || limit >= no_limit_bytes)
        return;
    cgroup->memory_limit_bytes = smaller(cgroup->memory_limit_bytes, limit);
    double used = proc_read_number(root, "%s%s/%s", files->mount, dir, files->used);
    if (isnan(used))
        return;
    /* Inactive file pages count as used, but the kernel reclaims them first. */
    double cache =
        proc_read_count(root, files->cache_field, ' ', "%s%s/memory.stat", files->mount, dir);
    if (!isnan(cache))
        used = fmax(used - cache, 0);
    cgroup->memory_available_bytes = smaller(cgroup->memory_available_bytes, fmax(limit - used, 0));
}

/* `dir` is in the version 2 hierarchy. */
static void merge_cpu_max(const char *root, const char *dir, struct cgroup_limits *cgroup)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s", dir);
    cgroup->cpus_limit = smaller(cgroup->cpus_limit, cgroup_read_quota(root, folder, true));
}

static void merge_memory_v2(const char *root, const char *dir, struct cgroup_limits *cgroup)
{
    static const struct memory_files files = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                              "inactive_file"};
    merge_memory(root, dir, &files, cgroup);
}

/* `dir` is in the controller's version 1 hierarchy. */
static void merge_cfs_quota(const char *root, const char *dir, struct cgroup_limits *cgroup)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup/cpu%s", dir);
    cgroup->cpus_limit = smaller(cgroup->cpus_limit, cgroup_read_quota(root, folder, false));
}

static void merge_memory_v1(const char *root, const char *dir, struct cgroup_limits *cgroup)
{
    static const struct memory_files files = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                              "memory.usage_in_bytes", "total_inactive_file"};
    merge_memory(root, dir, &files, cgroup);
}

/* Calls merge for a cgroup and each of its ancestors up to the root. */
static void climb(const char *root, const char *from, struct cgroup_limits *cgroup,
                  void (*merge)(const char *root, const char *dir, struct cgroup_limits *cgroup))
{
    char dir[GROUP_MAX];
    proc_copy_text(dir, sizeof(dir), strcmp(from, "/") ? from : "");
    for (;;) {
        merge(root, dir, cgroup);
        char *slash = strrchr(dir, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Parses lines such as "4:cpu,cpuacct:/docker/1f" and "0::/user.slice". */
bool cgroup_find_path(const char *root, const char *process, const char *controller, char *path,
                      size_t size)
{
    char full[PATH_MAX], line[PATH_MAX];
    bool found = false;
    path[0] = '\0';
    (void)snprintf(full, sizeof(full), "%s/proc/%s/cgroup", root, process);
    FILE *file = fopen(full, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':'),
             *at = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!at)
            continue;
        *controllers++ = *at++ = '\0';
        at[strcspn(at, "\n")] = '\0';
        found = controller[0] ? text_has_word(controllers, ',', controller)
                              : !controllers[0] && strcmp(line, "0") == 0;
        if (found)
            proc_copy_text(path, size, at);
    }
    if (file)
        (void)fclose(file);
    return found;
}

/* Time that one cgroup was throttled, in s; NaN = no quota. */
static double throttled_at(const char *root, const char *dir, bool v2)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s%s", v2 ? "" : "/cpu", dir);
    double throttled =
        proc_read_count(root, v2 ? "throttled_usec" : "throttled_time", ' ', "%s/cpu.stat", folder);
    return isnan(cgroup_read_quota(root, folder, v2)) ? NAN : throttled * (v2 ? 1e-6 : 1e-9);
}

/* True if `path` is `dir` or below it. */
static bool is_within(const char *path, const char *dir)
{
    size_t length = strlen(dir);
    return strncmp(path, dir, length) == 0 && (!path[length] || path[length] == '/');
}

void cgroup_read_throttled(const char *root, const char *process, const char *beside,
                           struct cgroup_throttled *out)
{
    char dir[GROUP_MAX], other[GROUP_MAX];
    *out = (struct cgroup_throttled){.own_s = NAN, .shared_s = NAN};
    bool v2 = !cgroup_find_path(root, process, "cpu", dir, sizeof(dir));
    const char *controller = v2 ? "" : "cpu";
    if (v2 && !cgroup_find_path(root, process, controller, dir, sizeof(dir)))
        return;
    if (!cgroup_find_path(root, beside, controller, other, sizeof(other)))
        other[0] = '\0';
    if (strcmp(dir, "/") == 0)
        dir[0] = '\0';
    for (;;) {
        double throttled_s = throttled_at(root, dir, v2);
        double *sum = is_within(other, dir) ? &out->shared_s : &out->own_s;
        *sum = fmax(*sum, throttled_s); /* fmax ignores NaN */
        char *slash = strrchr(dir, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

void cgroup_read(const char *root, struct cgroup_limits *cgroup)
{
    char group[GROUP_MAX];
    *cgroup = (struct cgroup_limits){
        .cpus_limit = NAN, .memory_limit_bytes = NAN, .memory_available_bytes = NAN};
    if (cgroup_find_path(root, "self", "", group, sizeof(group))) {
        const char *dir = strcmp(group, "/") ? group : "";
        proc_copy_text(cgroup->path, sizeof(cgroup->path), group);
        (void)PROC_TEXT(root, cgroup->cpu_max, "/sys/fs/cgroup%s/cpu.max", dir);
        (void)PROC_TEXT(root, cgroup->cpuset, "/sys/fs/cgroup%s/cpuset.cpus.effective", dir);
        climb(root, group, cgroup, merge_cpu_max);
        climb(root, group, cgroup, merge_memory_v2);
    }
    if (cgroup_find_path(root, "self", "cpu", group, sizeof(group)))
        climb(root, group, cgroup, merge_cfs_quota);
    if (cgroup_find_path(root, "self", "memory", group, sizeof(group)))
        climb(root, group, cgroup, merge_memory_v1);
}

bool cgroup_format_quota(const struct cgroup_limits *cgroup, unsigned cpus, char *buf, size_t size)
{
    double limit = cgroup->cpus_limit;
    if (isnan(limit) || limit >= cpus)
        return false;
    (void)snprintf(
        buf, size,
        "the cgroup grants the time of %.3g CPUs and allows %u: who takes more is stopped "
        "until the next period; --cpus with a list that short plans within it",
        limit, cpus);
    return true;
}
