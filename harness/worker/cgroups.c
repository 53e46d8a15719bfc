#include "harness/worker/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/say/log.h"
#include "harness/sys/affinity.h"
#include "harness/sys/proc.h"

enum { PATH_ROOM = PATH_MAX + 64, PERIOD_US = 100000 };

bool cgroups_wanted(const struct cgroups *cgroups)
{
    return cgroups->cpuset || cgroups->cpu_max > 0;
}

/* Writes a file of a cgroup. 0 or -errno. */
static int put(const char *dir, const char *name, const char *text)
{
    char path[2 * PATH_ROOM];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int rc = n < 0 ? -errno : 0;
    (void)close(fd);
    return rc;
}

static bool get(const char *dir, const char *name, char *text, size_t size)
{
    char path[2 * PATH_ROOM];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return proc_read_text("", path, text, size);
}

/* A list of words, such as "cpuset cpu io". */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

/* The first mount of version 2. */
static bool find_mount(char *mount, size_t size)
{
    char line[PATH_ROOM], type[64], at[PATH_MAX / 4];
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

/* Beside the own cgroup, where the root's is below itself. */
static int find_base(struct cgroups *cgroups)
{
    char text[PATH_MAX / 4], dir[PATH_MAX / 2], limit[PROC_TEXT_MAX];
    char *own = text + 1; /* of "0::/user.slice" */
    static const char *const limits[] = {"cpu.max", "memory.max", "memory.high"};
    if (!find_mount(cgroups->mount, sizeof(cgroups->mount)) ||
        !proc_read_field("", "/proc/self/cgroup", "0", ':', text, sizeof(text)))
        return err_set(&cgroups->err, -ENOTSUP, "no cgroup of version 2 is mounted here");
    if (!strncmp(own, "/..", 3))
        return err_set(&cgroups->err, -ENOTSUP,
                       "the cgroup of this process is not to be seen here");
    (void)snprintf(dir, sizeof(dir), "%s%s", cgroups->mount, own);
    char *last = strrchr(own, '/');
    bool root = !last || !last[1];
    for (size_t i = 0; i < 3 && !root; i++)
        if (get(dir, limits[i], limit, sizeof(limit)) && strncmp(limit, "max", 3) != 0)
            return err_set(&cgroups->err, -ENOTSUP,
                           "the cgroup of this process has a limit, %s, that workers beside it "
                           "would not have",
                           limits[i]);
    if (last)
        *last = '\0';
    int n = snprintf(cgroups->base, sizeof(cgroups->base), "%s%s", cgroups->mount, own);
    return n < (int)sizeof(cgroups->base)
               ? 0
               : err_set(&cgroups->err, -ENAMETOOLONG, "the path of the cgroup is too long");
}

/* Start of a process in ticks since boot, 0 = there is none. */
static unsigned long long start_of(pid_t pid)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!proc_read_text("", path, text, sizeof(text)))
        return 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Processes are numbered within it. */
static unsigned long namespace_of_pids(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) ? 0 : (unsigned long)status.st_ino;
}

/* The workers' cgroups in it, then itself: those that are empty, others stay. */
static void remove_group(const char *group)
{
    DIR *dir = opendir(group);
    char path[PATH_ROOM];
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "worker-", 7)) {
            (void)snprintf(path, sizeof(path), "%s/%s", group, entry->d_name);
            (void)rmdir(path);
        }
    if (dir)
        (void)closedir(dir);
    (void)rmdir(group);
}

static void remove_stale(const struct cgroups *cgroups)
{
    DIR *dir = opendir(cgroups->base);
    char path[PATH_ROOM];
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        unsigned long namespace;
        unsigned long long start;
        int pid, end = 0;
        if (sscanf(entry->d_name, "contend-%lu-%d-%llu%n", &namespace, &pid, &start, &end) != 3 ||
            entry->d_name[end] || namespace != namespace_of_pids() || start_of(pid) == start)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", cgroups->base, entry->d_name);
        remove_group(path);
    }
    if (dir)
        (void)closedir(dir);
}

/* `base` hands the controller on to ours. */
static int enable(struct cgroups *cgroups, const char *controller)
{
    char list[PROC_TEXT_MAX], text[16];
    if (!get(cgroups->base, "cgroup.controllers", list, sizeof(list)) ||
        !has_word(list, controller))
        return err_set(&cgroups->err, -ENOTSUP,
                       "cgroup v2 has no controller '%s' for us: version 1 has it, or it was not "
                       "delegated",
                       controller);
    if (get(cgroups->base, "cgroup.subtree_control", list, sizeof(list)) &&
        has_word(list, controller))
        return 0;
    (void)snprintf(text, sizeof(text), "+%s", controller);
    int rc = put(cgroups->base, "cgroup.subtree_control", text);
    if (rc)
        return err_sys(&cgroups->err, rc, "%.100s hands no '%s' on", cgroups->base, controller);
    size_t used = strlen(cgroups->enabled);
    (void)snprintf(cgroups->enabled + used, sizeof(cgroups->enabled) - used, "%s-%s",
                   used ? " " : "", controller);
    return 0;
}

