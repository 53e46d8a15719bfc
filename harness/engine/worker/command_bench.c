#include "harness/engine/worker/command_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/worker/command_start.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"

/*
 * Pause between two samples of its processes: a hundred times the CPU time of one, so that sampling
 * costs at most 1% of a CPU.
 */
enum { SAMPLE_LEAST_MS = 20, SAMPLE_MOST_MS = 2000, SAMPLE_COST_SHARE = 100 };
/* HELPERS_END_MS: helpers of a command may end a moment after it. */
enum { HELPERS_END_MS = 300, PIPE_BYTES = 1 << 16, METRIC_FILE_MOST = 1 << 24 };
/* Lines printed while the worker was away from its command for longer are no steps. */
enum { STALE_LINES_MS = 50 };
static const uint64_t ms_ns = 1000000;

#define NO_MATCH "the command printed nothing that --metric matches"
#define NO_FILE "the command left no metric in "
#define NO_LINE "the command ended without a line that counts"

bool command_gave_nothing(const char *reason)
{
    return strstr(reason, NO_MATCH) || strstr(reason, NO_FILE) || strstr(reason, NO_LINE);
}

struct run {
    struct command_orders *orders;
    struct bench_ctx *ctx;
    regex_t metric, line;
    bool has_metric, has_line;
    int log_fd; /* -1 = output is not kept */
    uint64_t log_bytes;

    struct process process; /* the command; zeroed between runs */
    int out_fd;             /* its output; -1 = none */
    uint64_t started_ns, next_sample_ns, last_step_ns;
    uint64_t term_ns; /* when SIGTERM was sent; 0 = not */
    bool cut;         /* told to end before its time */
    bool was_killed;

    char text[COMMAND_LINE_MAX]; /* the current line, cut */
    size_t used;
    bool line_cut;                 /* the current line has more */
    char last[160];                /* the last line that was not empty */
    char number[COMMAND_LINE_MAX]; /* the last match of the metric */
    bool number_cut;               /* it may have more digits */
    uint64_t lines;                /* that count, since the start */
    struct tree tree;
};

static int elapsed_ms(uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    return until_ns > now_ns ? (int)((until_ns - now_ns) / ms_ns) + 1 : 0;
}

/* The limit holds over all runs and rounds, which append to the same file. */
static void keep_output(struct run *run, const char *bytes, size_t n)
{
    size_t room = run->log_bytes < COMMAND_OUTPUT_MAX ? COMMAND_OUTPUT_MAX - run->log_bytes : 0;
    size_t kept = n < room ? n : room;
    if (run->log_fd < 0)
        return;
    if (kept && file_write_at(run->log_fd, bytes, kept, (off_t)run->log_bytes))
        kept = 0;
    run->log_bytes += kept;
    run->orders->report->cut_bytes += n - kept;
}

static void take_number(struct run *run, const char *text, size_t length, bool cut)
{
    run->number_cut = cut || length >= sizeof(run->number);
    (void)snprintf(run->number, sizeof(run->number), "%.*s", (int)length, text);
}

/* A match without its group counts as no match. `cut`: the line has more. */
static void match_metric(struct run *run, const char *line, bool cut)
{
    regmatch_t match[2];
    if (!run->has_metric || regexec(&run->metric, line, 2, match, 0) || match[1].rm_so < 0)
        return;
    take_number(run, line + match[1].rm_so, (size_t)(match[1].rm_eo - match[1].rm_so),
                cut && !line[match[1].rm_eo]);
}

static void end_line(struct run *run)
{
    run->text[run->used] = '\0';
    if (run->used) {
        size_t n = 0;
        for (const char *at = run->text; *at && n < sizeof(run->last) - 1; at++)
            run->last[n++] = (char)((unsigned char)*at < ' ' ? ' ' : *at);
        run->last[n] = '\0';
    }
    if (!run->orders->command.options.metric_file)
        match_metric(run, run->text, run->line_cut);
    run->lines += !run->has_line || !regexec(&run->line, run->text, 0, NULL, 0);
    run->used = 0;
    run->line_cut = false;
}

static void take_lines(struct run *run, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '\n' || bytes[i] == '\r')
            end_line(run);
        else if (run->used < sizeof(run->text) - 1)
            run->text[run->used++] = bytes[i];
        else
            run->line_cut = true;
}

/* Reads the output that is there now. False: end of file. */
static bool read_output(struct run *run)
{
    char bytes[PIPE_BYTES];
    for (int i = 0; i < 16; i++) { /* endless output must not keep us from other work */
        ssize_t n = read(run->out_fd, bytes, sizeof(bytes));
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (!n)
            return false;
        keep_output(run, bytes, (size_t)n);
        take_lines(run, bytes, (size_t)n);
    }
    return true;
}

