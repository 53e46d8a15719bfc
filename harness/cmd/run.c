/*
 * contend run: the main job. Reads top to bottom: options -> topology -> plan -> rounds -> verdict
 * -> files -> plots -> summary.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/help.h"
#include "harness/cmd/named.h"
#include "harness/cmd/page.h"
#include "harness/cmd/program.h"
#include "harness/cmd/run_dry.h"
#include "harness/cmd/run_options.h"
#include "harness/cmd/summary.h"
#include "harness/gpu/state.h"
#include "harness/job/job_run.h"
#include "harness/json/rows.h"
#include "harness/json/value.h"
#include "harness/judge/busy.h"
#include "harness/judge/gpus.h"
#include "harness/judge/statuses.h"
#include "harness/judge/verdict.h"
#include "harness/machine/env.h"
#include "harness/machine/openmp.h"
#include "harness/plot/figures.h"
#include "harness/run/run.h"
#include "harness/say/log.h"
#include "harness/say/progress.h"
#include "harness/store/run_dir.h"
#include "harness/sys/terminal.h"
#include "harness/worker/perf.h"
#include "version.h"

/* What the scenarios of one command share, and what one of them has while it runs. */
struct session {
    const struct cmd_env *env;
    struct run_options options;
    struct cli cli;
    int argc;
    char **argv;
    char program[300]; /* as it is started from here */
    struct topo topo;
    struct environment environment;
    char host[ENV_HOST_LABEL_MAX];
    char counters_note[300];
    char sizes[3][64]; /* -b, -e and -f as parameters */
    char quota_note[200];
    struct openmp_notes openmp;
    const char *notes[5 + OPENMP_NOTES_MAX]; /* ends with NULL */
    struct signals signals;
    struct job_env job_env;
    struct job job;
    struct job_crew crew;
    char job_note[300];
    struct run_setup *setup; /* of the scenario that runs now */
    struct run_dir run_dir;
    time_t started;
    bool told, gpus_told; /* what is to be said about them was said */
};

/* Output of several ranks is taken by mpirun, at a terminal of its own, and may end in a file. */
static bool on_terminal(const struct session *s, int fd)
{
    return !s->job_env.launcher && terminal_has_escapes(fd);
}

static void on_arm(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total)
{
    static char label[64];
    const struct session *s = arg;
    char what[96];
    if (arm->bench->scan)
        (void)statuses_name_arm(&s->setup->result, arm, what, sizeof(what));
    else
        (void)snprintf(what, sizeof(what), "%s, %u worker%s%s",
                       placement_infos[arm->placement].name, arm->workers,
                       arm->workers == 1 ? "" : "s", arm->alone ? " alone" : "");
    (void)snprintf(label, sizeof(label), "round %u: %.50s", round + 1, what);
    progress_set(label, done, total, s->setup->expected_s);
}

static void on_wait(void *arg)
{
    (void)arg;
    progress_tick();
}

/* The version that the workers have loaded, which no other process here has. */
static void note_nccl(const struct result *result, struct environment *environment)
{
    static const char name[] = "NCCL ";
    for (size_t a = 0; a < result->narms && !environment->nccl[0]; a++)
        for (size_t i = 0; i < result->arms[a].nobservations; i++) {
            const struct observation *seen = &result->arms[a].observations[i];
            if (seen->nworkers && !strncmp(seen->workers[0].library, name, sizeof(name) - 1))
                (void)snprintf(environment->nccl, sizeof(environment->nccl), "%s",
                               seen->workers[0].library + sizeof(name) - 1);
        }
}

static struct run_record make_record(const struct session *s, const char *status, time_t ended,
                                     const struct verdict *verdict)
{
    return (struct run_record){
        .status = status,
        .version = CONTEND_VERSION,
        .commit = contend_commit,
        .argc = s->argc + 1,
        .argv = s->argv - 1,
        .started = s->started,
        .ended = ended,
        .env = &s->environment,
        .topo = &s->topo,
        .result = &s->setup->result,
        .verdict = verdict,
        .run_opts = run_option_table,
        .run_options = &s->options,
        .notes = s->notes,
    };
}

