/* Limits that are near: numbers of threads, locked memory, shared memory. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/doctor/check/check.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

static const double near_share = 0.9;

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
        while (who && !view_is_in(view, who, CGROUP_PIDS, c));
        if (!who)
            continue;
        (void)snprintf(path, sizeof(path), "%s/pids.max", cgroup->path);
        (void)text_shell_word(path, word, sizeof(word));
        (void)check_append(command, sizeof(command), "echo max | %stee %s", check_root(view), word);
        (void)snprintf(evidence, sizeof(evidence), "%.0f of the %.0f tasks that %.80s allows",
                       cgroup->pids, cgroup->pids_max, cgroup->path);
        const struct said said = said_bad(NAN, &who, 1, evidence, command);
        checker_report(checker, &said,
                       "its cgroup is close to its limit of tasks: %s. At the limit no thread or "
                       "process can start.",
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
static void report_limit(struct checker *checker, const struct view_process *process,
                         const char *option, uint64_t hard, bool can_raise, const char *evidence,
                         const char *what)
{
    char command[COMMAND_MAX], value[32] = "unlimited";
    if (can_raise && hard != UINT64_MAX)
        (void)snprintf(value, sizeof(value), "%" PRIu64 ":", hard);
    (void)snprintf(command, sizeof(command), "%sprlimit --pid %d --%s=%s",
                   can_raise ? check_sudo(checker->view, process) : check_root(checker->view),
                   (int)process->pid, option, value);
    const struct said said = said_bad(NAN, &process, 1, evidence, command);
    checker_report(checker, &said, "%s: %s.", what, evidence);
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
            report_limit(checker, process, "nproc", about->nproc_hard,
                         about->nproc_hard > about->nproc_limit, evidence,
                         "soon it cannot start threads");
        }
        if (about->memlock_limit != UINT64_MAX && about->locked_bytes && !about->locks_freely &&
            (double)about->locked_bytes >= near_share * (double)about->memlock_limit) {
            (void)snprintf(evidence, sizeof(evidence), "%s of the %s of RLIMIT_MEMLOCK are locked",
                           units_format_bytes(about->locked_bytes, locked, sizeof(locked)),
                           units_format_bytes(about->memlock_limit, limit, sizeof(limit)));
            report_limit(checker, process, "memlock", about->memlock_hard,
                         about->memlock_hard > about->memlock_limit, evidence,
                         "soon it cannot lock memory, which drivers of GPUs and networks need");
        }
    }
}

/* Docker's default: workers that load data, and NCCL, put their buffers there. Who has as much left
 * as the containers that we emit have in all is not short of it. */
static const double small_shm_bytes = 64 << 20, enough_bytes = 0x8p30;

static bool is_shm_small(const struct view_about *about)
{
    bool is_full = about->shm_free_bytes < (1 - near_share) * about->shm_bytes &&
                   about->shm_free_bytes < enough_bytes;
    bool is_small =
        about->shm_bytes <= small_shm_bytes && about->libraries & (LIBRARY_TORCH | LIBRARY_NCCL);
    return about->shm_known && about->shm_bytes > 0 && (is_full || is_small);
}

/* The memory that its cgroup may have; NaN = no limit, or unknown. */
static double find_memory_limit(const struct view *view, const struct view_process *process)
{
    int at = process->cgroup[CGROUP_MEMORY];
    for (size_t i = 1; view->host && at >= 0 && i < view->host->nmemories; i++)
        if (strcmp(view->host->memories[i].path, view->cgroups[at].path) == 0)
            return view->host->memories[i].limit_bytes;
    return NAN;
}

/*
 * Enough, or twice what it is; but what is put there takes memory, and no process can be ended to
 * have it back: half of what is free stays so, and of what its cgroup may have. NaN: it cannot be
 * made larger to speak of.
 */
static double wanted_bytes(const struct view *view, const struct view_process *process)
{
    const struct view_about *about = process->about;
    double limit_bytes = find_memory_limit(view, process);
    double most = about->shm_bytes - about->shm_free_bytes + view->free_bytes / 2;
    double wanted = fmax(enough_bytes, 2 * about->shm_bytes);
    if (isnan(view->free_bytes))
        return NAN;
    wanted = fmin(wanted, isnan(limit_bytes) ? most : fmin(most, limit_bytes / 2));
    return wanted >= 1.25 * about->shm_bytes ? wanted : (double)NAN;
}

/* To make it larger, or where that would be at the cost of what runs, to see what is there. */
static bool write_shm(const struct view *view, const struct view_process *process, char *command,
                      size_t size)
{
    double wanted = wanted_bytes(view, process), gib = floor(wanted / 0x1p30);
    if (isnan(wanted))
        (void)snprintf(command, size, "%sdu -ah /proc/%d/root/dev/shm | sort -h | tail",
                       check_sudo(view, process), (int)process->pid);
    else
        (void)snprintf(command, size, "%snsenter -t %d -m mount -o remount,size=%.0f%c /dev/shm",
                       check_root(view), (int)process->pid, gib >= 1 ? gib : floor(wanted / 0x1p20),
                       gib >= 1 ? 'G' : 'M');
    return !isnan(wanted);
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
        bool grows = write_shm(view, process, command, sizeof(command));
        const struct said said = said_bad(NAN, &process, 1, evidence, command);
        checker_report(
            checker, &said,
            "its /dev/shm is small or full: %s. Processes that need more there die by SIGBUS; %s.",
            evidence,
            grows                     ? "containers take --shm-size"
            : isnan(view->free_bytes) ? "whether there is memory to enlarge it is not known"
                                      : "there is no memory to enlarge it");
    }
}