static void close_output(struct run *run)
{
    if (run->out_fd >= 0)
        (void)close(run->out_fd);
    run->out_fd = -1;
    if (run->used)
        end_line(run);
}

static void record_cpu(void *arg, int tid, unsigned os_cpu, uint64_t at_ns)
{
    cpu_sample_note(arg, tid, os_cpu, at_ns);
}

static void report_seen(struct run *run)
{
    struct command_report *report = run->orders->report;
    const struct tree *tree = &run->tree;
    uint32_t next = atomic_load(&report->reports) + 1;
    struct command_seen *seen = &report->seen[next % 2];
    seen->used = tree->used;
    seen->nmasks = tree->nmasks;
    memcpy(seen->mask, tree->mask, sizeof(seen->mask));
    atomic_store(&report->reports, next);
}

void command_read_seen(const struct command_report *report, struct command_seen *out)
{
    uint32_t read;
    do {
        read = atomic_load(&report->reports);
        *out = report->seen[read % 2];
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load(&report->reports) != read);
    out->nmasks = out->nmasks < TREE_MASKS ? out->nmasks : TREE_MASKS;
}

static void sample_tree(struct run *run)
{
    uint64_t begin_ns = clock_thread_cpu_ns(); /* CPU time: a sample may wait long for a CPU */
    tree_sample(&run->tree, record_cpu, run->ctx->cpu_samples);
    report_seen(run);
    uint64_t pause_ns = (clock_thread_cpu_ns() - begin_ns) * SAMPLE_COST_SHARE;
    pause_ns = pause_ns < SAMPLE_LEAST_MS * ms_ns ? SAMPLE_LEAST_MS * ms_ns : pause_ns;
    run->next_sample_ns =
        clock_now_ns() + (pause_ns < SAMPLE_MOST_MS * ms_ns ? pause_ns : SAMPLE_MOST_MS * ms_ns);
}

static int start(struct run *run)
{
    run->last[0] = run->number[0] = '\0';
    run->used = 0;
    run->line_cut = run->number_cut = false;
    run->lines = 0;
    run->term_ns = 0;
    run->cut = run->was_killed = false;
    if (run->orders->command.options.metric_file) /* an earlier run's file must not count */
        (void)unlink(run->orders->command.options.metric_file);
    run->started_ns = run->next_sample_ns = clock_now_ns();
    tree_begin(&run->tree, &run->orders->cpus);
    return command_start(run->orders->command.argv, &run->orders->cpus, &run->process, &run->out_fd,
                         run->ctx->err);
}

static void request_end(struct run *run, bool cut)
{
    if (run->term_ns)
        return;
    run->term_ns = clock_now_ns();
    run->cut = cut;
    (void)process_signal_below(getpid(), SIGTERM);
}

/* True for load that no other worker needs any more: the run is then cut. */
static bool is_unwanted(const struct run *run)
{
    return !run->ctx->measuring && atomic_load(run->orders->stop);
}

/* Ends the command when its time is over: SIGTERM, then SIGKILL. Returns ms to the next event. */
static int enforce_time_limits(struct run *run)
{
    const struct command_options *options = &run->orders->command.options;
    uint64_t now_ns = clock_now_ns(), next_ns = run->next_sample_ns;
    uint64_t end_ns = run->started_ns + (uint64_t)(options->duration_s * 1e9);
    bool timed = options->duration_s > 0 && !options->by_lines;
    if (is_unwanted(run) || (timed && now_ns >= end_ns))
        request_end(run, is_unwanted(run));
    else if (timed && end_ns < next_ns)
        next_ns = end_ns;
    uint64_t kill_ns = run->term_ns + (uint64_t)(options->grace_s * 1e9);
    if (run->term_ns && now_ns >= kill_ns && !run->was_killed) {
        run->was_killed = true;
        run->orders->report->killed++;
        (void)process_end_below(getpid());
    } else if (run->term_ns && kill_ns > now_ns && kill_ns < next_ns) {
        next_ns = kill_ns;
    }
    if (now_ns >= run->next_sample_ns) {
        process_reap_others(&run->process);
        sample_tree(run);
        next_ns = next_ns < run->next_sample_ns ? next_ns : run->next_sample_ns;
    }
    return elapsed_ms(next_ns);
}

/* Sleeps until there is output, the command ends, or the next event is due. */
static void wait_for_event(struct run *run)
{
    int pause_ms = enforce_time_limits(run);
    bool blind = run->process.pidfd < 0; /* no notice of its end */
    struct pollfd fds[] = {{.fd = run->process.pidfd, .events = POLLIN},
                           {.fd = run->out_fd, .events = POLLIN}};
    (void)poll(fds, 2, blind && pause_ms > 2 ? 2 : pause_ms);
    if (run->out_fd >= 0 && fds[1].revents && !read_output(run))
        close_output(run);
}