/* What is on disk is what counts: a round that cannot be written is as one that was not done. */
static int write_round(struct session *s, unsigned round, struct err *err)
{
    struct err why = {0};
    struct verdict verdict;
    int rc = verdict_make(&s->setup->result, &s->topo, &verdict, &why);
    struct run_record record = make_record(s, "interrupted", 0, &verdict);
    if (!rc)
        rc = run_dir_round(&s->run_dir, &record, round, &why);
    verdict_free(&verdict);
    if (rc) {
        run_drop_round(&s->setup->result, round);
        (void)err_set(err, rc, "round %u is not in the results: %.200s", round + 1, why.msg);
    }
    return rc;
}

static int on_round(void *arg, unsigned round, struct err *err)
{
    struct session *s = arg;
    note_nccl(&s->setup->result, &s->environment);
    int rc = job_is_first(&s->job) ? write_round(s, round, err) : 0;
    if (!rc && !on_terminal(s, STDERR_FILENO))
        log_info("round %u of %u done", round + 1, s->setup->result.rounds_planned);
    return job_run_round(&s->job, rc, err);
}

/* As a whole, or in some of the values that a scan of it should have. */
static bool has_failed(const struct observation *of)
{
    for (unsigned i = 0; i < of->nworkers; i++)
        for (size_t k = 0; k < of->workers[i].nreasons; k++)
            if (of->workers[i].reasons[k].code && of->workers[i].reasons[k].code != -ENOTSUP)
                return true;
    return of->status >= STATUS_FAILED;
}

/*
 * Exit code of a run that went through: did everything that should have run do so? What a machine
 * cannot do is no failure, but a run that leaves nothing else must not pass for a good one.
 */
