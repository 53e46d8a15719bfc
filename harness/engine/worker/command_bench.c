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
#include <unistd.h>

#include "harness/engine/worker/command_numbers.h"
#include "harness/engine/worker/command_server.h"
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
enum { HELPERS_END_MS = 300 };
/* Lines printed while the worker was away from its command for longer are no steps. */
enum { STALE_LINES_MS = 50 };
/* How often a worker that waits for orders looks for them. */
enum { REST_MS = 20 };
static const uint64_t ms_ns = 1000000;

struct run {
    struct command_orders *orders;
    struct bench_ctx *ctx;
    const char *what;  /* "the command", or "the client" of a server */
    char *const *argv; /* of what is measured, and its CPUs */
    char **load_words; /* owned; NULL = no server */
    struct bitset cpus;
    struct command_numbers numbers;
    regex_t line;
    bool has_line;

    struct process process; /* the command or client; zeroed between runs */
    struct command_output output;
    uint64_t started_ns, next_sample_ns, last_step_ns;
    uint64_t term_ns; /* when SIGTERM was sent; 0 = not */
    bool cut;         /* told to end before its time */
    bool was_killed;
    uint64_t lines; /* that count, since the start */
    struct tree tree;

    struct command_server server; /* if there is a client */
    struct process_known known;   /* its processes when the client starts; else none */
    double server_before_s;       /* its CPU time when the client started */
    double thread_share;          /* of the client (command_client_watch) */
    struct {
        double client_s, server_s, wall_s, thread_share;
        unsigned n;
    } measured; /* sums over measured runs */
};

static int elapsed_ms(uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    return until_ns > now_ns ? (int)((until_ns - now_ns) / ms_ns) + 1 : 0;
}

static void take_line(void *arg, const char *line, bool cut)
{
    struct run *run = arg;
    if (!run->orders->command.options.metric_file)
        command_numbers_match(&run->numbers, line, cut);
    run->lines += !run->has_line || !regexec(&run->line, line, 0, NULL, 0);
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
    if (run->load_words && run->process.pid)
        command_client_watch(&run->process, run->started_ns, &run->thread_share);
    tree_sample(&run->tree, record_cpu, run->ctx->cpu_samples);
    report_seen(run);
    uint64_t pause_ns = (clock_thread_cpu_ns() - begin_ns) * SAMPLE_COST_SHARE;
    pause_ns = pause_ns < SAMPLE_LEAST_MS * ms_ns ? SAMPLE_LEAST_MS * ms_ns : pause_ns;
    run->next_sample_ns =
        clock_now_ns() + (pause_ns < SAMPLE_MOST_MS * ms_ns ? pause_ns : SAMPLE_MOST_MS * ms_ns);
}

/* Where there is a server, its processes are counted since its start, and the client's apart. */
static void begin_counts(struct run *run)
{
    if (!run->load_words) {
        tree_begin(&run->tree, &run->cpus);
        return;
    }
    sample_tree(run);
    run->thread_share = 0;
    run->server_before_s = run->tree.used.cpu_s;
    process_note_known(&run->known);
    tree_leave_out(&run->tree);
}

static int start(struct run *run)
{
    command_numbers_begin(&run->numbers);
    command_output_begin(&run->output);
    run->lines = 0;
    run->term_ns = 0;
    run->cut = run->was_killed = false;
    run->started_ns = run->next_sample_ns = clock_now_ns();
    begin_counts(run);
    int rc = command_start(run->argv, &run->cpus, run->load_words, &run->process, &run->output.fd,
                           run->ctx->err);
    if (run->load_words)
        run->tree.left_out = run->process.pid;
    return rc;
}