static const char *format_last(const struct run *run)
{
    return str_fmt(run->last[0] ? "; its last line: %s" : "", run->last);
}

/* An error if the command ended without success, and not because we told it to end. */
static int judge_status(const struct run *run, int status)
{
    struct err *err = run->ctx->err;
    const char *last = format_last(run);
    if (run->term_ns || (WIFEXITED(status) && !WEXITSTATUS(status)))
        return 0;
    if (WIFEXITED(status))
        return err_set(err, -ECHILD, "the command exited with status %d%.170s", WEXITSTATUS(status),
                       last);
    if (WIFSIGNALED(status))
        return err_set(err, -ECHILD, "the command was killed by signal %d (%s)%.170s",
                       WTERMSIG(status), strsignal(WTERMSIG(status)), last);
    return err_set(err, -ECHILD, "nothing says how the command ended");
}

/* Processes that the command left may end by themselves; any that remain are in the background. */
static int end_others(struct run *run)
{
    struct tree_process left[TREE_PROCESSES];
    uint64_t until_ns = clock_now_ns() + HELPERS_END_MS * ms_ns;
    unsigned n;
    do {
        process_reap_others(NULL);
        n = tree_list(getpid(), left, TREE_PROCESSES);
        if (n && !run->term_ns)
            (void)usleep(2000);
    } while (n && !run->term_ns && clock_now_ns() < until_ns);
    if (n && !process_end_below(getpid()))
        return err_set(run->ctx->err, -EBUSY, "a process of the command cannot be ended");
    if (n && !run->term_ns)
        return err_set(run->ctx->err, -ECHILD,
                       "the command went into the background: it ended, and left %u process%s, "
                       "which were ended; keep it in the foreground",
                       n, n == 1 ? "" : "es");
    return 0;
}

/* After its end: collects what is known of the run, and ends all its processes. */
static int finish(struct run *run)
{
    int status = 0;
    sample_tree(run); /* before it is reaped, while its run-queue wait is exact */
    process_wait(&run->process, &status);
    if (run->out_fd >= 0)
        (void)read_output(run);
    int rc = end_others(run);
    close_output(run);
    tree_end(&run->tree);
    report_seen(run);
    int failed = judge_status(run, status);
    return failed ? failed : rc;
}

/* Ends a run. Ignores errors: the run's own error is known already, or the run is not needed. */
static void abandon(struct run *run)
{
    struct err ignored, *err = run->ctx->err;
    run->ctx->err = &ignored;
    if (run->process.pid) {
        request_end(run, true);
        while (!process_is_zombie(&run->process))
            wait_for_event(run);
        (void)finish(run);
    }
    run->ctx->err = err;
}

static int read_metric_file(struct run *run)
{
    char *text = NULL;
    size_t size = 0;
    int rc = file_read(AT_FDCWD, run->orders->command.options.metric_file, METRIC_FILE_MOST, &text,
                       &size);
    if (rc)
        return err_sys(run->ctx->err, rc, NO_FILE "'%.120s'",
                       run->orders->command.options.metric_file);
    if (!run->has_metric)
        take_number(run, text, strcspn(text, "\r\n"), false);
    char *save = NULL;
    for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
        match_metric(run, line, false);
    free(text);
    return 0;
}

/* Sets the sample's rate from the run's metric. */
static int take_metric(struct run *run, struct sample *sample)
{
    const struct command_options *options = &run->orders->command.options;
    char *end;
    int rc = run->orders->command.options.metric_file ? read_metric_file(run) : 0;
    if (rc)
        return rc;
    if (!run->number[0])
        return err_set(run->ctx->err, -ENODATA, NO_MATCH "%s", format_last(run));
    if (run->number_cut)
        return err_set(run->ctx->err, -ERANGE,
                       "the line with the command's metric, '%.40s...', is longer than %d "
                       "characters: print the number on a line of its own",
                       run->number, COMMAND_LINE_MAX - 1);
    double value = strtod(run->number, &end);
    end += strspn(end, " \t");
    if (end == run->number || *end || !isfinite(value) || value <= 0)
        return err_set(run->ctx->err, -ERANGE, "the command's metric is '%.60s', no number above 0",
                       run->number);
    sample->rate = options->less_is_better ? 1 / value : value;
    return 0;
}

static int run_to_exit(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct run *run = ctx->state;
    (void)iters;
    int rc = start(run);
    while (!rc && !process_is_zombie(&run->process))
        wait_for_event(run);
    if (!rc)
        rc = finish(run);
    sample->ops = !run->cut;
    return rc;
}

static int run_for_metric(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct run *run = ctx->state;
    int rc = run_to_exit(ctx, iters, sample);
    return rc || run->cut ? rc : take_metric(run, sample);
}

