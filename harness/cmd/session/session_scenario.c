/* Runs one scenario of a session: rounds, verdict, files, output. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/page.h"
#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/engine/run.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/show/figures/figures.h"
#include "harness/show/json/run_json.h"
#include "harness/verdict/odd.h"
#include "harness/verdict/recommend.h"
#include "harness/verdict/verdict.h"
#include "version.h"

/* False under mpirun, which forwards the output of all ranks, perhaps to a file. */
static bool on_terminal(const struct session *s, int fd)
{
    return !s->job_env.launcher && terminal_has_escapes(fd);
}

static void on_arm(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total)
{
    static char label[64];
    const struct session *s = arg;
    const char *what;
    if (arm->bench->scan)
        what = statuses_name_arm(&s->setup->result, arm);
    else
        what =
            str_fmt("%s, %u worker%s%s",
                    arm->variant ? arm->variant->name : placement_infos[arm->placement].name,
                    arm->workers, arm->workers == 1 ? "" : "s", arm->is_baseline ? " alone" : "");
    (void)snprintf(label, sizeof(label), "round %u: %.50s", round + 1, what);
    const struct result *result = &s->setup->result;
    if (purpose_decides(result->purpose) || result->until_clear) { /* number of rounds unknown */
        total = (size_t)(result->until_clear ? s->setup->expected_s : s->options.max_time_s);
        done = (size_t)difftime(time(NULL), s->started);
        done = done < total ? done : total;
    }
    progress_set(label, done, total, s->setup->expected_s);
}

static void on_wait(void *arg)
{
    (void)arg;
    progress_tick();
}

/* Takes the version of NCCL from the workers: only they load the library. */
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
        .run_opts = s->opts,
        .run_options = &s->options,
        .notes = s->notes,
    };
}

static int make_verdict(const struct session *s, struct verdict *verdict, struct err *err)
{
    const struct session_task *task = s->task;
    int rc = s->builds.setup ? builds_judge(&s->builds, &s->topo, verdict, err)
                             : verdict_make(&s->setup->result, &s->topo, verdict, err);
    if (!rc && task && task->judge)
        task->judge(task->arrange.arg, &verdict->analysis, &verdict->findings);
    return rc ? rc : findings_check(&verdict->findings, err);
}

/* Opens the output directory of a user's command; again after each round that is written. */
static int open_outputs(struct session *s, struct err *err)
{
    if (!s->setup->config.command)
        return 0;
    s->setup->config.outputs =
        directory_outputs(&s->run_dir.dir, s->outputs, sizeof(s->outputs), err);
    return s->setup->config.outputs ? 0 : -EIO;
}

/* Number of arms in the next round. */
static size_t count_measured(const struct result *result)
{
    size_t n = 0;
    for (size_t i = 0; i < result->narms; i++)
        n += arm_runs(&result->arms[i]) && !result->arms[i].idle;
    return n;
}

/* ", at most 21 s left" where time ends the rounds, as their number is not known; else "". */
static const char *format_left(const struct session *s)
{
    const struct result *result = &s->setup->result;
    double limit_s = purpose_decides(result->purpose) ? s->options.max_time_s : result->rounds_s;
    double left_s = limit_s - (double)(clock_now_ns() - s->begin_ns) * 1e-9;
    if (limit_s > 0)
        return str_fmt(", at most %.0f s left", left_s > 0 ? left_s : 0);
    return "";
}

static void report_round(const struct session *s, unsigned round)
{
    const struct result *result = &s->setup->result;
    enum { EACH = 10 }; /* an ab has many rounds */
    const size_t settings = count_measured(result);
    const char *left = format_left(s);
    if (purpose_decides(result->purpose))
        log_info("round %u done, %zu setting%s%s", round + 1, settings, settings == 1 ? "" : "s",
                 left);
    else if (result->until_clear && round + 1 < result->rounds_least)
        log_info("round %u of %u or more done", round + 1, result->rounds_least);
    else if (result->until_clear)
        log_info("round %u done%s", round + 1, left);
    else if (!result->variants || result->rounds_s <= 0)
        log_info("round %u of %u done", round + 1, result->rounds_planned);
    else if ((round + 1) % EACH == 0 || round + 1 == result->rounds_planned)
        log_info("%u rounds done%s", round + 1, left);
}