static void request_end(struct run *run, bool cut)
{
    if (run->term_ns)
        return;
    run->term_ns = clock_now_ns();
    run->cut = cut;
    (void)process_signal_new(&run->known, SIGTERM);
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
    bool is_needless = is_unwanted(run) || command_server_is_lost(&run->server);
    if (is_needless || (timed && now_ns >= end_ns))
        request_end(run, is_needless);
    else if (timed && end_ns < next_ns)
        next_ns = end_ns;
    uint64_t kill_ns = run->term_ns + (uint64_t)(options->grace_s * 1e9);
    if (run->term_ns && now_ns >= kill_ns && !run->was_killed) {
        run->was_killed = true;
        run->orders->report->killed++;
        (void)process_end_new(&run->known);
    } else if (run->term_ns && kill_ns > now_ns && kill_ns < next_ns) {
        next_ns = kill_ns;
    }
    if (now_ns >= run->next_sample_ns) {
        process_reap_others(&run->process, &run->server.process);
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
    const struct process *server = &run->server.process;
    struct pollfd fds[] = {
        {.fd = run->process.pidfd, .events = POLLIN},
        {.fd = run->output.fd, .events = POLLIN},
        {.fd = run->server.output.fd, .events = POLLIN},
        {.fd = server->pid && !run->term_ns ? server->pidfd : -1, .events = POLLIN}};
    (void)poll(fds, 4, blind && pause_ms > 2 ? 2 : pause_ms);
    if (fds[1].revents)
        command_output_read(&run->output);
    if (fds[2].revents)
        command_output_read(&run->server.output);
}

/* An error if the command ended without success, and not because we told it to end. */
static int judge_status(struct run *run, int status)
{
    return run->term_ns ? 0
                        : command_judge(run->what, status, "", &run->output, false, run->ctx->err);
}

/* Processes that the command left may end by themselves; any that remain are in the background. */
static int end_others(struct run *run)
{
    uint64_t until_ns = clock_now_ns() + HELPERS_END_MS * ms_ns;
    unsigned n;
    do {
        process_reap_others(&run->server.process, NULL);
        n = process_signal_new(&run->known, 0);
        if (n && !run->term_ns)
            (void)usleep(2000);
    } while (n && !run->term_ns && clock_now_ns() < until_ns);
    if (n && !process_end_new(&run->known))
        return err_set(run->ctx->err, -EBUSY, "a process of %s cannot be ended", run->what);
    if (n && !run->term_ns)
        return err_set(run->ctx->err, -ECHILD,
                       "%s went into the background: it ended, and left %u process%s, "
                       "which were ended; keep it in the foreground",
                       run->what, n, n == 1 ? "" : "es");
    return 0;
}

/* After its end: collects what is known of the run, and ends all its processes. */
static int finish(struct run *run)
{
    int status = 0;
    sample_tree(run); /* before it is reaped, while its run-queue wait is exact */
    double wall_s = (double)(clock_now_ns() - run->started_ns) * 1e-9;
    process_wait(&run->process, &status);
    command_output_read(&run->output);
    int rc = end_others(run);
    command_output_close(&run->output);
    if (!run->load_words) {
        tree_end(&run->tree);
    } else {
        double client_s = tree_count_left_out(&run->tree);
        if (run->ctx->measuring) {
            run->measured.client_s += client_s;
            run->measured.server_s += run->tree.used.cpu_s - run->server_before_s;
            run->measured.wall_s += wall_s;
            run->measured.thread_share += run->thread_share;
        }
    }
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

static int run_to_exit(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct run *run = ctx->state;
    (void)iters;
    int rc = start(run);
    while (!rc && !process_is_zombie(&run->process))
        wait_for_event(run);
    if (!rc)
        rc = finish(run);
    if (run->load_words)
        rc = command_server_judge(&run->server, run->cut ? 0 : rc, ctx->err);
    run->measured.n += ctx->measuring;
    sample->ops = !run->cut;
    return rc;
}

static int run_for_metric(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct run *run = ctx->state;
    int rc = run_to_exit(ctx, iters, sample);
    if (!rc && !run->cut)
        rc = command_numbers_take(&run->numbers, &run->output, ctx->measuring, &sample->rate,
                                  ctx->err);
    run->orders->report->repeated = run->load_words ? run->numbers.repeated : 0;
    return rc;
}

/* Restarts a command that ended by itself; that counts as part of the step. */
static int start_again(struct run *run)
{
    if (run->process.pid) {
        uint64_t lines = run->lines;
        int rc = finish(run);
        if (!rc && !lines && !run->lines)
            rc = err_set(run->ctx->err, -ENODATA, COMMAND_NO_LINE);
        if (rc)
            return rc;
    }
    return start(run);
}

/* Drops lines that came while the worker waited for other workers: they are not this step's. */
static void drop_stale_lines(struct run *run)
{
    if (run->process.pid && clock_now_ns() - run->last_step_ns > STALE_LINES_MS * ms_ns)
        command_output_read(&run->output);
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

/* "x-worker0.txt" is the server's, "x-worker0-client.txt" its client's. */
static int open_outputs(struct run *run)
{
    static const char suffix[] = ".txt";
    const char *path = run->orders->command.output;
    struct command_server *server = &run->server;
    run->output.cut_bytes = server->output.cut_bytes = &run->orders->report->cut_bytes;
    if (!run->load_words || !path)
        return command_output_open(&run->output, path, run->ctx->err);
    const char *of_client =
        str_fmt("%.*s-client%s", (int)(strlen(path) - strlen(suffix)), path, suffix);
    int rc = command_output_open(&server->output, path, run->ctx->err);
    return rc ? rc : command_output_open(&run->output, of_client, run->ctx->err);
}

/* Moves a server that is kept, and counts anew. */
static int move_server(struct run *run)
{
    const struct bitset *cpus = &run->orders->cpus;
    memset(&run->measured, 0, sizeof(run->measured));
    run->numbers.repeated = 0;
    for (size_t i = 0; i < run->numbers.n; i++)
        run->numbers.all[i].sum = 0;
    int rc = process_bind_tree(getpid(), cpus);
    tree_end(&run->tree);
    run->tree = (struct tree){0};
    tree_begin_running(&run->tree, cpus);
    return rc ? err_sys(run->ctx->err, rc, "the server cannot be moved to CPUs %s",
                        bitset_format(cpus))
              : 0;
}

/* Starts the server, whose client is then what is measured. */
static int setup_server(struct run *run)
{
    const struct command_orders *orders = run->orders;
    const bool keeps = orders->command.options.keep;
    int rc = bitset_parse(orders->command.load_cpus, &run->cpus, run->ctx->err);
    tree_begin(&run->tree, &orders->cpus);
    if (!rc)
        rc = command_server_start(&run->server, &orders->command,
                                  keeps ? &orders->start_cpus : &orders->cpus, run->ctx->err);
    if (!rc && keeps)
        rc = move_server(run);
    if (!rc)
        sample_tree(run);
    return rc;
}

static int choose_measured(struct run *run)
{
    const struct user_command *command = &run->orders->command;
    run->what = "the command";
    run->argv = command->argv;
    run->cpus = run->orders->cpus;
    if (!command->options.load)
        return 0;
    run->what = "the client";
    run->argv = run->load_words = command_split(command->options.load, run->ctx->err);
    return run->load_words ? 0 : -EINVAL;
}

static int command_setup(struct bench_ctx *ctx)
{
    if (!ctx->command)
        return err_set(ctx->err, -EINVAL, "no command: 'contend run -- COMMAND' runs one");
    if (ctx->state)
        return move_server(ctx->state);
    struct run *run = ctx->state = calloc(1, sizeof(*run));
    if (!run)
        return err_set(ctx->err, -ENOMEM, "no memory for a command");
    run->ctx = ctx;
    run->orders = ctx->command;
    run->output = (struct command_output){.line = take_line, .arg = run, .fd = -1, .log_fd = -1};
    run->server.output.fd = run->server.output.log_fd = -1;
    const struct user_command *command = &run->orders->command;
    process_adopt(true);
    process_end_with_parent();
    int rc = choose_measured(run);
    if (!rc)
        rc = command_numbers_open(&run->numbers, &command->options, run->what, ctx->err);
    if (!rc)
        run->has_line =
            command->options.line && !regcomp(&run->line, command->options.line, REG_EXTENDED);
    if (!rc)
        rc = command_export(&command->env, ctx->err);
    if (!rc)
        rc = open_outputs(run);
    return !rc && run->load_words ? setup_server(run) : rc;
}

/* Emits the means of the measured runs: metrics with names, and what the client used. */
static int command_check_run(struct bench_ctx *ctx)
{
    const struct run *run = ctx->state;
    struct bench_metric metrics[COMMAND_BENCH_METRICS];
    const unsigned n = run->measured.n;
    size_t timed, named = command_bench_metrics(&run->orders->command.options, metrics, &timed);
    const struct command_number *number = run->numbers.all + run->numbers.n - named;
    for (size_t i = 0; i < named && n; i++)
        bench_emit(ctx, (unsigned)(i + (number[i].is_time ? timed : 0)), number[i].sum / n,
                   NO_DIMS);
    if (!run->load_words || !n)
        return 0;
    double client_s = run->measured.client_s, server_s = run->measured.server_s;
    double cpus_s = run->measured.wall_s * bitset_count(&run->cpus);
    bench_emit(ctx, (unsigned)named + CLIENT_CPUS, client_s / cpus_s, NO_DIMS);
    bench_emit(ctx, (unsigned)named + CLIENT_THREAD, run->measured.thread_share / n, NO_DIMS);
    bench_emit(ctx, (unsigned)named + CLIENT_SHARE, client_s / (client_s + server_s), NO_DIMS);
    return 0;
}

static void command_teardown(struct bench_ctx *ctx)
{
    struct run *run = ctx->state;
    if (!run)
        return;
    abandon(run);
    if (run->load_words) {
        bool killed = command_server_end(&run->server, run->orders->command.options.grace_s);
        run->orders->report->killed += killed;
        tree_end(&run->tree);
    }
    if (run->has_line)
        regfree(&run->line);
    command_output_free(&run->output);
    command_words_free(run->load_words, 0);
    command_numbers_free(&run->numbers);
    free(run);
    ctx->state = NULL;
}

void command_bench_rest(struct bench_ctx *ctx, const _Atomic uint32_t *orders)
{
    struct command_output *output = &((struct run *)ctx->state)->server.output;
    while (!atomic_load(orders)) {
        struct pollfd fd = {.fd = output->fd, .events = POLLIN};
        (void)poll(&fd, 1, REST_MS);
        command_output_read(output);
    }
}

#define COMMAND                                                                                    \
    .runs_command = true, .setup = command_setup, .check = command_check_run,                      \
    .teardown = command_teardown
#define RUNS COMMAND, .ops_unit = "runs", .one_shot = true

static const struct bench benches[] = {
    {
        .name = "command",
        .summary = "a user's command, run after run",
        .step = run_to_exit,
        RUNS,
    },
    {
        .name = "command_lines",
        .summary = "a user's command, by the lines that it prints",
        .ops_unit = "lines",
        .step = run_lines,
        COMMAND,
    },
    {
        .name = "command_metric",
        .summary = "a user's command, by a number that it gives",
        .rate_unit = "metric",
        .step = run_for_metric,
        RUNS,
    },
    {
        .name = "command_cost",
        .summary = "a user's command, by a number that is the better the less it is",
        .rate_unit = "1/metric",
        .step = run_for_metric,
        RUNS,
    },
};

const struct bench *command_bench_find(const char *name)
{
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (strcmp(benches[i].name, name) == 0)
            return &benches[i];
    return NULL;
}