/* Restarts a command that ended by itself; that counts as part of the step. */
static int start_again(struct run *run)
{
    if (run->process.pid) {
        uint64_t lines = run->lines;
        int rc = finish(run);
        if (!rc && !lines && !run->lines)
            rc = err_set(run->ctx->err, -ENODATA, NO_LINE);
        if (rc)
            return rc;
    }
    return start(run);
}

/* Drops lines that came while the worker waited for other workers: they are not this step's. */
static void drop_stale_lines(struct run *run)
{
    if (run->process.pid && run->out_fd >= 0 &&
        clock_now_ns() - run->last_step_ns > STALE_LINES_MS * ms_ns && !read_output(run))
        close_output(run);
}

static int run_lines(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct run *run = ctx->state;
    int rc = 0;
    drop_stale_lines(run);
    uint64_t seen = run->lines, done = 0;
    while (!rc && done < iters && !is_unwanted(run)) {
        if (!run->process.pid || process_is_zombie(&run->process)) {
            rc = start_again(run);
            seen = 0;
        } else {
            wait_for_event(run);
        }
        done += run->lines > seen ? run->lines - seen : 0;
        seen = run->lines;
    }
    sample->ops = done;
    run->last_step_ns = clock_now_ns();
    return rc;
}

static int compile(const char *text, regex_t *regex, bool *has, struct err *err)
{
    if (!text)
        return 0;
    *has = !regcomp(regex, text, REG_EXTENDED);
    return *has ? 0 : err_set(err, -EINVAL, "'%.80s' is no regular expression", text);
}

static int open_log(struct run *run)
{
    const char *path = run->orders->command.output;
    struct stat there;
    if (!path)
        return 0;
    run->log_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (run->log_fd < 0 || fstat(run->log_fd, &there))
        return err_sys(run->ctx->err, -errno, "cannot open '%.150s' for the command's output",
                       path);
    run->log_bytes = (uint64_t)there.st_size;
    return 0;
}

/* Changes the process's own environment: the worker runs nothing else. */
static int export_all(const struct opt_texts *env, struct err *err)
{
    for (size_t i = 0; i < env->n; i++)
        if (putenv((char *)(uintptr_t)env->text[i])) /* points into our argv, which stays valid */
            return err_set(err, -ENOMEM, "no memory for the command's environment");
    return 0;
}

static int command_setup(struct bench_ctx *ctx)
{
    if (!ctx->command)
        return err_set(ctx->err, -EINVAL, "no command: 'contend run -- COMMAND' runs one");
    struct run *run = ctx->state = calloc(1, sizeof(*run));
    if (!run)
        return err_set(ctx->err, -ENOMEM, "no memory for a command");
    run->ctx = ctx;
    run->orders = ctx->command;
    run->log_fd = run->out_fd = -1;
    const struct user_command *command = &run->orders->command;
    process_adopt(true);
    process_end_with_parent();
    int rc = compile(command->options.metric, &run->metric, &run->has_metric, ctx->err);
    if (!rc)
        rc = compile(command->options.line, &run->line, &run->has_line, ctx->err);
    if (!rc)
        rc = export_all(&command->env, ctx->err);
    return rc ? rc : open_log(run);
}

static void command_teardown(struct bench_ctx *ctx)
{
    struct run *run = ctx->state;
    if (!run)
        return;
    abandon(run);
    if (run->has_metric)
        regfree(&run->metric);
    if (run->has_line)
        regfree(&run->line);
    if (run->log_fd >= 0)
        (void)close(run->log_fd);
    free(run);
    ctx->state = NULL;
}

#define COMMAND .setup = command_setup, .teardown = command_teardown

static const struct bench benches[] = {
    {
        .name = "command",
        .summary = "a user's command, run after run",
        .ops_unit = "runs",
        .runs_command = true,
        .one_shot = true,
        .step = run_to_exit,
        COMMAND,
    },
    {
        .name = "command_lines",
        .summary = "a user's command, by the lines that it prints",
        .ops_unit = "lines",
        .runs_command = true,
        .step = run_lines,
        COMMAND,
    },
    {
        .name = "command_metric",
        .summary = "a user's command, by a number that it gives",
        .ops_unit = "runs",
        .rate_unit = "metric",
        .runs_command = true,
        .one_shot = true,
        .step = run_for_metric,
        COMMAND,
    },
    {
        .name = "command_cost",
        .summary = "a user's command, by a number that is the better the less it is",
        .ops_unit = "runs",
        .rate_unit = "1/metric",
        .runs_command = true,
        .one_shot = true,
        .step = run_for_metric,
        COMMAND,
    },
};

const struct bench *command_bench_find(const char *name)
{
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (strcmp(benches[i].name, name) == 0)
            return &benches[i];
    return NULL;
}
