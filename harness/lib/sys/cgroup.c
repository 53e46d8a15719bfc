#include "harness/lib/sys/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/task.h"
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
        text_set(its, "%.*s", (int)(at - list - 1), list + 1);
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
    text_set(path, "%s%s/release_agent", root, folder);
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

enum { FILE_MAX = GROUPS_PATH_MAX + 64 };
enum { KEPT_GROUPS = 64, KEEPER_FDS = 1024, KEEPER_TRIES = 500, KEEPER_PAUSE_US = 10000 };

int groups_put(const char *dir, const char *name, const char *text)
{
    char path[FILE_MAX];
    text_set(path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int rc = n < 0 ? -errno : 0;
    (void)close(fd);
    return rc;
}

int groups_set(const char *dir, const char *name, const char *text, struct err *err)
{
    int rc = groups_put(dir, name, text);
    return rc ? err_sys(err, rc, "cgroup: %s = %.60s refused", name, text) : 0;
}

bool groups_get(const char *dir, const char *name, char *text, size_t size)
{
    return proc_read_text("", text, size, "%s/%s", dir, name);
}

double groups_count(const char *dir, const char *name, const char *word)
{
    return proc_read_count("", word, ' ', "%s/%s", dir, name);
}

/* True if `dir` is in the version 1 hierarchy of the `cpu` controller: scheduler/sched-bwc.rst. */
static bool is_v1(const char *dir)
{
    char text[PROC_TEXT_MAX];
    return groups_get(dir, "cpu.cfs_quota_us", text, sizeof(text));
}

int groups_set_quota(const char *dir, double cpus, unsigned period_us, struct err *err)
{
    char quota[32], both[64], period[16];
    bool v1 = is_v1(dir);
    text_set(period, "%u", period_us);
    text_set(quota, "%.0f", cpus * period_us);
    text_set(both, "%s %s", quota, period);
    int rc = v1 ? groups_set(dir, "cpu.cfs_period_us", period, err) : 0;
    if (!rc)
        rc = groups_set(dir, v1 ? "cpu.cfs_quota_us" : "cpu.max", v1 ? quota : both, err);
    double got = rc ? cpus : cgroup_read_quota("", dir);
    if (!(fabs(got * period_us - cpus * period_us) < 1))
        rc = err_set(err, -EINVAL, "cgroup: a quota of %g CPUs was asked for, and it has %g", cpus,
                     got);
    return rc;
}

void groups_remove_quota(const char *dir)
{
    (void)(is_v1(dir) ? groups_put(dir, "cpu.cfs_quota_us", "-1")
                      : groups_put(dir, "cpu.max", "max"));
}

int groups_set_weight(const char *dir, unsigned weight, struct err *err)
{
    char text[16];
    bool v1 = groups_get(dir, "cpu.shares", text, sizeof(text)); /* also without quotas */
    unsigned asked = v1 ? weight * 1024 / 100 : weight;
    text_set(text, "%u", asked);
    int rc = groups_set(dir, v1 ? "cpu.shares" : "cpu.weight", text, err);
    double got = rc ? 0 : cgroup_read_weight("", dir);
    if (!rc && !(fabs(got - (v1 ? asked : asked * 10.24)) < 0.01))
        rc = err_set(err, -EINVAL, "cgroup: a weight of %u was asked for, and it has %g", weight,
                     got / 10.24);
    return rc;
}

/* Finds the first mount of version 2. */
static bool find_mount(char *mount, size_t size)
{
    char line[GROUPS_PATH_MAX], type[64], at[PATH_MAX / 4];
    bool found = false;
    FILE *file = fopen("/proc/self/mounts", "re");
    while (file && !found && fgets(line, sizeof(line), file))
        if (sscanf(line, "%*s %1023s %63s", at, type) == 2 && !strcmp(type, "cgroup2")) {
            (void)snprintf(mount, size, "%s", at);
            found = true;
        }
    if (file)
        (void)fclose(file);
    return found;
}

/*
 * Version 2: the parent of this process's cgroup, or the root itself if the process is in the root.
 * Version 1: the process's own cgroup, as there a cgroup with processes may have child cgroups,
 * and its limits apply to them.
 */
static int find_base(struct groups *groups, struct err *err)
{
    char mount[PATH_MAX / 4] = "/sys/fs/cgroup/cpu", own[PATH_MAX / 4], dir[PATH_MAX / 2];
    char limit[PROC_TEXT_MAX];
    static const char *const limits[] = {"cpu.max", "memory.max", "memory.high"};
    bool v1 = cgroup_find_path("", "self", "cpu", own, sizeof(own));
    if (!v1 &&
        (!find_mount(mount, sizeof(mount)) || !cgroup_find_path("", "self", "", own, sizeof(own))))
        return err_set(err, -ENOTSUP, "no cgroup of version 2 is mounted here");
    if (!strncmp(own, "/..", 3))
        return err_set(err, -ENOTSUP, "the cgroup of this process is not visible here");
    text_set(dir, "%s%s", mount, own);
    char *last = strrchr(own, '/');
    bool root = !last || !last[1];
    for (size_t i = 0; i < 3 && !root && !v1; i++)
        if (groups_get(dir, limits[i], limit, sizeof(limit)) && strncmp(limit, "max", 3) != 0)
            return err_set(err, -ENOTSUP,
                           "the cgroup of this process has a limit, %s, that workers beside it "
                           "would not have",
                           limits[i]);
    if (last && (root || !v1))
        *last = '\0';
    int n = snprintf(groups->base, sizeof(groups->base), "%s%s", mount, own);
    return n < (int)sizeof(groups->base)
               ? 0
               : err_set(err, -ENAMETOOLONG, "the path of the cgroup is too long");
}

/* PIDs are unique only within this namespace. */
static unsigned long namespace_of_pids(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) ? 0 : (unsigned long)status.st_ino;
}

