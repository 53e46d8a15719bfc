#include "bench/limits/limited.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/bitset.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/task.h"
#include "harness/lib/text.h"

enum { STEPS_MOST = 20000, STEPS_LEAST = 3, SOURCES = 4, STDERR_MOST = 160 };
enum { POLL_MS = 500, POLL_WITHOUT_PIDFD_MS = 20, STALLED_MS = 10000 };
enum { EXIT_REFUSED = 3, EXIT_WRONG = 4 };

struct counts {
    struct cgroup_counts quota;
    double used_s, refaults;
};

/* In memory shared by child and caller. */
struct shared {
    struct err err;
    unsigned threads, cpus, steps;
    double seconds, anon_bytes, least_bytes;
    struct counts before, after;
    double step_ms[STEPS_MOST];
};

struct child {
    const struct limited *limited;
    char dir[GROUPS_PATH_MAX];
    struct shared *shared;
    int stderr_fd; /* receives its stderr */
    struct batches batches;
    float *target;
};

static struct counts read_counts(const char *dir)
{
    return (struct counts){
        .quota = cgroup_read_counts("", dir),
        .used_s = task_cpu_s(getpid()),
        .refaults = groups_count(dir, "memory.stat", "workingset_refault_file"),
    };
}

/* ---- in the child ---- */

static int join(const struct child *child)
{
    const struct limited *limited = child->limited;
    struct shared *shared = child->shared;
    struct bitset mask;
    int rc = groups_set(child->dir, "cgroup.procs", "0", &shared->err);
    if (!rc && (rc = affinity_get(0, &mask)))
        (void)err_sys(&shared->err, rc, "the mask cannot be read back");
    if (rc)
        return rc;
    if (limited->cpus && !bitset_equal(&mask, limited->cpus))
        return err_set(&shared->err, -EXDEV, "CPUs %s were asked for, and it has %s",
                       bitset_format(limited->cpus), bitset_format(&mask));
    shared->cpus = bitset_count(&mask);
    shared->threads = limited->threads ? limited->threads : shared->cpus;
    return 0;
}

static int open_batches(struct child *child, struct bench_ctx *ctx)
{
    int rc = batches_open(&child->batches, child->limited->params, ctx);
    if (!rc)
        rc = batches_allocate(&child->target, child->batches.cells, ctx->err);
    if (!rc)
        batches_poison_target(&child->batches, child->target);
    return rc;
}

/* Batch k of the file equals raw batch k % 4, so that checks hold. */
static int read_batch(struct child *child, uint64_t index)
{
    const struct batch_file *file = child->limited->file;
    float *to = child->batches.sources + index % SOURCES * child->batches.cells;
    return file ? batch_file_read(file, index, to, &child->shared->err) : 0;
}

static int step(struct child *child, uint64_t index)
{
    struct sample sample = {0};
    int rc = read_batch(child, index);
    if (!rc)
        batches_prepare(&child->batches, index, child->target, &sample);
    return rc;
}

/* Reads the whole file once, so that later reads are of pages that were cached before. */
static int warm_up(struct child *child)
{
    const struct batch_file *file = child->limited->file;
    size_t n = file ? file->data.file_bytes / file->batch_bytes : 0;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = read_batch(child, i);
    return rc ? rc : step(child, 0);
}

static double written_bytes(const struct child *child)
{
    return (double)child->batches.cells * sizeof(float) * (SOURCES + 1);
}

