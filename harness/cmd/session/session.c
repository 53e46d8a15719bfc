#include "harness/cmd/session/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/common/start.h"
#include "harness/cmd/session/run_options.h"
#include "harness/engine/arms.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/machine/gpu_health.h"
#include "harness/record/json_value.h"
#include "harness/show/doc.h"
#include "harness/show/result.h"
#include "harness/verdict/odd.h"

/* True if an option is set that only a user's command uses: without one it would be ignored. */
static bool has_command_options(const struct run_options *options)
{
    const struct command_options *command = &options->command;
    return options->sample || command->metric.n || command->metric_file || command->unit ||
           command->line || command->by_lines || command->less_is_better || command->slo ||
           command->load || command->ready || command->load_cores || command->keep ||
           command->duration_s > 0;
}

/* Parses the line; -b, -e and -f become parameters. */
static int parse(struct session *s, struct err *err)
{
    int argc = s->options_argc ? s->options_argc : s->argc;
    int rc = cli_parse(s->opts, true, argc, s->argv, &s->options, &s->cli, err);
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
    if (!rc && s->options.jobs.n && has_command_options(&s->options))
        return err_set(err, -EINVAL,
                       "options such as --metric belong to a job: --job NAME='--metric ... -- "
                       "COMMAND'");
    bool no_command = argc == s->argc && !(s->options_argc && s->options.sample);
    if (!rc && no_command && has_command_options(&s->options))
        return err_set(err, -EINVAL,
                       "no command after '--': options such as --metric and --duration need one");
    return rc;
}

int session_options_argc(int argc, char **argv)
{
    int n = 1;
    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    return n < argc ? n : argc;
}

bool session_parse(struct session *s)
{
    struct err err = {0};
    job_env_read(getenv, &s->job_env);
    job_run_mute_other_ranks(&s->job_env);
    int rc = parse(s, &err);
    if (rc)
        log_error("%s", err.msg);
    return !rc;
}

int session_help(const struct session *s, const struct command *command)
{
    const struct scenario *scenarios[CLI_LIST_MAX];
    if (!s->cli.npositional) {
        help_print_command(s->env, command, s->cli.help_all);
        return cmd_finish();
    }
    int n = named_scenarios(s->env, &s->cli, scenarios);
    for (int i = 0; i < n; i++)
        help_print_scenario(s->env, command, scenarios[i]);
    return n < 0 ? EXIT_USAGE : cmd_finish();
}

bool session_takes_one(const struct session *s, int n)
{
    if (s->job_env.launcher)
        log_error("it runs on one machine: start it without mpirun or srun");
    else if (n > 1)
        log_error("one scenario at a time: unexpected argument '%.80s'", s->cli.positional[1]);
    else
        return true;
    return false;
}

bool session_takes_task(const struct session *s, const struct scenario *const *scenarios, int n)
{
    if (!session_takes_one(s, n))
        return false;
    bool is_task = named_is_task(s->env, scenarios[0]);
    if (!is_task)
        log_error("'%s' has no throughput that a placement could change: try pipeline",
                  scenarios[0]->name);
    return is_task;
}

/* A rank that was lost is not a usage error. */
int session_not_started(const struct session *s, int rc)
{
    if (s->signals.interrupted)
        return EXIT_INTERRUPTED;
    return s->job_env.launcher && rc == -EIO ? EXIT_NOT_RUN : EXIT_USAGE;
}

/* Variants of a command keep the user's threads, unless the user chose a placement or threads. */
static enum openmp_use find_openmp_use(const struct run_options *options)
{
    if (!options->ncommands)
        return OPENMP_FOR_NONE;
    return options->variants.n && !options->placements && !options->plan.threads
               ? OPENMP_FOR_ALL
               : OPENMP_FOR_DEFAULT;
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
    if (s->topo.is_this_machine && cgroup_format_quota(&s->environment.cgroup, bitset_count(&cpus),
                                                       s->quota_note, sizeof(s->quota_note))) {
        s->notes[n++] = s->quota_note;
    }
    if (s->options.device != DEVICE_SIM && !topo_visible_gpus(&s->topo) &&
        *other_gpus_format(&s->topo.other_gpus, s->gpus_note, sizeof(s->gpus_note))) {
        s->notes[n++] = s->gpus_note;
        log_info("%s", s->gpus_note);
    }
    openmp_report(getenv, bitset_count(&cpus), find_openmp_use(&s->options), &s->openmp);
    for (size_t i = 0; i < s->openmp.n; i++)
        s->notes[n++] = s->openmp.text[i];
    if (s->job.mpi) {
        s->notes[n++] = job_run_describe(&s->job, s->job_note, sizeof(s->job_note));
        s->notes[n] = s->job.cpus_note[0] ? s->job.cpus_note : NULL;
    }
}

