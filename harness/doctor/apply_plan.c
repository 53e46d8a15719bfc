#include "harness/doctor/apply_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/sys/affinity.h"

size_t apply_find_leads(const struct view *view, const struct view_process **leads)
{
    size_t n = 0;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        if (view_is_busy(view, process) && view_lead(view, process) == process)
            leads[n++] = process;
    }
    return n;
}

size_t apply_worker_of(const struct view *view, const struct view_process *process,
                       const struct view_process *const *leads, size_t n)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        for (size_t w = 0; w < n; w++)
            if (leads[w] == process)
                return w;
        process = view_find(view, process->parent);
    }
    return n;
}

/* A worker and the position of its GPU. */
struct placed {
    const struct view_process *lead;
    size_t index; /* original position, to keep the sort stable */
    int gpu;      /* in topo.gpus; -1 = none or unknown */
    int first;    /* index in topo.cpus of the first CPU near the GPU */
};

static int by_gpu(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    if (one->gpu != other->gpu)
        return one->gpu < other->gpu ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* INT_MAX if no CPU is near the GPU or its node is unknown: such workers come last. */
static int first_near(const struct topo *topo, int gpu)
{
    for (unsigned i = 0; gpu >= 0 && i < topo->ncpus; i++)
        if (topo->gpus[gpu].node >= 0 &&
            topo_own_node(topo, &topo->cpus[i]) == topo->gpus[gpu].node)
            return (int)i;
    return INT_MAX;
}

/* Also fills gpus[n]. */
static int sort_leads(const struct view *view, const struct topo *topo,
                      const struct view_process **leads, size_t n, int *gpus, struct err *err)
{
    struct placed *placed = calloc(n + 1, sizeof(*placed));
    uint64_t *used = calloc(n + 1, sizeof(*used));
    for (size_t i = 0; placed && used && i < view->nprocesses; i++)
        used[apply_worker_of(view, &view->processes[i], leads, n)] |= view->processes[i].gpus;
    for (size_t w = 0; placed && used && w < n; w++) {
        int gpu = allocate_gpu(view, topo, used[w]);
        placed[w] = (struct placed){leads[w], w, gpu, first_near(topo, gpu)};
    }
    if (placed && used)
        qsort(placed, n, sizeof(*placed), by_gpu);
    for (size_t w = 0; placed && used && w < n; w++) {
        leads[w] = placed[w].lead;
        gpus[w] = placed[w].gpu;
    }
    int rc = placed && used ? 0 : err_set(err, -ENOMEM, "out of memory for %zu workers", n);
    free(placed);
    free(used);
    return rc;
}

/* Removes busy CPUs that neither this process's initial mask nor the jobs use: they may belong to
 * another user. Idle ones stay. */
static void keep_usable(const struct view *view, const struct view_process *const *leads, size_t n,
                        struct bitset *cpus)
{
    struct bitset usable = *affinity_at_start();
    for (size_t w = 0; w < n; w++)
        view_add_cpus(view, leads[w], &usable);
    for (int cpu = bitset_next(cpus, 0); cpu >= 0; cpu = bitset_next(cpus, (unsigned)cpu + 1)) {
        struct bitset one = {0};
        bitset_set(&one, (unsigned)cpu);
        if (!bitset_test(&usable, (unsigned)cpu) && !allocate_is_idle(view, &one))
            bitset_andnot(cpus, &one);
    }
}

static int find_cpus(const struct view *view, const struct topo *topo,
                     const struct view_process *const *leads, size_t n, struct bitset *cpus,
                     struct err *err)
{
    topo_allowed_cpus(topo, cpus);
    for (size_t w = 0; w < n; w++) {
        struct bitset allowed;
        view_allowed_cpus(view, leads[w], &allowed);
        bitset_and(cpus, &allowed);
    }
    keep_usable(view, leads, n, cpus);
    return bitset_empty(cpus)
               ? err_set(err, -EINVAL,
                         "the processes have no allowed CPU in common: bind them one by one")
               : 0;
}

int apply_parse_placement(const char *name, enum placement *placement, struct err *err)
{
    int rc = placement_parse(name, placement, err);
    if (!rc && !placement_infos[*placement].pinned)
        rc = err_set(err, -EINVAL, "placement '%s' binds nothing", name);
    return rc;
}

int apply_plan(const struct view *view, const struct topo *topo, const struct view_process **leads,
               size_t n, const char *placement, struct plan *plan, struct err *err)
{
    struct plan_request request = {.workers = (unsigned)n};
    int *gpus = calloc(n + 1, sizeof(*gpus));
    int rc = gpus ? apply_parse_placement(placement, &request.placement, err)
                  : err_set(err, -ENOMEM, "out of memory for %zu workers", n);
    if (!rc)
        rc = sort_leads(view, topo, leads, n, gpus, err);
    if (!rc)
        rc = find_cpus(view, topo, leads, n, &request.cpus, err);
    request.gpus = gpus;
    if (!rc)
        rc = plan_make(topo, &request, plan, err);
    if (!rc && plan->status == PLAN_SKIPPED)
        rc = err_set(err, -EINVAL, "%s", plan->reason);
    free(gpus);
    return rc == -ENOSPC ? -EINVAL : rc;
}

/* The holder writes its pid right after it takes the lock. */
enum { TRIES = 50, PAUSE_US = 10000 };

static int err_held(int fd, struct err *err)
{
    char text[24] = "";
    for (int i = 0; i < TRIES && pread(fd, text, sizeof(text) - 1, 0) <= 0; i++)
        (void)usleep(PAUSE_US);
    return err_set(err, -EBUSY,
                   "another 'contend doctor' (%ld) is changing masks: wait for it, or type --state "
                   "FILE for other processes",
                   strtol(text, NULL, 10));
}

/* True if the path is still the file that was locked: the last holder removes it. */
static bool is_current(const struct apply_lock *lock, struct stat *held)
{
    struct stat there;
    return !fstat(lock->fd, held) && !lstat(lock->path, &there) && held->st_ino == there.st_ino &&
           held->st_dev == there.st_dev;
}

int apply_lock_take(const char *state_path, struct apply_lock *lock, struct err *err)
{
    struct stat held;
    char pid[24];
    int rc = 0;
    *lock = (struct apply_lock){0};
    if ((size_t)snprintf(lock->path, sizeof(lock->path), "%s.lock", state_path) >=
        sizeof(lock->path))
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    do {
        apply_lock_release(lock);
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock->fd < 0) {
            rc = -errno;
            lock->fd = 0;
            return err_sys(err, rc, "cannot lock %.150s", lock->path);
        }
        if (flock(lock->fd, LOCK_EX | LOCK_NB)) {
            rc = errno == EWOULDBLOCK ? err_held(lock->fd, err)
                                      : err_sys(err, -errno, "cannot lock %.150s", lock->path);
            (void)close(lock->fd);
            lock->fd = 0;
            return rc;
        }
    } while (!is_current(lock, &held));
    int length = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (held.st_uid != geteuid())
        rc = err_set(err, -EPERM, "%.150s is of another user: remove it, or type --state FILE",
                     lock->path);
    else if (ftruncate(lock->fd, 0) || pwrite(lock->fd, pid, (size_t)length, 0) != length)
        rc = err_sys(err, -errno, "cannot write to %.150s", lock->path);
    if (rc) {
        (void)close(lock->fd);
        lock->fd = 0;
    }
    return rc;
}