static int judge(const struct result *result)
{
    for (size_t i = 0; i < result_measured(result); i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (has_failed(&result->arms[i].observations[o]))
                return EXIT_NOT_RUN;
    return run_measured_anything(result) ? EXIT_GOOD : EXIT_NOT_RUN;
}

/* From the files, as 'contend report' does, and for it: what it prints stands there too. */
static int print_summary(struct session *s, struct err *err)
{
    struct recorded recorded;
    char *text = NULL;
    size_t size = 0;
    int rc = recorded_read(s->run_dir.dir.fd, s->env->benches, &recorded, err);
    if (!rc)
        rc = summary_format(&recorded, &text, &size, err);
    if (!rc)
        rc = directory_add_summary(&s->run_dir.dir, text, size, err);
    if (!rc && !s->options.no_plots)
        page_write_own(s->run_dir.dir.path, s->run_dir.dir.fd, &recorded);
    if (!rc && s->options.json)
        rc = json_value_print(rows_to_json(&recorded.analysis.rows), 1, err);
    else if (!rc) {
        summary_print(&recorded, stdout,
                      on_terminal(s, STDOUT_FILENO) && terminal_has_color(STDOUT_FILENO));
        summary_print_source(&recorded, s->run_dir.dir.path);
    }
    free(text);
    recorded_free(&recorded);
    return rc;
}

static int run_measure(struct session *s, struct err *err)
{
    bool bar = on_terminal(s, STDERR_FILENO);
    const struct run_hooks hooks = {.on_arm = bar ? on_arm : NULL, .on_round = on_round, .arg = s};
    s->setup->config.on_wait = bar ? on_wait : NULL;
    int rc = run_rounds(&s->setup->config, &hooks, &s->signals, &s->setup->result, err);
    progress_end();
    return rc;
}

/* Of a run that did not come to its end. */
static void tell_what_is_there(const struct session *s, bool interrupted)
{
    char rounds[64] = "no round was done: the earlier run in";
    if (!s->run_dir.dir.holds_earlier)
        (void)snprintf(rounds, sizeof(rounds), "%u of %u rounds are in",
                       s->setup->result.rounds_done, s->setup->result.rounds_planned);
    log_info("%s%s %s%s", interrupted ? "interrupted; " : "", rounds, s->run_dir.dir.path,
             s->run_dir.dir.holds_earlier ? " stays as it was" : "");
}

/* Figures, and what is said on stdout, of a run whose files are whole. Returns the exit code. */
static int show(struct session *s, const struct verdict *verdict, int code)
{
    struct err err = {0};
    int drawn = 0;
    if (!job_is_lost(&s->job) && s->setup->result.rounds_done)
        drawn = figures_draw(&verdict->analysis, s->host, !s->options.no_plots, s->run_dir.dir.fd,
                             &s->signals, &err);
    if (drawn == -EINTR)
        log_info("interrupted while figures were drawn; 'contend report %s' draws them",
                 s->run_dir.dir.path);
    else if (drawn)
        log_warn("no plots: %s", err.msg);
    if (print_summary(s, &err)) {
        log_error("%s", err.msg);
        code = code ? code : EXIT_NOT_RUN;
    }
    return drawn == -EINTR ? EXIT_INTERRUPTED : code;
}

static int write_end(struct session *s, int code, const struct verdict *verdict)
{
    struct err err = {0};
    const char *status = code == EXIT_INTERRUPTED ? "interrupted"
                         : code == EXIT_GOOD      ? "complete"
                                                  : "failed";
    struct run_record record = make_record(s, status, time(NULL), verdict);
    int rc = run_dir_end(&s->run_dir, &record, &err);
    if (rc)
        log_error("%s", err.msg);
    return rc;
}

/* Everything after the measuring, whatever its end. Returns the exit code. */
static int conclude(struct session *s, int rc, const struct err *measured)
{
    struct err err = {0};
    struct verdict verdict;
    const struct result *result = &s->setup->result;
    bool interrupted = rc == -EINTR || (rc && s->job.end == JOB_TOLD);
    int code = interrupted ? EXIT_INTERRUPTED : rc ? EXIT_NOT_RUN : judge(result);
    if (rc && rc != -EINTR)
        log_error("%s", measured->msg);
    if (!job_is_first(&s->job))
        return code;
    int unwritten = verdict_make(result, &s->topo, &verdict, &err);
    if (unwritten)
        log_error("%s", err.msg);
    else
        unwritten = write_end(s, code, &verdict);
    if (rc || unwritten)
        tell_what_is_there(s, interrupted);
    if (interrupted || unwritten || s->run_dir.dir.holds_earlier)
        code = code ? code : EXIT_NOT_RUN;
    else
        code = show(s, &verdict, code);
    const struct finding *busy = busy_among(&verdict.findings);
    if (busy && s->options.json) /* the table says it first, rows do not */
        log_warn("%s", busy->sentence);
    if (!code && s->options.strict && busy)
        code = EXIT_INCONCLUSIVE;
    if (!rc && !unwritten && !run_measured_anything(result) && verdict.analysis.rows.n)
        log_error("nothing was measured: %s", verdict.analysis.rows.row[0].reason);
    verdict_free(&verdict);
    return code;
}

/* Once, whatever the scenarios. */
static void warn(struct session *s)
{
    if (s->quota_note[0] && !s->told)
        log_warn("%s", s->quota_note);
    for (size_t i = 0; i < s->openmp.n && !s->told; i++)
        log_warn("%s", s->openmp.text[i]);
    s->told = true;
    struct findings gpus = {0};
    if (!s->gpus_told && gpus_find(&s->topo, &s->setup->result, &gpus, NULL))
        log_warn("no memory to tell what is wrong with the GPUs");
    for (size_t i = 0; i < gpus.n; i++)
        log_warn("%s: %s", gpus.all[i].subject, gpus.all[i].sentence);
    s->gpus_told = s->gpus_told || gpus.n;
    findings_free(&gpus);
}

/* Of what failed before anything ran: a rank that is lost is none of the user's errors. */
static int not_started(const struct session *s, int rc)
{
    if (s->signals.interrupted)
        return EXIT_INTERRUPTED;
    bool lost = rc == -EIO || rc == -ETIME || rc == -ECHILD || rc == -ECONNABORTED ||
                rc == -EAGAIN; /* its MPI process could not be started */
    return s->job_env.launcher && lost ? EXIT_NOT_RUN : EXIT_USAGE;
}

static int run_for_real(struct session *s, const char *subdirectory)
{
    struct err err = {0};
    s->started = time(NULL);
    struct run_record record = make_record(s, "interrupted", 0, NULL);
    int code;
    const struct run_dir_request request = {.out = s->options.out,
                                            .host = s->host,
                                            .scenario = s->setup->scenario->name,
                                            .subdirectory = subdirectory,
                                            .remove_figures = page_remove_drawn};
    int rc = job_is_first(&s->job) ? run_dir_open(&s->run_dir, &request, &record, &err) : 0;
    rc = job_agree(&s->job, rc, &err);
    if (rc) {
        log_error("%s", err.msg);
        code =
            rc == -EFBIG ? EXIT_NOT_RUN : not_started(s, rc); /* a limit is not the directory's */
        goto close;
    }
    warn(s);
    rc = run_measure(s, &err);
    signals_let_stop(!s->job.ops); /* figures and tables: who reads along may stop us with him */
    code = conclude(s, rc, &err);
    signals_let_stop(false);
close:
    run_dir_close(&s->run_dir);
    return code;
}

/* Of two scenarios; that one was inconclusive does not hide that another did not run. */
static int worse_code(int one, int other)
{
    int most = one > other ? one : other, least = one > other ? other : one;
    return most == EXIT_INCONCLUSIVE && least == EXIT_NOT_RUN ? least : most;
}

static int run_scenario(struct session *s, const struct scenario *scenario,
                        const char *subdirectory)
{
    struct err err = {0};
    struct run_setup setup = {0};
    s->setup = &setup;
    int code;
    int rc =
        run_setup_make(s->env->benches, scenario, &s->options, &s->cli, &s->topo, &setup, &err);
    setup.result.program = s->program;
    rc = job_run_join(&s->job, &s->crew, &s->topo, rc, &setup, &err);
    if (rc) {
        log_error("%s", err.msg);
        code = not_started(s, rc);
    } else {
        code = s->options.dry_run ? run_dry_print(&setup, s->options.json)
                                  : run_for_real(s, subdirectory);
    }
    run_setup_free(&setup);
    s->setup = NULL;
    return code;
}

static void gather_environment(struct session *s)
{
    unsigned n = 0;
    struct err why;
    char driver[80] = "";
    if (s->topo.ngpus)
        (void)gpu_driver_version(driver, sizeof(driver));
    const char *cuda = NULL;
#ifdef CONTEND_CUDA_VERSION
    cuda = CONTEND_CUDA_VERSION;
#endif
    const struct env_request request = {.driver = driver[0] ? driver : NULL, .cuda = cuda};
    env_gather(&request, &s->environment);
    if (s->options.host)
        (void)snprintf(s->environment.hostname, sizeof(s->environment.hostname), "%s",
                       s->options.host);
    (void)env_host_label(&s->environment, s->host);
    if (perf_probe(&why)) {
        (void)snprintf(s->counters_note, sizeof(s->counters_note), "%s", why.msg);
        s->notes[n++] = s->counters_note;
    }
    struct bitset cpus = {0};
    topo_allowed_cpus(&s->topo, &cpus);
    if (s->topo.is_this_machine && cgroup_tell_quota(&s->environment.cgroup, bitset_count(&cpus),
                                                     s->quota_note, sizeof(s->quota_note))) {
        s->notes[n++] = s->quota_note;
    }
    openmp_tell(getenv, bitset_count(&cpus), &s->openmp);
    for (size_t i = 0; i < s->openmp.n; i++)
        s->notes[n++] = s->openmp.text[i];
    if (s->job.ops) {
        s->notes[n++] = job_run_describe(&s->job, s->job_note, sizeof(s->job_note));
        s->notes[n] = s->job.cpus_note[0] ? s->job.cpus_note : NULL;
    }
}

/* Everything the scenarios have in common. 0, or the exit code. */
static int session_open(struct session *s)
{
    struct err err = {0};
    (void)program_name(s->argv[-1], s->program, sizeof(s->program));
    /* Before the GPU driver starts threads: one that does not block SIGINT would die of it. */
    if (signals_open(&s->signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    int rc = job_run_open(&s->job, &s->job_env, &s->signals, s->argc, s->argv, &s->options, &err);
    if (rc) {
        log_error("%s", err.msg);
        return not_started(s, rc);
    }
    s->options.topo.probe_gpus = s->options.device != DEVICE_SIM;
    rc = job_agree(&s->job, topo_load(&s->options.topo, &s->topo, &err), &err);
    if (rc) {
        log_error("%s", err.msg);
        return not_started(s, rc);
    }
    gather_environment(s);
    return EXIT_GOOD;
}

static void session_close(struct session *s)
{
    env_free(&s->environment);
    topo_free(&s->topo);
    signals_close(&s->signals);
}

static int run_all(struct session *s, const struct scenario *const *scenarios, int n)
{
    int code = session_open(s);
    bool goes_on = code == EXIT_GOOD;
    for (int i = 0; i < n && goes_on; i++) {
        int one =
            run_scenario(s, scenarios[i], n > 1 && s->options.out ? scenarios[i]->name : NULL);
        code = worse_code(one, code);
        goes_on = code != EXIT_INTERRUPTED && code != EXIT_USAGE && !job_is_lost(&s->job);
    }
    code = job_close(&s->job, code);
    session_close(s);
    return code;
}

/* -b, -e and -f become parameters. */
static int parse(struct session *s, struct err *err)
{
    int rc = cli_parse(run_option_table, true, s->argc, s->argv, &s->options, &s->cli, err);
    const char *const names[] = {"begin", "end", "factor"};
    const char *const values[] = {s->options.begin, s->options.end, s->options.factor};
    for (int i = 0; i < 3 && !rc; i++) {
        if (!values[i])
            continue;
        if (s->cli.npairs == CLI_LIST_MAX)
            return err_set(err, -EINVAL, "more than %d parameters", CLI_LIST_MAX);
        (void)snprintf(s->sizes[i], sizeof(s->sizes[i]), "%s=%.40s", names[i], values[i]);
        s->cli.pairs[s->cli.npairs++] = s->sizes[i];
    }
    return rc;
}

/* False: an error was logged. */
static bool session_parse(struct session *s)
{
    struct err err = {0};
    job_env_read(getenv, &s->job_env);
    job_run_silence(&s->job_env);
    int rc = parse(s, &err);
    if (rc)
        log_error("%s", err.msg);
    return !rc;
}

static int run_help(const struct session *s)
{
    const struct scenario *scenarios[CLI_LIST_MAX];
    if (!s->cli.npositional) {
        help_print_command(s->env, &run_command);
        return cmd_finish();
    }
    int n = named_scenarios(s->env, &s->cli, scenarios);
    for (int i = 0; i < n; i++)
        help_print_scenario(s->env, scenarios[i]);
    return n < 0 ? EXIT_USAGE : cmd_finish();
}

static int run_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .argc = argc, .argv = argv};
    const struct scenario *scenarios[CLI_LIST_MAX];
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (s.cli.help)
        return run_help(&s);
    int n = named_scenarios(env, &s.cli, scenarios);
    return n < 0 ? EXIT_USAGE : run_all(&s, scenarios, n);
}

const struct command run_command = {
    .name = "run",
    .main = run_main,
    .summary = "the main job: workers under each placement, compared",
    .operands = "[SCENARIO...]",
    .about = "Starts workers under each placement, in random order, round after round, and "
             "compares what they get.",
    .opts = run_option_table,
    .takes_params = true,
};

static int bench_help(const struct session *s)
{
    const struct bench *bench = s->cli.npositional ? named_bench(s->env, &s->cli) : NULL;
    if (bench)
        help_print_bench(bench);
    else if (s->cli.npositional)
        return EXIT_USAGE;
    else
        help_print_command(s->env, &bench_command);
    return cmd_finish();
}

static int bench_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .argc = argc, .argv = argv};
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (s.cli.help)
        return bench_help(&s);
    const struct bench *bench = named_bench(env, &s.cli);
    if (!bench)
        return EXIT_USAGE;
    const struct scenario_part parts[] = {{.foreground = bench->name, .placements = "none"},
                                          {.foreground = NULL}};
    const struct scenario alone = {.name = bench->name, .parts = parts};
    const struct scenario *scenario = &alone;
    if (strcmp(s.options.workers, "auto") == 0 && !bench->together)
        s.options.workers = "1";
    return run_all(&s, &scenario, 1);
}

const struct command bench_command = {
    .name = "bench",
    .main = bench_main,
    .summary = "one benchmark alone",
    .operands = "BENCH",
    .about = "One benchmark alone: placement none, one worker, unless told otherwise.",
    .opts = run_option_table,
    .takes_params = true,
};
