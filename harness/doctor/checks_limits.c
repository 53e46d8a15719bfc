/* Limits that are near: numbers of threads, locked memory, shared memory. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/doctor/check.h"

enum { COMMAND_MAX = sizeof(((struct finding *)0)->command) };

static const double near_share = 0.9;

static bool holds(const struct view *view, size_t cgroup, const struct view_process *process)
{
    int at = process->cgroup[CGROUP_PIDS];
    while (at >= 0 && (size_t)at != cgroup)
        at = view->cgroups[at].parent;
    return at >= 0;
}

static void check_pids_max(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t c = 0; c < view->ncgroups; c++) {
        const struct view_cgroup *cgroup = &view->cgroups[c];
        const struct view_process *who = NULL;
        char evidence[160], command[COMMAND_MAX] = "", word[512], path[sizeof(cgroup->path) + 32];
        if (!(cgroup->pids >= near_share * cgroup->pids_max))
            continue;
        size_t at = 0;
        do
            who = view_next_watched(view, &at);
        while (who && !holds(view, c, who));
        if (!who)
            continue;
        (void)snprintf(path, sizeof(path), "%s/pids.max", cgroup->path);
        (void)text_shell_word(path, word, sizeof(word));
        (void)check_append(command, sizeof(command), "echo max | %stee %s", check_root(view), word);
        (void)snprintf(evidence, sizeof(evidence), "%.0f of the %.0f tasks that %.80s allows",
                       cgroup->pids, cgroup->pids_max, cgroup->path);
        const struct said said = said_bad(&who, evidence, command);
        checker_say(checker, &said,
                    "its cgroup is near its limit of tasks: %s. Then no thread and no process can "
                    "be started.",
                    evidence);
    }
}

static double count_threads(const struct view *view, unsigned uid)
{
    double n = 0;
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view->processes[i].uid == uid && !view->processes[i].kernel)
            n += view->processes[i].threads;
    return n;
}

/* Up to the hard limit the user may do that; above it root. */
static void tell_limit(struct checker *checker, const struct view_process *process,
                       const char *option, uint64_t hard, bool can_raise, const char *evidence,
                       const char *what)
{
    char command[COMMAND_MAX], value[32] = "unlimited";
    if (can_raise && hard != UINT64_MAX)
        (void)snprintf(value, sizeof(value), "%" PRIu64 ":", hard);
    (void)snprintf(command, sizeof(command), "%sprlimit --pid %d --%s=%s",
                   can_raise ? check_sudo(checker->view, process) : check_root(checker->view),
                   (int)process->pid, option, value);
    const struct said said = said_bad(&process, evidence, command);
    checker_say(checker, &said, "%s: %s.", what, evidence);
}

void check_limits(struct checker *checker)
{
    const struct view *view = checker->view;
    check_pids_max(checker);
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        const struct view_about *about = process->about;
        char evidence[128], locked[32], limit[32];
        if (!about || !about->limits_known)
            continue;
        double threads = process->uid ? count_threads(view, process->uid) : 0;
        if (about->nproc_limit != UINT64_MAX &&
            threads >= near_share * (double)about->nproc_limit && threads > 0) {
            (void)snprintf(evidence, sizeof(evidence),
                           "its user has %.0f of the %" PRIu64 " threads of RLIMIT_NPROC", threads,
                           about->nproc_limit);
            tell_limit(checker, process, "nproc", about->nproc_hard,
                       about->nproc_hard > about->nproc_limit, evidence,
                       "soon it can start no thread");
        }
        if (about->memlock_limit != UINT64_MAX && about->locked_bytes && !about->locks_freely &&
            (double)about->locked_bytes >= near_share * (double)about->memlock_limit) {
            (void)snprintf(evidence, sizeof(evidence), "%s of the %s of RLIMIT_MEMLOCK are locked",
                           units_format_bytes(about->locked_bytes, locked, sizeof(locked)),
                           units_format_bytes(about->memlock_limit, limit, sizeof(limit)));
            tell_limit(checker, process, "memlock", about->memlock_hard,
                       about->memlock_hard > about->memlock_limit, evidence,
                       "soon it can lock no memory, as drivers of GPUs and networks do");
        }
    }
}

/* Docker's default: workers that load data, and NCCL, put their buffers there. */
static const double small_shm_bytes = 64 << 20;

static bool is_shm_small(const struct view_about *about)
{
    bool is_full = about->shm_free_bytes < (1 - near_share) * about->shm_bytes;
    bool is_small =
        about->shm_bytes <= small_shm_bytes && about->libraries & (LIBRARY_TORCH | LIBRARY_NCCL);
    return about->shm_known && about->shm_bytes > 0 && (is_full || is_small);
}

/* 8 GiB, as the containers that we emit have, or twice what it is: never less than it has. */
static double wanted_gib(const struct view_about *about)
{
    return fmax(8, ceil(2 * about->shm_bytes / (1 << 30)));
}

/* The same one is told once, by the first process that sees it. */
static bool was_told(const struct view *view, const struct view_process *process)
{
    const struct view_about *about = process->about;
    const struct view_process *earlier;
    for (size_t at = 0; (earlier = view_next_watched(view, &at)) && earlier != process;) {
        const struct view_about *other = earlier->about;
        if (other && is_shm_small(other) && other->shm_bytes == about->shm_bytes &&
            other->shm_device == about->shm_device)
            return true;
    }
    return false;
}

void check_shm(struct checker *checker)
{
    const struct view *view = checker->view;
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        const struct view_about *about = process->about;
        char evidence[128], command[COMMAND_MAX], size[32], left[32];
        if (!about || !is_shm_small(about) || was_told(view, process))
            continue;
        (void)snprintf(evidence, sizeof(evidence), "%s, of which %s are free",
                       units_format_bytes((uint64_t)about->shm_bytes, size, sizeof(size)),
                       units_format_bytes((uint64_t)about->shm_free_bytes, left, sizeof(left)));
        (void)snprintf(command, sizeof(command),
                       "%snsenter -t %d -m mount -o remount,size=%.0fG /dev/shm", check_root(view),
                       (int)process->pid, wanted_gib(about));
        const struct said said = said_bad(&process, evidence, command);
        checker_say(checker, &said,
                    "the /dev/shm that it sees is small or full: %s. Who shares memory there is "
                    "ended by SIGBUS; containers take --shm-size.",
                    evidence);
    }
}