static int run_steps(struct child *child)
{
    struct shared *shared = child->shared;
    int rc = warm_up(child);
    shared->before = read_counts(child->dir);
    uint64_t start_ns = clock_now_ns(), at_ns = start_ns;
    uint64_t end_ns = start_ns + (uint64_t)(child->limited->time_s * 1e9);
    while (!rc && shared->steps < STEPS_MOST && (at_ns < end_ns || shared->steps < STEPS_LEAST)) {
        rc = step(child, shared->steps);
        uint64_t now_ns = clock_now_ns();
        shared->step_ms[shared->steps++] = (double)(now_ns - at_ns) * 1e-6;
        at_ns = now_ns;
    }
    shared->seconds = (double)(at_ns - start_ns) * 1e-9;
    shared->after = read_counts(child->dir);
    /* The kernel's counter may lag by some hundred pages, so count at least the bytes written. */
    double anon = groups_count(child->dir, "memory.stat", "anon");
    shared->anon_bytes = fmax(anon, written_bytes(child));
    /* A stack with one touched page may lie on a huge page by chance, so huge pages do not
     * count. */
    shared->least_bytes =
        fmax(anon - groups_count(child->dir, "memory.stat", "anon_thp"), written_bytes(child));
    return rc;
}

/* Checks a step without the quota: its time is not measured. */
static int check(struct child *child)
{
    uint64_t index = child->shared->steps;
    if (child->limited->quota_cpus > 0)
        groups_remove_quota(child->dir);
    batches_poison(&child->batches);
    batches_poison_target(&child->batches, child->target);
    int rc = step(child, index);
    return rc ? rc : batches_check(&child->batches, index, child->target, &child->shared->err);
}

/* The caller has no threads, and its OpenMP no team, so a forked child can use everything. */
static int child_main(void *arg)
{
    struct child *child = arg;
    struct bench_ctx ctx = *child->limited->ctx;
    (void)dup2(child->stderr_fd, STDERR_FILENO);
    if (join(child))
        return EXIT_REFUSED;
    ctx.threads = child->shared->threads;
    ctx.err = &child->shared->err;
    ctx.least_team = NULL;
    ctx.cpu_samples = NULL;
    if (open_batches(child, &ctx) || run_steps(child))
        return EXIT_REFUSED;
    return check(child) ? EXIT_WRONG : 0;
}

/* ---- in the caller ---- */

/*
 * False: the child was killed because it used no CPU time for STALLED_MS. The total time is no
 * criterion: batches can be large, the disk slow, the quota small, and its CPUs busy.
 */
static bool await(struct process *process, int *status)
{
    unsigned stalled_ms = 0, poll_ms = process->pidfd < 0 ? POLL_WITHOUT_PIDFD_MS : POLL_MS;
    double before_s = 0;
    bool progresses = true;
    while (!process_ended(process, status)) {
        struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
        if (poll(&end, process->pidfd < 0 ? 0 : 1, (int)poll_ms) != 0)
            continue;
        double now_s = task_cpu_s(process->pid);
        stalled_ms = now_s == before_s ? stalled_ms + poll_ms : 0;
        before_s = now_s;
        progresses = progresses && stalled_ms < STALLED_MS;
        if (!progresses)
            (void)process_signal(process, SIGKILL);
    }
    return progresses;
}

static void read_stderr(int fd, char stderr_text[static STDERR_MOST])
{
    ssize_t n = read(fd, stderr_text, STDERR_MOST - 1);
    stderr_text[n > 0 ? n : 0] = '\0';
    char *from = stderr_text + strspn(stderr_text, " \n\t");
    memmove(stderr_text, from, strlen(from) + 1);
    stderr_text[strcspn(stderr_text, "\n")] = '\0';
    (void)text_one_line(stderr_text);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : isnan(part) ? NAN : 0;
}