/* Removes the workers' cgroups, then the group itself; cgroups with processes stay. */
static void remove_group(const char *group)
{
    DIR *dir = opendir(group);
    char path[GROUPS_PATH_MAX];
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "worker-", 7)) {
            text_set(path, "%s/%s", group, entry->d_name);
            (void)rmdir(path);
        }
    if (dir)
        (void)closedir(dir);
    (void)rmdir(group);
}

static void remove_stale(const struct groups *groups)
{
    DIR *dir = opendir(groups->base);
    char path[GROUPS_PATH_MAX];
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        unsigned long namespace;
        unsigned long long start;
        int pid, end = 0;
        if (sscanf(entry->d_name, "contend-%lu-%d-%llu%n", &namespace, &pid, &start, &end) != 3 ||
            entry->d_name[end] || namespace != namespace_of_pids() || task_started(pid, 0) == start)
            continue;
        text_set(path, "%s/%s", groups->base, entry->d_name);
        remove_group(path);
    }
    if (dir)
        (void)closedir(dir);
}

/* Explains the most common error. */
static const char *hint(int rc)
{
    return rc == -EBUSY ? ", which has processes of its own (the no-internal-process rule)" : "";
}

int groups_enable(struct groups *groups, const char *controller, struct err *err)
{
    char list[PROC_TEXT_MAX], text[16];
    if (is_v1(groups->dir) && !strcmp(controller, "cpu"))
        return 0;
    if (!groups_get(groups->base, "cgroup.controllers", list, sizeof(list)) ||
        !text_has_word(list, ' ', controller))
        return err_set(err, -ENOTSUP,
                       "cgroup v2 has no controller '%s' for us: version 1 has it, or it was not "
                       "delegated",
                       controller);
    text_set(text, "+%s", controller);
    if (!groups_get(groups->base, "cgroup.subtree_control", list, sizeof(list)) ||
        !text_has_word(list, ' ', controller)) {
        int rc = groups_put(groups->base, "cgroup.subtree_control", text);
        if (rc)
            return err_sys(err, rc, "%.100s%s hands no '%s' on", groups->base, hint(rc),
                           controller);
        size_t used = strlen(groups->enabled);
        (void)snprintf(groups->enabled + used, sizeof(groups->enabled) - used, "%s-%s",
                       used ? " " : "", controller);
    }
    int rc = groups_put(groups->dir, "cgroup.subtree_control", text);
    return rc ? err_sys(err, rc, "%.120s hands no '%s' on", groups->dir, controller) : 0;
}

