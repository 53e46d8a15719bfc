/*
 * Cgroups of live processes, v1 and v2. Sources, in the kernel's Documentation:
 * admin-guide/cgroup-v2.rst; scheduler/sched-bwc.rst and cgroup-v1/ for controllers on v1.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/lib/files/proc.h"

static const char *const controllers[CGROUP_KINDS] = {
    [CGROUP_CPU] = "cpu",
    [CGROUP_CPUSET] = "cpuset",
    [CGROUP_MEMORY] = "memory",
};

double reader_weight(int nice)
{
    return 1024 * pow(1.25, -nice);
}

/* The root of the machine competes with nothing: version 2 has no weight there, version 1 has one
 * that cannot be set. */
static double read_weight(const struct reader *reader, const struct view_cgroup *cgroup)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s%s/release_agent", reader->root, cgroup->path);
    if (cgroup->v2)
        return proc_read_number(reader->root, "%s/cpu.weight", cgroup->path) * 1024 / 100;
    return access(path, F_OK) ? proc_read_number(reader->root, "%s/cpu.shares", cgroup->path) : NAN;
}

static void read_limits(const struct reader *reader, struct view_cgroup *cgroup)
{
    cgroup->weight = read_weight(reader, cgroup);
    cgroup->quota_cpus = cgroup_read_quota(reader->root, cgroup->path, cgroup->v2);
    (void)proc_read_list(reader->root, &cgroup->cpus, "%s/%s", cgroup->path,
                         cgroup->v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
}

/* Index of the cgroup in the view; adds it and its ancestors, up to the mount. -1: see *rc. */
static int add_folder(struct reader *reader, const char *path, size_t mount_length, bool v2,
                      int *rc, struct err *err)
{
    struct view *view = &reader->view;
    char above[sizeof(view->cgroups->path)];
    for (size_t i = 0; i < view->ncgroups; i++)
        if (strcmp(view->cgroups[i].path, path) == 0)
            return (int)i;
    int parent = -1;
    if (strlen(path) > mount_length) {
        proc_copy_text(above, sizeof(above), path);
        *strrchr(above, '/') = '\0';
        parent = add_folder(reader, above, mount_length, v2, rc, err);
        if (*rc)
            return -1;
    }
    struct view_cgroup *cgroup = array_add(view->cgroups, view->ncgroups, view->cgroups_capacity);
    if (!cgroup) {
        *rc = err_set(err, -ENOMEM, "out of memory for %zu cgroups", view->ncgroups + 1);
        return -1;
    }
    *cgroup = (struct view_cgroup){.parent = parent, .v2 = v2, .periods_then = NAN};
    proc_copy_text(cgroup->path, sizeof(cgroup->path), path);
    read_limits(reader, cgroup);
    return (int)view->ncgroups - 1;
}

/*
 * Inside a container, its own cgroup is the root of the hierarchy, but /proc may still give the
 * path of the host, which does not exist here: then the root is taken. A process of another
 * container would be taken for one of this: `strict` says -1 in place of the root.
 */
static int add_path(struct reader *reader, const char *mount, const char *path, bool v2,
                    bool strict, int *rc, struct err *err)
{
    char full[PATH_MAX], at[sizeof(reader->view.cgroups->path)];
    struct stat there;
    bool is_root = strcmp(path, "/") == 0 || strstr(path, "/..");
    if ((size_t)snprintf(at, sizeof(at), "%s%s", mount, is_root ? "" : path) >= sizeof(at))
        return -1;
    (void)snprintf(full, sizeof(full), "%s%s", reader->root, at);
    if (strict && (strstr(path, "/..") || stat(full, &there)))
        return -1;
    if (stat(full, &there) && !is_root)
        (void)snprintf(at, sizeof(at), "%s", mount);
    (void)snprintf(full, sizeof(full), "%s%s", reader->root, at);
    if (stat(full, &there))
        return -1;
    return add_folder(reader, at, strlen(mount), v2, rc, err);
}

/* A line such as "4:cpu,cpuacct:/docker/1f" or "0::/user.slice". */
static int add_line(struct reader *reader, struct view_process *process, char *line,
                    struct err *err)
{
    char mount[64];
    int rc = 0;
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path)
        return 0;
    *list++ = *path++ = '\0';
    for (int kind = 0; kind < CGROUP_KINDS && !rc; kind++) {
        bool v2 = !list[0];
        if (v2 && process->cgroup[kind] >= 0)
            continue; /* this controller is on version 1 */
        if (!v2 && !text_has_word(list, ',', controllers[kind]))
            continue;
        (void)snprintf(mount, sizeof(mount), "/sys/fs/cgroup%s%s", v2 ? "" : "/",
                       v2 ? "" : controllers[kind]);
        process->cgroup[kind] = add_path(reader, mount, path, v2, !process->watched, &rc, err);
    }
    return rc;
}

