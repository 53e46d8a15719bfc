/*
 * Cgroups of live processes, v1 and v2. Sources, in the kernel's Documentation:
 * admin-guide/cgroup-v2.rst; scheduler/sched-bwc.rst and cgroup-v1/ for controllers on v1.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"

static const char *const controllers[CGROUP_KINDS] = {
    [CGROUP_CPU] = "cpu",
    [CGROUP_CPUSET] = "cpuset",
    [CGROUP_MEMORY] = "memory",
};

static void read_limits(const struct reader *reader, struct view_cgroup *cgroup)
{
    cgroup->weight = cgroup_read_weight(reader->root, cgroup->path);
    cgroup->quota_cpus = cgroup_read_quota(reader->root, cgroup->path);
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
    *cgroup = (struct view_cgroup){.parent = parent, .v2 = v2, .then.periods = NAN};
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
        process->autogroup_weight = task_weight(nice);
}

int reader_read_weights(struct reader *reader, struct view_process *process, struct err *err)
{
    char text[4 * PATH_MAX], mount[64], path[PATH_MAX];
    int rc = 0;
    if (process->source.knows_weights)
        return 0;
    process->source.knows_weights = true;
    read_autogroup(reader, process);
    if (!read_file(reader, process, "cgroup", text, sizeof(text)))
        return 0;
    for (int kind = 0; kind < CGROUP_KINDS && !rc; kind++) {
        const bool v1 = cgroup_parse_path(text, controllers[kind], path, sizeof(path));
        if (!v1 && !cgroup_parse_path(text, "", path, sizeof(path)))
            continue;
        (void)snprintf(mount, sizeof(mount), "/sys/fs/cgroup%s%s", v1 ? "/" : "",
                       v1 ? controllers[kind] : "");
        process->cgroup[kind] = add_path(reader, mount, path, !v1, !process->watched, &rc, err);
    }
    return rc;
}

static void read_counts(const struct reader *reader, struct view_cgroup *cgroup, bool mark)
{
    const struct cgroup_counts now = cgroup_read_counts(reader->root, cgroup->path);
    if (mark || isnan(cgroup->then.periods))
        cgroup->then = now;
    cgroup->periods = now.periods - cgroup->then.periods;
    cgroup->throttled_periods = now.throttled_periods - cgroup->then.throttled_periods;
    cgroup->throttled_s = now.throttled_s - cgroup->then.throttled_s;
}

void reader_read_cgroups(struct reader *reader, bool mark)
{
    for (size_t i = 0; i < reader->view.ncgroups; i++) {
        read_counts(reader, &reader->view.cgroups[i], mark);
        if (mark)
            read_limits(reader, &reader->view.cgroups[i]);
    }
}

void reader_roll_cgroups(struct reader *reader)
{
    for (size_t i = 0; i < reader->view.ncgroups; i++) {
        struct view_cgroup *cgroup = &reader->view.cgroups[i];
        cgroup->then.periods += cgroup->periods;
        cgroup->then.throttled_periods += cgroup->throttled_periods;
        cgroup->then.throttled_s += cgroup->throttled_s;
    }
}