int groups_open(struct groups *groups, struct err *err)
{
    *groups = (struct groups){0};
    int rc = find_base(groups, err);
    if (rc)
        return rc;
    remove_stale(groups);
    text_set(groups->dir, "%s/contend-%lu-%d-%llu", groups->base, namespace_of_pids(),
             (int)getpid(), (unsigned long long)task_started(getpid(), 0));
    if (!mkdir(groups->dir, 0755))
        return 0;
    rc = err_sys(err, -errno, "cannot make a cgroup in %.100s", groups->base);
    groups->dir[0] = '\0';
    return rc;
}

/* Runs in a forked child: must not take a lock that another thread of the parent may hold. */
static void remove_numbered(const struct groups *groups)
{
    char path[GROUPS_PATH_MAX];
    for (int tries = 0; tries < KEEPER_TRIES; tries++) {
        for (unsigned i = 0; i < KEPT_GROUPS; i++) {
            text_set(path, "%s/worker-%u", groups->dir, i);
            (void)rmdir(path);
        }
        if (!rmdir(groups->dir) || errno == ENOENT)
            break;
        (void)usleep(KEEPER_PAUSE_US); /* its processes may still be exiting */
    }
    if (groups->enabled[0])
        (void)groups_put(groups->base, "cgroup.subtree_control", groups->enabled);
}

/* Waits until every process that holds the other end of the pipe has ended. */
static int keeper_main(void *arg)
{
    const struct groups *groups = arg;
    sigset_t all;
    char byte;
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)setsid();
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    for (int fd = 0; fd < KEEPER_FDS; fd++)
        if (fd != groups->keeper_fd)
            (void)close(fd);
    while (read(groups->keeper_fd, &byte, 1) > 0)
        continue;
    remove_numbered(groups);
    return 0;
}

int groups_keep(struct groups *groups, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return err_sys(err, -errno, "cannot make a pipe");
    groups->keeper_fd = ends[0];
    int rc = process_start(&groups->keeper, false, keeper_main, groups);
    (void)close(ends[0]);
    groups->keeper_fd = ends[1];
    if (rc)
        (void)close(ends[1]);
    return rc ? err_sys(err, rc, "cannot start a process") : 0;
}

static void end_keeper(struct groups *groups)
{
    static const double keeper_end_s = 10; /* else it goes on by itself */
    int status;
    (void)close(groups->keeper_fd);
    (void)process_wait_for(&groups->keeper, keeper_end_s, &status);
}

void groups_close(struct groups *groups)
{
    if (groups->keeper.pid)
        end_keeper(groups);
    if (groups->dir[0])
        remove_group(groups->dir);
    if (groups->enabled[0])
        (void)groups_put(groups->base, "cgroup.subtree_control", groups->enabled);
    groups->dir[0] = groups->enabled[0] = '\0';
}

void groups_name(const struct groups *groups, unsigned index, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s/worker-%u", groups->dir, index);
}

int groups_make(const struct groups *groups, unsigned index, char *dir, size_t size,
                struct err *err)
{
    groups_name(groups, index, dir, size);
    return mkdir(dir, 0755) && errno != EEXIST
               ? err_sys(err, -errno, "cannot make the cgroup of a worker")
               : 0;
}

int groups_remove(const char *dir)
{
    return rmdir(dir) ? -errno : 0;
}