/* A file of a process, of which only watched ones keep their folder open. */
static bool read_file(const struct reader *reader, const struct view_process *process,
                      const char *name, char *text, size_t size)
{
    char path[64];
    int once = -1;
    if (process->source.dir_fd > 0)
        return reader_read(process->source.dir_fd, name, &once, text, size);
    (void)snprintf(path, sizeof(path), "%d/%s", process->pid, name);
    return reader_read(reader->proc_fd, path, &once, text, size);
}

/* "/autogroup-71 nice 0"; empty for the root's own. */
static void read_autogroup(const struct reader *reader, struct view_process *process)
{
    char text[64];
    int nice;
    if (proc_read_number(reader->root, "/proc/sys/kernel/sched_autogroup_enabled") == 1 &&
        read_file(reader, process, "autogroup", text, sizeof(text)) &&
        sscanf(text, "/autogroup-%d nice %d", &process->autogroup, &nice) == 2)
        process->autogroup_weight = reader_weight(nice);
}

int reader_read_weights(struct reader *reader, struct view_process *process, struct err *err)
{
    char text[4096], *rest = NULL;
    int rc = 0;
    if (process->source.knows_weights)
        return 0;
    process->source.knows_weights = true;
    read_autogroup(reader, process);
    if (!read_file(reader, process, "cgroup", text, sizeof(text)))
        return 0;
    for (char *line = strtok_r(text, "\n", &rest); line && !rc; line = strtok_r(NULL, "\n", &rest))
        rc = add_line(reader, process, line, err);
    return rc;
}

/* The number after the name, times `scale`; NaN if the name is missing. */
static double find_number(const char *text, const char *name, double scale)
{
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) * scale : (double)NAN;
}

static void read_stat(struct reader *reader, struct view_cgroup *cgroup, bool mark)
{
    char path[PATH_MAX], text[2048];
    (void)snprintf(path, sizeof(path), "%s%s/cpu.stat", reader->root, cgroup->path);
    if (!reader_read(reader->proc_fd, path, &cgroup->stat_fd, text, sizeof(text))) {
        cgroup->periods = cgroup->throttled_periods = cgroup->throttled_s = NAN;
        return;
    }
    double periods = find_number(text, "nr_periods ", 1);
    double throttled_periods = find_number(text, "nr_throttled ", 1);
    double throttled_s = cgroup->v2 ? find_number(text, "throttled_usec ", 1e-6)
                                    : find_number(text, "throttled_time ", 1e-9);
    if (mark || isnan(cgroup->periods_then)) {
        cgroup->periods_then = periods;
        cgroup->throttled_periods_then = throttled_periods;
        cgroup->throttled_then_s = throttled_s;
    }
    cgroup->periods = periods - cgroup->periods_then;
    cgroup->throttled_periods = throttled_periods - cgroup->throttled_periods_then;
    cgroup->throttled_s = throttled_s - cgroup->throttled_then_s;
}

void reader_read_cgroups(struct reader *reader, bool mark)
{
    for (size_t i = 0; i < reader->view.ncgroups; i++) {
        read_stat(reader, &reader->view.cgroups[i], mark);
        if (mark)
            read_limits(reader, &reader->view.cgroups[i]);
    }
}

void reader_roll_cgroups(struct reader *reader)
{
    for (size_t i = 0; i < reader->view.ncgroups; i++) {
        struct view_cgroup *cgroup = &reader->view.cgroups[i];
        cgroup->periods_then += cgroup->periods;
        cgroup->throttled_periods_then += cgroup->throttled_periods;
        cgroup->throttled_then_s += cgroup->throttled_s;
    }
}