static void after_arm(void *arg)
{
    struct session *s = arg;
    s->task->after_arm(s->task->arrange.arg, &s->setup->result);
}

/* A full disk does not end a run: the trace is closed, and later writes are ignored. */
static int on_observation(void *arg, const struct arm *arm, const struct observation *observation,
                          struct err *err)
{
    struct session *s = arg;
    struct err why = {0};
    if (!s->trace.is_open || observation->round || arm->is_control)
        return 0;
    if (!s->trace_origin_ns)
        s->trace_origin_ns = observation->start_ns;
    char *events = trace_events(&s->setup->result, arm, observation, s->trace_origin_ns);
    if (!events)
        return err_set(err, -ENOMEM, "no memory for the trace of an arm");
    if (trace_file_append(&s->trace, events, strlen(events), &why)) {
        log_warn("%s; the trace ends here", why.msg);
        (void)trace_file_close(&s->trace, NULL);
        s->trace.path = s->options.trace; /* so that open_trace does not open it again */
    }
    free(events);
    return 0;
}

static int open_trace(struct session *s, struct err *err)
{
    s->setup->config.traced = s->options.trace != NULL;
    if (!s->options.trace || s->trace.path)
        return 0;
    return trace_file_open(&s->trace, s->options.trace, err);
}

/* Whether the round gets a verdict, which costs as much as all rounds so far: the more of them, the
 * rarer. A search needs it in each round. */
static bool is_judged(const struct session *s, unsigned round)
{
    const struct result *result = &s->setup->result;
    const unsigned n = round + 1;
    /* Rounds that end when the result is clear go on for at most a sixteenth longer. */
    unsigned often = result->until_clear || result->rounds_s > 0 ? 16 : 1, step = 1;
    if (purpose_decides(result->purpose) || s->builds.setup ||
        (often > 1 && n == result->rounds_planned))
        return true;
    while (2 * step * often <= n)
        step *= 2;
    return n % step == 0;
}

/* Prepares the next round, after a round was written. `verdict` NULL: it has none. */
static int prepare_next_round(struct session *s, const struct verdict *verdict, struct err *err)
{
    int rc = open_outputs(s, err);
    if (rc || !verdict)
        return rc;
    if (s->task && s->task->after_round)
        rc = s->task->after_round(s->task->arrange.arg, verdict, &s->setup->result, err);
    else if (s->setup->result.until_clear)
        clear_next(&verdict->analysis, &s->setup->result);
    return rc;
}

/* A round that cannot be written counts as not done: the files are the result. */
static int on_round(void *arg, unsigned round, struct err *err)
{
    struct session *s = arg;
    struct err why = {0};
    int rc = 0;
    note_nccl(&s->setup->result, &s->environment);
    if (job_is_first(&s->job)) {
        struct verdict verdict = {0};
        const bool judged = is_judged(s, round);
        if (judged)
            rc = make_verdict(s, &verdict, &why);
        const struct run_record record = make_record(s, "interrupted", 0, judged ? &verdict : NULL);
        if (!rc)
            rc = run_dir_round(&s->run_dir, &record, round, &why);
        if (!rc)
            rc = prepare_next_round(s, record.verdict, err);
        else {
            run_drop_round(&s->setup->result, round);
            (void)err_set(err, rc, "round %u is not in the results: %.200s", round + 1, why.msg);
        }
        verdict_free(&verdict);
    }
    if (!rc && !on_terminal(s, STDERR_FILENO))
        report_round(s, round);
    return job_run_round(&s->job, rc, err);
}

