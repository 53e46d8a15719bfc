#include "harness/lib/sys/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/text.h"

/* Version 1 has no word for "no limit"; it reports a size that no machine has. */
static const double no_limit_bytes = 0x1p60;

static double first_known(double a, double b)
{
    return isnan(a) ? b : a;
}

/* Lines such as "4:cpu,cpuacct:/docker/1f" and "0::/user.slice". */
bool cgroup_parse_path(const char *text, const char *controller, char *path, size_t size)
{
    char its[PROC_TEXT_MAX];
    path[0] = '\0';
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at)
            break;
        (void)snprintf(its, sizeof(its), "%.*s", (int)(at - list - 1), list + 1);
        if (!controller[0] ? !its[0] && line[0] == '0' : text_has_word(its, ',', controller)) {
            (void)snprintf(path, size, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
            return true;
        }
    }
    return false;
}

bool cgroup_find_path(const char *root, const char *process, const char *controller, char *path,
                      size_t size)
{
    char text[4 * PATH_MAX];
    (void)PROC_TEXT(root, text, "/proc/%s/cgroup", process);
    return cgroup_parse_path(text, controller, path, size);
}

/* Version 2: "QUOTA PERIOD" in us, or "max PERIOD". Version 1: two files, quota -1 = none. */
double cgroup_read_quota(const char *root, const char *folder)
{
    char text[PROC_TEXT_MAX];
    double quota_us, period_us;
    if (!PROC_TEXT(root, text, "%s/cpu.max", folder)) {
        quota_us = proc_read_number(root, "%s/cpu.cfs_quota_us", folder);
        period_us = proc_read_number(root, "%s/cpu.cfs_period_us", folder);
    } else if (sscanf(text, "%lf %lf", &quota_us, &period_us) != 2)
        return NAN;
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : NAN;
}

double cgroup_read_weight(const char *root, const char *folder)
{
    char path[PATH_MAX];
    double weight = proc_read_number(root, "%s/cpu.weight", folder);
    (void)snprintf(path, sizeof(path), "%s%s/release_agent", root, folder);
    if (!isnan(weight))
        return weight * 1024 / 100;
    return access(path, F_OK) ? proc_read_number(root, "%s/cpu.shares", folder) : NAN;
}

struct cgroup_counts cgroup_read_counts(const char *root, const char *folder)
{
    char text[2048];
    (void)PROC_TEXT(root, text, "%s/cpu.stat", folder);
    return (struct cgroup_counts){
        .periods = proc_find_number(text, "nr_periods"),
        .throttled_periods = proc_find_number(text, "nr_throttled"),
        .throttled_s = first_known(proc_find_number(text, "throttled_usec") * 1e-6,
                                   proc_find_number(text, "throttled_time") * 1e-9),
    };
}

static double read_bytes(const char *root, const char *folder, const char *v2, const char *v1)
{
    double bytes = first_known(proc_read_number(root, "%s/%s", folder, v2),
                               proc_read_number(root, "%s/%s", folder, v1));
    return bytes < no_limit_bytes ? bytes : NAN;
}

struct cgroup_memory cgroup_read_memory(const char *root, const char *folder)
{
    return (struct cgroup_memory){
        .limit_bytes = read_bytes(root, folder, "memory.max", "memory.limit_in_bytes"),
        .high_bytes = proc_read_number(root, "%s/memory.high", folder),
        .used_bytes = read_bytes(root, folder, "memory.current", "memory.usage_in_bytes"),
        .inactive_bytes =
            first_known(proc_read_count(root, "total_inactive_file", ' ', "%s/memory.stat", folder),
                        proc_read_count(root, "inactive_file", ' ', "%s/memory.stat", folder)),
    };
}

/* The folder of a cgroup, below its mount point. */
struct place {
    char folder[PATH_MAX / 2 + 64];
    size_t mount_length;
};

/* Finds it as cgroup_find_path does. False: the mount point itself. */
static bool find_place(const char *root, const char *process, const char *controller,
                       struct place *place)
{
    char path[PATH_MAX / 2];
    bool found = cgroup_find_path(root, process, controller, path, sizeof(path));
    place->mount_length =
        (size_t)snprintf(place->folder, sizeof(place->folder), "/sys/fs/cgroup%s%s",
                         controller[0] ? "/" : "", controller);
    if (strcmp(path, "/") != 0)
        text_add(place->folder, "%s", path);
    return found;
}

/* False at the mount point. */
static bool climb(struct place *place)
{
    char *slash = strrchr(place->folder, '/');
    if ((size_t)(slash - place->folder) < place->mount_length)
        return false;
    *slash = '\0';
    return true;
}

/* True if it is `folder` or below it. */
static bool is_within(const struct place *place, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(place->folder, folder, length) == 0 &&
           (!place->folder[length] || place->folder[length] == '/');
}

void cgroup_read_throttled(const char *root, const char *process, const char *beside,
                           struct cgroup_throttled *out)
{
    struct place place, other;
    *out = (struct cgroup_throttled){.own_s = NAN, .shared_s = NAN};
    const char *controller = find_place(root, process, "cpu", &place) ? "cpu" : "";
    bool more = controller[0] || find_place(root, process, "", &place);
    (void)find_place(root, beside, controller, &other);
    for (; more; more = climb(&place)) {
        double *sum = is_within(&other, place.folder) ? &out->shared_s : &out->own_s;
        if (!isnan(cgroup_read_quota(root, place.folder))) /* fmax ignores NaN */
            *sum = fmax(*sum, cgroup_read_counts(root, place.folder).throttled_s);
    }
}

static void merge_limits(const char *root, const char *folder, struct cgroup_limits *cgroup)
{
    const struct cgroup_memory memory = cgroup_read_memory(root, folder);
    double left =
        memory.limit_bytes - fmax(memory.used_bytes - first_known(memory.inactive_bytes, 0), 0);
    cgroup->cpus_limit = fmin(cgroup->cpus_limit, cgroup_read_quota(root, folder));
    cgroup->memory_limit_bytes = fmin(cgroup->memory_limit_bytes, memory.limit_bytes);
    if (!isnan(memory.used_bytes) && !isnan(left))
        cgroup->memory_available_bytes = fmin(cgroup->memory_available_bytes, fmax(left, 0));
}

void cgroup_read(const char *root, struct cgroup_limits *cgroup)
{
    static const char *const controllers[] = {"", "cpu", "memory"};
    struct place place;
    *cgroup = (struct cgroup_limits){
        .cpus_limit = NAN, .memory_limit_bytes = NAN, .memory_available_bytes = NAN};
    if (find_place(root, "self", "", &place)) {
        const char *path = place.folder + place.mount_length;
        proc_copy_text(cgroup->path, sizeof(cgroup->path), path[0] ? path : "/");
        (void)PROC_TEXT(root, cgroup->cpu_max, "%s/cpu.max", place.folder);
        (void)PROC_TEXT(root, cgroup->cpuset, "%s/cpuset.cpus.effective", place.folder);
    }
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
        for (bool more = find_place(root, "self", controllers[i], &place); more;
             more = climb(&place))
            merge_limits(root, place.folder, cgroup);
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