/* Prepares what all scenarios share. 0, or the exit code. */
static int session_open(struct session *s)
{
    struct err err = {0};
    s->begin_ns = clock_now_ns();
    (void)program_name(s->argv[-1], s->program, sizeof(s->program));
    /* Before the GPU driver starts threads: SIGINT in a thread that does not block it kills us. */
    if (signals_open(&s->signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    int rc = job_run_open(&s->job, &s->job_env, &s->signals, s->argc, s->argv, &s->options, &err);
    if (rc) {
        log_error("%s", err.msg);
        return session_not_started(s, rc);
    }
    s->options.topo.probe_gpus = s->options.device != DEVICE_SIM;
    rc = job_agree(&s->job, topo_load(&s->options.topo, &s->topo, &err), &err);
    if (rc) {
        log_error("%s", err.msg);
        return session_not_started(s, rc);
    }
    gather_environment(s);
    return EXIT_GOOD;
}

static void session_close(struct session *s)
{
    struct err err = {0};
    if (trace_file_close(&s->trace, &err))
        log_error("%s", err.msg);
    env_free(&s->environment);
    topo_free(&s->topo);
    signals_close(&s->signals);
}

/* Counts the worker launches in a round of each scenario; 0 for one that cannot be planned. */
static int count_launches(struct session *s, const struct scenario *const *scenarios, int n,
                          size_t *launches)
{
    struct run_setup *setup = calloc(1, sizeof(*setup));
    if (!setup) {
        log_error("no memory to plan %d scenarios", n);
        return EXIT_NOT_RUN;
    }
    log_set_quiet(true); /* each scenario logs the same when it runs */
    for (int i = 0; i < n; i++) {
        struct err ignored = {0};
        *setup = (struct run_setup){0};
        if (!run_setup_make(s->env->benches, scenarios[i], &s->options, &s->cli, &s->topo, setup,
                            &ignored))
            for (size_t a = 0; a < result_measured(&setup->result); a++)
                launches[i] += arm_runs(&setup->result.arms[a]);
        run_setup_free(setup);
    }
    log_set_quiet(false);
    free(setup);
    return EXIT_GOOD;
}

static double sum(const size_t *launches, int from, int to)
{
    size_t all = 0;
    for (int i = from; i < to; i++)
        all += launches[i];
    return (double)all;
}

/* Time for scenario i of n: its share of the remaining time, by launches. Never 0 (= no limit). */
static double share_of(const struct session *s, uint64_t start_ns, const size_t *launches, int i,
                       int n)
{
    double spent_s = s->options.dry_run ? s->options.max_time_s * sum(launches, 0, i) /
                                              fmax(sum(launches, 0, n), 1)
                                        : (double)(clock_now_ns() - start_ns) * 1e-9;
    double share = (double)launches[i] / fmax(sum(launches, i, n), 1);
    return fmax((s->options.max_time_s - spent_s) * share, 1e-3);
}

/* Counts launches if the scenarios share a time limit; else *launches is NULL. */
static int divide_time(struct session *s, const struct scenario *const *scenarios, int n,
                       size_t **launches)
{
    *launches = NULL;
    if (s->options.max_time_s <= 0 ||
        (s->opts != run_option_table && s->opts != bench_option_table))
        return EXIT_GOOD;
    *launches = calloc((size_t)n + 1, sizeof(**launches));
    return *launches ? count_launches(s, scenarios, n, *launches) : EXIT_NOT_RUN;
}

static void begin_scenario(struct session *s, const char *name, int i, int n)
{
    if (!s->list)
        return;
    s->outcome = &s->outcomes[i];
    if (!s->options.dry_run)
        log_info("scenario %d of %d: %s", i + 1, n, name);
}

static int end_scenario(const struct session *s, int i, uint64_t start_ns, int code)
{
    if (!s->list)
        return code;
    s->outcome->took_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    return s->list->note(s->list->arg, i, code);
}

int session_run(struct session *s, const struct scenario *const *scenarios, int n)
{
    size_t *launches = NULL;
    int code = session_open(s);
    if (!code && s->list)
        code = s->list->begin(s->list->arg);
    if (!code)
        code = divide_time(s, scenarios, n, &launches);
    bool goes_on = !code, has_subdirectories = (n > 1 || s->list) && s->options.out;
    const uint64_t start_ns = clock_now_ns();
    for (int i = 0; i < n && goes_on; i++) {
        const char *name = scenarios[i]->name;
        const uint64_t begin_ns = clock_now_ns();
        if (launches)
            s->options.budget_s = share_of(s, start_ns, launches, i, n);
        begin_scenario(s, name, i, n);
        int one = session_run_scenario(s, scenarios[i], has_subdirectories ? name : NULL);
        one = end_scenario(s, i, begin_ns, one);
        code = cmd_worse(one, code);
        goes_on =
            one != EXIT_INTERRUPTED && !job_is_lost(&s->job) && (one != EXIT_USAGE || s->list);
    }
    free(launches);
    if (s->expected_s > 0 && s->options.dry_run && !s->options.json && n > 1 &&
        job_is_first(&s->job))
        (void)printf("\nexpected time of all %d scenarios: %.0f s\n", n, s->expected_s);
    code = job_close(&s->job, code);
    session_close(s);
    return code;
}

/* Prints a run that has ended: a table, or JSON for scripts. */

int session_print_summary(struct session *s, const struct verdict *verdict, bool color,
                          struct err *err)
{
    struct recorded recorded;
    char *text = NULL;
    size_t size = 0;
    recorded_of_run(s->run_dir.written, verdict, &recorded);
    int rc = summary_format(&recorded, &text, &size, err);
    if (!rc)
        rc = directory_add(&s->run_dir.dir, DIRECTORY_SUMMARY, text, size, err);
    if (!rc && !s->options.no_plots)
        page_write_own(s->run_dir.dir.path, s->run_dir.dir.fd, &recorded);
    if (!rc && s->options.junit)
        rc = compared_write_junit(&recorded.comparisons, "ab", s->options.junit, err);
    if (!rc && s->options.json && s->list)
        s->rows = summary_to_json(&recorded);
    else if (!rc && s->options.json)
        rc = json_value_print(summary_to_json(&recorded), 1, err);
    else if (!rc && s->options.markdown)
        result_print_markdown(&recorded, s->run_dir.dir.path, stdout);
    else if (!rc) {
        summary_print(&recorded, s->run_dir.dir.path, s->options.verbose, stdout, color);
    }
    free(text);
    recorded_free(&recorded);
    return rc;
}

/* Table of a run's time by arm and phase, for --verbose. */

/* Adds one row for arms first..end-1. Returns their time in seconds. */
static double add_row(const char *name, const struct result *result, size_t first, size_t end,
                      struct doc_table *table)
{
    double phase_s[PHASES] = {0}, all_s = 0;
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++, n++)
            for (int p = 0; p < PHASES; p++) {
                phase_s[p] += result->arms[i].observations[o].phase_s[p];
                all_s += result->arms[i].observations[o].phase_s[p];
            }
    if (!n)
        return 0;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    doc_cell(table, "%zu", n);
    for (int p = 0; p < PHASES; p++)
        doc_cell(table, "%.1f", phase_s[p]);
    doc_cell(table, "%.1f", all_s);
    return all_s;
}

static void add_rest(const char *name, double seconds, struct doc_table *table)
{
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", name);
    if (table)
        table->at = 2 + PHASES;
    doc_cell(table, "%.1f", seconds);
}

void session_print_times(const struct session *s, FILE *out)
{
    const struct result *result = &s->setup->result;
    struct doc doc = {0};
    double rounds_s = 0;
    const char *name;
    doc_heading(&doc, "where the time went");
    struct doc_table *table = doc_table(&doc);
    doc_column(table, DOC_LABEL, "seconds");
    doc_column(table, DOC_NUMBER, "starts");
    for (int p = 0; p < PHASES; p++)
        doc_column(table, DOC_NUMBER, "%s", phase_name((enum phase)p));
    doc_column(table, DOC_NUMBER, "all");
    for (size_t i = 0; i < result->narms; i++) {
        name = statuses_name_arm(result, &result->arms[i]);
        rounds_s += add_row(result->arms[i].is_control ? result->arms[i].bench->name : name, result,
                            i, i + 1, table);
    }
    (void)add_row("all", result, 0, result->narms, table);
    add_rest("planning", s->planned_s, table);
    add_rest("between rounds", s->measured_s - rounds_s, table);
    add_rest("figures and files", s->shown_s, table);
    doc_print(&doc, out, terminal_has_color(fileno(out)), true);
    doc_free(&doc);
}