/* True if it failed as a whole, or some values of its scan failed. */
static bool has_failed(const struct observation *of)
{
    for (unsigned i = 0; i < of->nworkers; i++)
        for (size_t k = 0; k < of->workers[i].nreasons; k++)
            if (of->workers[i].reasons[k].code && of->workers[i].reasons[k].code != -ENOTSUP)
                return true;
    return of->status >= STATUS_FAILED;
}

/* Exit code of a completed run: EXIT_NOT_RUN if an arm failed. An unsupported arm is no failure,
 * but a run with no other arms is (judge). */
static int judge_failures(const struct result *result)
{
    for (size_t i = 0; i < result_measured(result); i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (has_failed(&result->arms[i].observations[o]))
                return EXIT_NOT_RUN;
    return EXIT_GOOD;
}

static int judge(const struct result *result)
{
    return run_measured_anything(result) ? judge_failures(result) : EXIT_NOT_RUN;
}

static void prepare_builds(struct session *s)
{
    if (!s->setup->result.variants || !variants_any_build(s->setup->result.variants))
        return;
    s->builds = (struct builds){.benches = s->env->benches,
                                .options = &s->options,
                                .cli = &s->cli,
                                .setup = s->setup,
                                .dir = s->run_dir.dir.path};
    s->setup->config.observe = builds_observe;
    s->setup->config.observe_arg = &s->builds;
}

static struct run_hooks make_hooks(struct session *s)
{
    bool bar = on_terminal(s, STDERR_FILENO);
    s->setup->config.on_wait = bar ? on_wait : NULL;
    return (struct run_hooks){.on_arm = bar ? on_arm : NULL,
                              .after_arm = s->task && s->task->after_arm ? after_arm : NULL,
                              .on_observation = s->options.trace ? on_observation : NULL,
                              .on_round = on_round,
                              .arg = s};
}

/* Logs which rounds of an unfinished run are in the files. */
static void report_what_is_there(const struct session *s, bool interrupted)
{
    char rounds[64] = "no round was done: the earlier run in";
    if (!s->run_dir.dir.holds_earlier)
        (void)snprintf(rounds, sizeof(rounds), "%u of %u rounds are in",
                       s->setup->result.rounds_done, s->setup->result.rounds_planned);
    log_info("%s%s %s%s", interrupted ? "interrupted; " : "", rounds, s->run_dir.dir.path,
             s->run_dir.dir.holds_earlier ? " stays as it was" : "");
}

/* Draws figures, unless interrupted, and prints the summary of a run with complete files. Returns
 * the exit code. */
static int show(struct session *s, const struct verdict *verdict, int code)
{
    struct err err = {0};
    int drawn = 0;
    const struct result *result = &s->setup->result;
    bool has_figures = !s->task || !s->task->no_figures;
    if (!job_is_lost(&s->job) && result->rounds_done && has_figures && code != EXIT_INTERRUPTED)
        drawn = figures_draw(&verdict->analysis, s->host, !s->options.no_plots, s->run_dir.dir.fd,
                             &s->signals, &err);
    if (drawn == -EINTR)
        log_info("interrupted while figures were drawn; 'contend report %s' draws them",
                 s->run_dir.dir.path);
    else if (drawn)
        log_warn("no plots: %s", err.msg);
    bool color = on_terminal(s, STDOUT_FILENO) && terminal_has_color(STDOUT_FILENO);
    if (session_print_summary(s, verdict, color, &err)) {
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

/* Records the outcome of one scenario of a list. */
static void note_outcome(const struct session *s, const struct verdict *verdict)
{
    const struct result *result = &s->setup->result;
    s->outcome->rounds = result->rounds_done;
    s->outcome->rounds_planned = result->rounds_planned;
    collected_judge(s->outcome, &verdict->findings);
    s->outcome->has_page = !faccessat(s->run_dir.dir.fd, PAGE_NAME, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Reports that nothing was measured. In a list, a scenario that cannot run here is skipped. */
static void report_nothing(const struct session *s, const struct verdict *verdict)
{
    const struct rows *rows = &verdict->analysis.rows;
    size_t first = 0;
    while (first + 1 < rows->n && rows->row[first].status < STATUS_FAILED)
        first++;
    const char *reason = rows->row[rows->row[first].status < STATUS_FAILED ? 0 : first].reason;
    bool skipped = s->outcome && judge_failures(&s->setup->result) == EXIT_GOOD;
    if (s->outcome)
        (void)snprintf(s->outcome->sentence, sizeof(s->outcome->sentence), "%s", reason);
    if (skipped) {
        s->outcome->end = COLLECTED_SKIPPED;
        log_info("skipped: %s", reason);
    } else
        log_error("nothing was measured: %s", reason);
}

/* Everything after the rounds, for any end of them. Returns the exit code. */
static int conclude(struct session *s, int rc, const struct err *measured)
{
    struct err err = {0};
    struct verdict verdict;
    const struct result *result = &s->setup->result;
    /* A rank that does not answer a launcher's signal in time may be lost, or only slow. */
    bool interrupted = rc == -EINTR || (rc && s->job.end == JOB_LOST && s->signals.interrupted);
    int code = interrupted ? EXIT_INTERRUPTED : rc ? EXIT_NOT_RUN : judge(result);
    if (rc && rc != -EINTR)
        log_error("%s", measured->msg);
    if (!job_is_first(&s->job))
        return code;
    int unwritten = make_verdict(s, &verdict, &err);
    if (unwritten)
        log_error("%s", err.msg);
    else
        unwritten = write_end(s, code, &verdict);
    if (rc || unwritten)
        report_what_is_there(s, interrupted);
    if (unwritten || s->run_dir.dir.holds_earlier || !result->rounds_done)
        code = code ? code : EXIT_NOT_RUN;
    else
        code = show(s, &verdict, code);
    const struct finding *busy = busy_among(&verdict.findings);
    if (busy && s->options.json) /* the table begins with this sentence, JSON lacks it */
        log_warn("%s", busy->sentence);
    if (!code && s->options.strict && busy)
        code = EXIT_INCONCLUSIVE;
    if (!code && s->task && s->task->exit_code)
        code = s->task->exit_code(s->task->arrange.arg, &verdict);
    if (s->outcome)
        note_outcome(s, &verdict);
    if (!rc && !unwritten && !run_measured_anything(result) && verdict.analysis.rows.n)
        report_nothing(s, &verdict);
    verdict_free(&verdict);
    return code;
}

/* Logs warnings about the machine, once per session. */
static void warn(struct session *s)
{
    if (s->quota_note[0] && !s->warned)
        log_warn("%s", s->quota_note);
    for (size_t i = 0; i < s->openmp.n && !s->warned; i++)
        log_warn("%s", s->openmp.text[i]);
    s->warned = true;
    struct findings gpus = {0};
    if (!s->gpus_warned)
        gpus_find(&s->topo, &s->setup->result, &gpus);
    if (gpus.failed)
        log_warn("no memory to tell what is wrong with the GPUs");
    for (size_t i = 0; i < gpus.n; i++)
        log_warn("%s: %s", gpus.all[i].subject, gpus.all[i].sentence);
    s->gpus_warned = s->gpus_warned || gpus.n;
    findings_free(&gpus);
}

/* Logs why a scenario does not begin. */
static void report_error(const struct session *s, const struct err *err)
{
    log_error("%s", err->msg);
    if (s->outcome)
        (void)snprintf(s->outcome->sentence, sizeof(s->outcome->sentence), "%s", err->msg);
}

/* Plans the run before anything is written. */
static int plan(struct session *s, const struct scenario *scenario, struct err *err)
{
    struct run_setup *setup = s->setup;
    int rc = run_setup_make(s->env->benches, scenario, &s->options, &s->cli, &s->topo, setup, err);
    setup->result.program = s->program;
    if (!rc && variants_any_build(&setup->variants))
        rc = builds_check(setup, err);
    if (!rc && s->options.trace && s->job_env.launcher)
        rc = err_set(err, -EINVAL, "--trace works on one machine: start it without mpirun or srun");
    return job_run_join(&s->job, &s->topo, rc, setup, err);
}

static int open_directory(struct session *s, const char *subdirectory, struct err *err)
{
    const struct run_record record = make_record(s, "interrupted", 0, NULL);
    const struct run_dir_request request = {.out = s->options.out,
                                            .host = s->host,
                                            .scenario = s->setup->scenario->name,
                                            .subdirectory = subdirectory,
                                            .force = s->options.force,
                                            .remove_figures = page_remove_drawn};
    return run_dir_open(&s->run_dir, &request, &record, err);
}

static int open_files(struct session *s, const char *subdirectory, struct err *err)
{
    s->started = time(NULL);
    int rc = job_is_first(&s->job) ? open_directory(s, subdirectory, err) : 0;
    if (!rc)
        rc = open_outputs(s, err);
    if (!rc)
        rc = open_trace(s, err);
    if (!rc && s->options.junit)
        rc = directory_check_file(s->options.junit, err);
    return job_agree(&s->job, rc, err);
}

/* A dry run checks whether the results could be written. */
static int check_out(const struct session *s, const char *subdirectory, struct err *err)
{
    if (!s->options.out)
        return 0;
    const char *path = str_fmt("%s%s%s", s->options.out, subdirectory ? "/" : "",
                               subdirectory ? subdirectory : "");
    return directory_check(path, err);
}

/* A scenario that cannot run here makes no directory. In a list it gets one: its page says that it
 * was skipped. */
static int begin(struct session *s, const char *subdirectory, struct err *err)
{
    char reason[RUN_DRY_REASON];
    if (!s->outcome && run_dry_is_nothing(s->setup, &s->options, reason))
        return err_set(err, -ENODATA, "nothing of '%s' can run here: %s", s->setup->scenario->name,
                       reason);
    return open_files(s, subdirectory, err);
}

/* Seconds since the last call, or since the session was opened. */
static double phase_time_s(struct session *s)
{
    const uint64_t before_ns = s->begin_ns;
    s->begin_ns = clock_now_ns();
    return (double)(s->begin_ns - before_ns) * 1e-9;
}

int session_run_scenario(struct session *s, const struct scenario *scenario,
                         const char *subdirectory)
{
    struct err err = {0};
    struct run_setup setup = {0};
    int code;
    s->setup = &setup;
    int rc = plan(s, scenario, &err);
    bool is_dry = !rc && s->options.dry_run;
    if (is_dry)
        rc = check_out(s, subdirectory, &err);
    else if (!rc)
        rc = begin(s, subdirectory, &err);
    if (rc) {
        report_error(s, &err);
        /* A missing feature of the machine or a file size limit is not the user's error. */
        code = rc == -EFBIG || rc == -ENODATA ? EXIT_NOT_RUN : session_not_started(s, rc);
    } else if (is_dry) {
        code = run_dry_print(&setup, &s->options);
        s->expected_s += setup.expected_s;
    } else {
        warn(s);
        prepare_builds(s);
        const struct run_hooks hooks = make_hooks(s);
        s->planned_s = phase_time_s(s);
        rc = run_rounds(&setup.config, &hooks, &s->signals, &setup.result, &err);
        s->measured_s = phase_time_s(s);
        progress_end();
        signals_allow_stop(!s->job.mpi); /* no workers run now, so Ctrl-Z may act by default */
        code = conclude(s, rc, &err);
        s->shown_s = phase_time_s(s);
        if (s->options.verbose && !s->options.json && !s->options.markdown)
            session_print_times(s, stderr);
        signals_allow_stop(false);
    }
    builds_free(&s->builds);
    run_dir_close(&s->run_dir);
    run_setup_free(&setup);
    s->setup = NULL;
    return code;
}