static void summarise(const struct child *child, struct limited_result *result)
{
    struct shared *shared = child->shared;
    const struct counts *before = &shared->before, *after = &shared->after;
    double rows = (double)child->limited->params->rows;
    size_t n = stats_sort(shared->step_ms, shared->steps);
    result->rate = rows * shared->steps / shared->seconds;
    result->p50_ms = stats_median(shared->step_ms, n);
    result->p99_ms = stats_percentile(shared->step_ms, n, 0.99);
    result->max_ms = shared->step_ms[n - 1];
    result->cpus_used = (after->used_s - before->used_s) / shared->seconds;
    result->throttled =
        share(after->quota.throttled_s - before->quota.throttled_s, shared->seconds * shared->cpus);
    /* At the end, an unfinished period may already count as throttled, but not yet as a period. */
    double periods = share(after->quota.throttled_periods - before->quota.throttled_periods,
                           after->quota.periods - before->quota.periods);
    result->throttled_periods = periods > 1 ? 1 : periods;
    result->refaults = (after->refaults - before->refaults) / shared->steps;
    result->anon_bytes = shared->anon_bytes;
    result->least_bytes = shared->least_bytes;
}

static void classify_end(const struct child *child, int status, bool progressed, int stderr_fd,
                         struct limited_result *result)
{
    const struct shared *shared = child->shared;
    char stderr_text[STDERR_MOST];
    read_stderr(stderr_fd, stderr_text);
    if (WIFEXITED(status) && !WEXITSTATUS(status)) {
        result->end = LIMITED_DONE;
        summarise(child, result);
    } else if (!progressed) {
        result->end = LIMITED_STALLED;
        (void)err_set(&result->why, -ETIME,
                      "after %u steps it used no CPU time for %d s, and was killed", shared->steps,
                      STALLED_MS / 1000);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && result->oom_kills > 0) {
        result->end = LIMITED_KILLED;
        (void)err_set(&result->why, -ENOTSUP, "the kernel killed it for lack of memory");
    } else if (WIFEXITED(status) && shared->err.code) {
        result->end = WEXITSTATUS(status) == EXIT_WRONG ? LIMITED_WRONG : LIMITED_REFUSED;
        result->why = shared->err;
    } else {
        result->end = LIMITED_ENDED;
        (void)err_set(&result->why, -EIO, "it ended with %s %d%s%s",
                      WIFSIGNALED(status) ? "signal" : "code",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                      stderr_text[0] ? ": " : "", stderr_text);
    }
}

static double or_zero(double count)
{
    return isnan(count) ? 0 : count;
}

static int run_child(struct child *child, struct limited_result *result, struct err *err)
{
    int ends[2], status = 0;
    struct process process;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return err_sys(err, -errno, "cannot make a pipe");
    child->stderr_fd = ends[1];
    int rc = process_start(&process, false, child_main, child);
    (void)close(ends[1]);
    if (rc) {
        (void)err_sys(err, rc, "cannot start a process");
    } else {
        bool progressed = await(&process, &status);
        result->oom_kills = or_zero(groups_count(child->dir, "memory.events", "oom_kill"));
        result->threads_refused = or_zero(groups_count(child->dir, "pids.events", "max"));
        classify_end(child, status, progressed, ends[0], result);
    }
    (void)close(ends[0]);
    return rc;
}

int limited_run(const struct limited *limited, struct limited_result *result, struct err *err)
{
    struct child child = {.limited = limited};
    *result = (struct limited_result){0};
    int rc = groups_make(limited->groups, limited->index, child.dir, sizeof(child.dir), err);
    if (rc)
        return rc;
    for (const struct limited_file *file = limited->files; file->name && !rc; file++)
        rc = groups_set(child.dir, file->name, file->text, &result->why);
    if (!rc && limited->quota_cpus > 0)
        rc = groups_set_quota(child.dir, limited->quota_cpus, limited->period_ms * 1000,
                              &result->why);
    if (rc) {
        result->end = LIMITED_REFUSED;
        (void)groups_remove(child.dir);
        return 0;
    }
    child.shared = mmap(NULL, sizeof(*child.shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child.shared == MAP_FAILED)
        rc = err_set(err, -ENOMEM, "cannot map what a child shares");
    if (!rc) {
        rc = run_child(&child, result, err);
        (void)munmap(child.shared, sizeof(*child.shared));
    }
    (void)groups_remove(child.dir);
    return rc;
}