/* Removed while it is held: who opened it before then finds that it is not current. */
void apply_lock_release(struct apply_lock *lock)
{
    struct stat held;
    if (lock->fd <= 0)
        return;
    if (is_current(lock, &held) && held.st_uid == geteuid())
        (void)unlink(lock->path);
    (void)close(lock->fd);
    lock->fd = 0;
}

/* Share of one CPU: a process that uses less is ignored, as a change hardly affects it. */
static const double busy_least = 0.05;

static void add(struct bystanders *bystanders, const struct view_process *process, double cpus)
{
    size_t at = bystanders->n;
    while (at && bystanders->all[at - 1].cpus < cpus)
        at--;
    if (at == BYSTANDERS_MOST)
        return;
    bystanders->n += bystanders->n < BYSTANDERS_MOST;
    memmove(&bystanders->all[at + 1], &bystanders->all[at],
            (bystanders->n - at - 1) * sizeof(bystanders->all[0]));
    bystanders->all[at] = (struct bystander){.pid = process->pid,
                                             .start_ticks = process->start_ticks,
                                             .uid = process->uid,
                                             .cpus = cpus};
    memcpy(bystanders->all[at].name, process->name, sizeof(process->name));
}

void bystanders_find(const struct view *view,
                     bool (*is_target)(const void *arg, const struct view_process *process),
                     const void *arg, struct bystanders *bystanders)
{
    *bystanders = (struct bystanders){0};
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        double cpus = view->wall_s > 0 ? process->cpu_s / view->wall_s : 0;
        if (!process->kernel && process->state != 'Z' && cpus >= busy_least &&
            !is_target(arg, process))
            add(bystanders, process, cpus);
    }
}

void bystanders_add_block(struct bystanders *bystanders, const struct view *view, bool changed)
{
    bystanders->wall_s[changed] += view->wall_s;
    for (size_t i = 0; i < bystanders->n; i++) {
        const struct view_process *process = view_find(view, bystanders->all[i].pid);
        if (process && process->start_ticks == bystanders->all[i].start_ticks)
            bystanders->all[i].cpu_s[changed] += process->cpu_s;
    }
}

double bystanders_cpus(const struct bystanders *bystanders, size_t which, bool changed)
{
    double sum_s = 0;
    for (size_t i = 0; i < bystanders->n; i++)
        if (which == SIZE_MAX || which == i)
            sum_s += bystanders->all[i].cpu_s[changed];
    return bystanders->wall_s[changed] > 0 ? sum_s / bystanders->wall_s[changed] : (double)NAN;
}