static int make_group(struct cgroups *cgroups)
{
    int rc = cgroups->cpuset ? enable(cgroups, "cpuset") : 0;
    if (!rc && cgroups->cpu_max > 0)
        rc = enable(cgroups, "cpu");
    if (rc)
        return rc;
    (void)snprintf(cgroups->group, sizeof(cgroups->group), "%s/contend-%lu-%d-%llu", cgroups->base,
                   namespace_of_pids(), (int)getpid(), start_of(getpid()));
    if (mkdir(cgroups->group, 0755)) {
        rc = err_sys(&cgroups->err, -errno, "cannot make a cgroup in %.100s", cgroups->base);
        cgroups->group[0] = '\0';
        return rc;
    }
    rc = put(cgroups->group, "cgroup.subtree_control",
             !cgroups->cpuset       ? "+cpu"
             : cgroups->cpu_max > 0 ? "+cpuset +cpu"
                                    : "+cpuset");
    return rc ? err_sys(&cgroups->err, rc, "%.120s hands nothing on", cgroups->group) : 0;
}

void cgroups_open(struct cgroups *cgroups)
{
    if (!cgroups_wanted(cgroups) || find_base(cgroups))
        return;
    remove_stale(cgroups);
    (void)make_group(cgroups);
}

void cgroups_close(struct cgroups *cgroups)
{
    if (cgroups->group[0])
        remove_group(cgroups->group);
    if (cgroups->enabled[0])
        (void)put(cgroups->base, "cgroup.subtree_control", cgroups->enabled);
    if (cgroups->throttled > 0)
        log_info("the quota of %g CPUs stopped workers %.0f times, for %.3g s of their time in all",
                 cgroups->cpu_max, cgroups->throttled, cgroups->throttled_s);
    cgroups->group[0] = cgroups->enabled[0] = '\0';
}

static int set(const char *dir, const char *name, const char *text, struct err *err)
{
    int rc = put(dir, name, text);
    return rc ? err_sys(err, rc, "cgroup: %s = %.60s refused", name, text) : 0;
}

static int set_quota(const char *dir, double cpus, struct err *err)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%.0f %d", cpus * PERIOD_US, PERIOD_US);
    return set(dir, "cpu.max", text, err);
}

static int set_cpuset(const char *dir, const struct plan_worker *plan, struct err *err)
{
    char list[BITSET_LIST_MAX], got[BITSET_LIST_MAX];
    int rc = set(dir, "cpuset.cpus", bitset_format(&plan->cpus, list, sizeof(list)), err);
    if (!rc && (!get(dir, "cpuset.cpus.effective", got, sizeof(got)) || strcmp(list, got) != 0))
        rc =
            err_set(err, -EINVAL, "cgroup: CPUs %.80s were asked for, and it has %.80s", list, got);
    if (!rc && plan->mem_policy == MEM_BIND)
        rc = set(dir, "cpuset.mems", bitset_format(&plan->mem_nodes, list, sizeof(list)), err);
    return rc;
}

static int check_mask(const struct plan_worker *plan, struct err *err)
{
    struct bitset mask;
    char asked[64], got[64];
    int rc = affinity_get(0, &mask);
    if (rc)
        return err_sys(err, rc, "the mask cannot be read back");
    if (bitset_equal(&mask, &plan->cpus))
        return 0;
    return err_set(err, -EINVAL, "its cpuset is CPUs %s, and its mask %s",
                   bitset_format(&plan->cpus, asked, sizeof(asked)),
                   bitset_format(&mask, got, sizeof(got)));
}

int cgroups_join(const struct cgroups *cgroups, unsigned index, const struct plan_worker *plan,
                 struct err *err)
{
    char dir[PATH_ROOM];
    if (cgroups->err.code)
        return err_set(err, cgroups->err.code, "%s", cgroups->err.msg);
    (void)snprintf(dir, sizeof(dir), "%s/worker-%u", cgroups->group, index);
    int rc = mkdir(dir, 0755) && errno != EEXIST
                 ? err_sys(err, -errno, "cannot make the cgroup of a worker")
                 : 0;
    if (!rc && cgroups->cpuset)
        rc = set_cpuset(dir, plan, err);
    if (!rc && cgroups->cpu_max > 0)
        rc = set_quota(dir, cgroups->cpu_max, err);
    if (!rc)
        rc = set(dir, "cgroup.procs", "0", err);
    return !rc && cgroups->cpuset ? check_mask(plan, err) : rc;
}

/* What the quota has kept from one worker: cpu.stat, admin-guide/cgroup-v2.rst. */
static void add_throttled(struct cgroups *cgroups, const char *dir)
{
    char path[2 * PATH_ROOM], text[32];
    (void)snprintf(path, sizeof(path), "%s/cpu.stat", dir);
    if (proc_read_field("", path, "nr_throttled", ' ', text, sizeof(text)))
        cgroups->throttled += strtod(text, NULL);
    if (proc_read_field("", path, "throttled_usec", ' ', text, sizeof(text)))
        cgroups->throttled_s += strtod(text, NULL) * 1e-6;
}

void cgroups_clear(struct cgroups *cgroups, unsigned n)
{
    char dir[PATH_ROOM];
    for (unsigned i = 0; cgroups->group[0] && i < n; i++) {
        (void)snprintf(dir, sizeof(dir), "%s/worker-%u", cgroups->group, i);
        if (cgroups->cpu_max > 0)
            add_throttled(cgroups, dir);
        (void)rmdir(dir);
    }
}
