#include "harness/cmd/session/run_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/engine/arms.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "harness/verdict/odd.h"

static const char *const profile_names[] = {"quick", "standard", "full", NULL};
static const char *const bind_names[] = {"mask", "cgroup", NULL};
/* By enum device. */
static const char *const device_names[] = {"auto",
#define DEVICE_NAME(id, name, ...) name,
                                           DEVICES_FED(DEVICE_NAME)
#undef DEVICE_NAME
                                               NULL};

/* Options that `run`, `bench`, `ab` and `tune` share, in the order of their tables. */
/* clang-format off */
#define WORKER_OPTIONS \
    OPT_TEXT("workers", run_options, workers, "auto", "N[,N..M]", \
             "Worker counts: 2, 1,2,4 or 1..4; auto is one a GPU, at least 2", .letter = 'n')
#define DEVICE_OPTION \
    OPT_CHOICE("device", run_options, device, "auto", device_names, "D", \
               "What workers feed")
#define BACKGROUND_OPTIONS \
    OPT_TEXT("background", run_options, background, NULL, "BENCH", \
             "Benchmark that makes load beside the measured workers", .level = OPT_RARE), \
    OPT_INT("background-workers", run_options, background_workers, NULL, 1, RUN_WORKERS_MAX, "N", \
            "How many of them (default 1 with --background)", .level = OPT_RARE), \
    OPT_TEXT("dose", run_options, dose, NULL, "KIND=LEVEL", \
             "Hold contention at a level: cpu=20% of the workers' CPUs, throttle=10% of their " \
             "time (quota), bandwidth=0.8 or latency=1.5 of memory, cache=0.5, h2d=0.7 of the GPUs' " \
             "links, relative to none; " \
             "'run' also takes a list, cpu=5,20%", .level = OPT_RARE)
#define TIME_OPTIONS \
    OPT_SECONDS("time", run_options, time_s, NULL, 0.01, 86400, "T", \
                "Measured time of a configuration (default: the profile's)", .level = OPT_RARE), \
    OPT_SECONDS("warmup", run_options, warmup_s, NULL, 0, 86400, "T", \
                "Warm-up: time of steps that do not count, at least one step; first alone, then " \
                "beside the others", .level = OPT_RARE), \
    OPT_SECONDS("limit", run_options, limit_s, NULL, 0.1, 86400, "T", \
                "Cut off a step that takes longer, and report it as 'more than'", .level = OPT_RARE), \
    OPT_SECONDS("setup-limit", run_options, setup_limit_s, "60", 0.1, 86400, "T", \
                "End a worker as hung after so long without progress outside of steps", \
                .level = OPT_RARE), \
    OPT_INT("seed", run_options, seed, NULL, 1, 9e15, "N", \
            "Seed of the order of configurations and of the data (default: drawn, and recorded)", \
            .level = OPT_RARE)
#define SIZE_OPTIONS \
    OPT_TEXT("begin", run_options, begin, NULL, "SIZE", \
             "First size of a benchmark that goes over sizes; short for -p begin=SIZE", \
             .letter = 'b', .level = OPT_RARE, .group = "Parameters"), \
    OPT_TEXT("end", run_options, end, NULL, "SIZE", "Last size; short for -p end=SIZE", \
             .letter = 'e', .level = OPT_RARE), \
    OPT_TEXT("factor", run_options, factor, NULL, "N", \
             "Each size is N times the one before; short for -p factor=N", .letter = 'f', \
             .level = OPT_RARE)
#define PRIORITY_OPTIONS(prefix, role, whom) \
    OPT_INT(prefix "nice", run_options, priority[role].nice, NULL, -20, 19, "N", \
            "Nice level of each " whom, .level = OPT_RARE), \
    OPT_INT(prefix "weight", run_options, priority[role].weight, NULL, 1, 10000, "W", \
            "Weight of each " whom " in a cgroup of its own, as cpu.weight (100 is usual)", \
            .level = OPT_RARE), \
    OPT_CHOICE(prefix "sched", run_options, priority[role].policy, "default", cpu_policy_names, \
               "POLICY", "Policy of each " whom ": SCHED_BATCH, SCHED_IDLE, or as it is", \
               .level = OPT_RARE)
#define BIND_OPTIONS \
    OPT_CHOICE("bind", run_options, bind, "mask", bind_names, "BY", \
               "How workers are bound to CPUs: by affinity mask, or by a cpuset of cgroup v2", \
               .level = OPT_RARE), \
    OPT_DOUBLE("cpu-max", run_options, cpu_max, NULL, 0.01, 8192, "CPUS", \
               "CPU quota of each worker, in CPUs, such as 0.5", .level = OPT_RARE), \
    PRIORITY_OPTIONS("", 0, "worker"), \
    PRIORITY_OPTIONS("background-", 1, "background worker"), \
    PLAN_GPUS_OPTION(run_options, topo.fake_gpus)
#define OUT_OPTIONS \
    OPT_TEXT("out", run_options, out, NULL, "DIR", \
             "Directory of the results; an earlier run of the same command there is replaced when " \
             "the first round is done (default results/<host>/<utc>-<scenario>)", \
             .letter = 'o', .group = "Results"), \
    OPT_FLAG("force", run_options, force, NULL, \
             "Replace an earlier run of another command, too", .level = OPT_RARE), \
    OPT_TEXT("host", run_options, host, NULL, "NAME", \
             "Name of this machine in results and plots (default: its host name)", \
             .level = OPT_RARE)
#define VERBOSE_OPTION \
    OPT_FLAG("verbose", run_options, verbose, NULL, CMD_VERBOSE_HELP, .letter = 'v')
#define DRY_OPTION \
    OPT_FLAG("dry-run", run_options, dry_run, NULL, \
             "Print the plan and the expected time; start nothing")
#define NO_CONTROL_OPTION(text) \
    OPT_FLAG("no-canary", run_options, no_control, NULL, text, .level = OPT_RARE)
#define NO_PLOTS_OPTION \
    OPT_FLAG("no-plots", run_options, no_plots, NULL, "Draw nothing, and write no report.html", \
             .level = OPT_RARE)
#define JOB_OPTION \
    OPT_TEXTS("job", run_options, jobs, "NAME='[OPTIONS] -- COMMAND'", \
              "In place of a command: jobs that run at once, each with options of its own as " \
              "above, with copies (-n) and a share of the cores (--share)", \
              .level = OPT_RARE)
#define BEFORE_COMMAND_OPTIONS \
    OPT_TEXT("placement", run_options, placements, NULL, "P[,P..]", \
             "Placements to compare, such as none,partition; 'contend info' explains them " \
             "(default: the scenario's)", \
             .letter = 'P', .group = "What is compared"), \
    WORKER_OPTIONS, \
    DEVICE_OPTION, \
    BACKGROUND_OPTIONS, \
    OPT_CHOICE("profile", run_options, profile, "quick", profile_names, "P", \
               "How long and how often to measure", .group = "How long"), \
    OPT_SECONDS("max-time", run_options, max_time_s, NULL, 1, 864000, "T", \
                "Time budget, such as 90s or 1h: sets number and length of rounds; shared by all " \
                "scenarios (default: the profile's, of 'all' in quick 5m30s)"), \
    OPT_INT("rounds", run_options, rounds, NULL, 1, 1000, "N", \
            "Exactly so many rounds (default: until it is clear; of scans 3, 5 or 11 by profile)", \
            .level = OPT_RARE), \
    TIME_OPTIONS
#define AFTER_COMMAND_OPTIONS \
    PLAN_OPTIONS(run_options, plan), \
    BIND_OPTIONS, \
    OUT_OPTIONS, \
    VERBOSE_OPTION, \
    OPT_FLAG("json", run_options, json, NULL, "Print the rows as JSON instead of the table"), \
    DRY_OPTION, \
    OPT_TEXT("trace", run_options, trace, NULL, "FILE", \
             "Write steps, stages and CPUs of the first round as a trace for ui.perfetto.dev or " \
             "chrome://tracing", \
             .level = OPT_RARE), \
    OPT_FLAG("no-baselines", run_options, no_baselines, NULL, \
             "Skip solo runs; then no efficiency and no split of the loss", .level = OPT_RARE), \
    NO_CONTROL_OPTION("Skip the control that measures the machine itself in each round"), \
    NO_PLOTS_OPTION, \
    OPT_FLAG("strict", run_options, strict, NULL, \
             "Exit with 4 if the machine was busy with other programs", .level = OPT_RARE), \
    SIZE_OPTIONS
/* clang-format on */

const struct opt run_option_table[] = {
    BEFORE_COMMAND_OPTIONS,
    COMMAND_OPTIONS(run_options, command),
    JOB_OPTION,
    OPT_TEXT("protect", run_options, protect, NULL, "'METRIC PERCENT'",
             "With --job: recommend what keeps this metric so near to that of its job alone, as "
             "in 'server_p99 10%'",
             .level = OPT_RARE),
    OPT_FLAG("sample", run_options, sample, NULL,
             "Run the sample worker that contend brings (a Python script) as the command",
             .level = OPT_RARE),
    AFTER_COMMAND_OPTIONS,
    {.name = NULL},
};

const struct opt bench_option_table[] = {
    BEFORE_COMMAND_OPTIONS, AFTER_COMMAND_OPTIONS, {.name = NULL}};

const struct opt ab_option_table[] = {
    OPT_TEXTS(
        "variant", run_options, variants, "NAME[=KIND:VALUE]",
        "A variant, the base first; repeat its name for further changes. Kinds: env:VAR=VALUE, "
        "unset:VAR, param:K=V, placement:P, threads:N, cpu-max:CPUS, nice:N, weight:W, "
        "sched:batch|idle and these of the background, such as background-nice:N, lib:nccl=PATH; "
        "before:COMMAND, "
        "after:COMMAND (undoes "
        "it) and "
        "check:COMMAND (shows it) around each observation; build:PATH, another contend",
        .letter = 'V', .group = "What is compared"),
    OPT_DOUBLE("threshold", run_options, threshold, "2", 0.01, 50, "PERCENT",
               "Call a change that is smaller SAME"),
    OPT_TEXT("fail-on", run_options, fail_on, "none", "WHAT[,WHAT..]",
             "Exit with 1 if a gating metric has this verdict: slower, unclear, missing or none",
             .choices = compared_fail_on),
    WORKER_OPTIONS,
    OPT_TEXT("placement", run_options, placements, NULL, "P[,P..]",
             "Placements of the variants; default partition, else the scenario's first",
             .letter = 'P'),
    DEVICE_OPTION,
    BACKGROUND_OPTIONS,
    OPT_SECONDS("max-time", run_options, max_time_s, "3m", 1, 864000, "T",
                "Add rounds until every gating metric is clear, or for so long",
                .group = "How long"),
    OPT_INT("rounds", run_options, rounds, NULL, 1, 100000, "N", "Exactly so many rounds instead",
            .level = OPT_RARE),
    TIME_OPTIONS,
    COMMAND_OPTIONS(run_options, command),
    JOB_OPTION,
    PLAN_OPTIONS(run_options, plan),
    BIND_OPTIONS,
    OUT_OPTIONS,
    VERBOSE_OPTION,
    OPT_FLAG("json", run_options, json, NULL, "Print the comparisons as JSON instead of the table"),
    OPT_FLAG("markdown", run_options, markdown, NULL, "Print them as Markdown, for a pull request",
             .level = OPT_RARE),
    OPT_TEXT("junit", run_options, junit, NULL, "FILE", "Also write them as JUnit XML",
             .level = OPT_RARE),
    DRY_OPTION,
    SIZE_OPTIONS,
    {.name = NULL},
};

const struct opt tune_option_table[] = {
    OPT_TEXT("placement", run_options, placements, NULL, "P[,P..]",
             "Placements to search (default: the scenario's); with --cores the first that binds "
             "(default partition)",
             .letter = 'P', .group = "What is searched"),
    OPT_TEXT("threads", run_options, try_threads, NULL, "T[,T..]",
             "Threads of each worker to try (default: the placement's, and half of that)"),
    OPT_TEXT("reserve", run_options, try_reserve, NULL, "K[,K..]",
             "Cores kept free to try (default: 0, 1 and, of 32 and more, a sixteenth)",
             .level = OPT_RARE),
    OPT_TEXT("wait", run_options, try_wait, NULL, "W[,W..]",
             "How threads wait, to try: auto, passive or both (default: both)", .level = OPT_RARE,
             .choices = plan_wait_choices),
    OPT_DOUBLE("within", run_options, threshold, "5", 0.1, 50, "PERCENT",
               "Prefer a simpler setting if it is so near to the best", .level = OPT_RARE),
    OPT_FLAG("cores", run_options, cores, NULL,
             "Measure how many cores a worker, and so a GPU, needs"),
    OPT_TEXT("core-counts", run_options, try_cores, NULL, "C[,C..]",
             "With --cores: counts to try (default: 1, 2, 3, 4, 6, 8, ... and all)",
             .level = OPT_RARE),
    WORKER_OPTIONS,
    DEVICE_OPTION,
    BACKGROUND_OPTIONS,
    OPT_SECONDS(
        "max-time", run_options, max_time_s, NULL, 1, 864000, "T",
        "Take so long at most, but make one measurement (default 3m, with --cores the profile's)",
        .group = "How long"),
    OPT_INT("rounds", run_options, rounds, NULL, 1, 1000, "N",
            "Exactly so many fresh rounds (with --cores rounds), whatever the time (default: as "
            "many as fit, up to 15)",
            .level = OPT_RARE),
    OPT_CHOICE("profile", run_options, profile, "quick", profile_names, "P",
               "With --cores: how long and how often to measure", .level = OPT_RARE),
    TIME_OPTIONS,
    COMMAND_OPTIONS(run_options, command),
    PLAN_CPUS_OPTION(run_options, plan),
    PLAN_MEM_OPTION(run_options, plan),
    BIND_OPTIONS,
    OUT_OPTIONS,
    VERBOSE_OPTION,
    OPT_FLAG("json", run_options, json, NULL, "Print settings and findings as JSON"),
    DRY_OPTION,
    NO_CONTROL_OPTION("With --cores: skip the control that measures the machine itself"),
    NO_PLOTS_OPTION,
    SIZE_OPTIONS,
    {.name = NULL},
};

const struct opt predict_option_table[] = {
    OPT_TEXT("workers", run_options, workers, "1..8", "N[,N..M]",
             "Numbers of workers to predict: 1,2,4 or 1..8", .letter = 'n',
             .group = "What is predicted"),
    OPT_TEXT("placement", run_options, placements, "none,sized,partition", "P[,P..]",
             "Placements to predict; the first that binds workers to cores of their own is the "
             "reference",
             .letter = 'P'),
    OPT_FLAG("verify", run_options, verify, NULL,
             "Then measure what was predicted, and print the errors"),
    DEVICE_OPTION,
    OPT_SECONDS("max-time", run_options, max_time_s, "90", 1, 864000, "T",
                "Take so long at most for the profile, but measure one round", .group = "How long"),
    OPT_INT("rounds", run_options, rounds, "3", 1, 1000, "N",
            "With --verify: rounds after the profile", .level = OPT_RARE),
    TIME_OPTIONS,
    COMMAND_OPTIONS(run_options, command),
    PLAN_OPTIONS(run_options, plan),
    BIND_OPTIONS,
    OUT_OPTIONS,
    VERBOSE_OPTION,
    OPT_FLAG("json", run_options, json, NULL, "Print the prediction as JSON"),
    DRY_OPTION,
    NO_PLOTS_OPTION,
    SIZE_OPTIONS,
    {.name = NULL},
};

/* With more workers than MOST, only the first FIRST are shown. */
enum { NAME_MAX_SHOWN = 96, MOST_WORKERS = 16, FIRST_WORKERS = 2 };

/* The name of an arm: its placement, or for scans what it measures. Returns name. */
static const char *name_arm(const struct result *result, const struct arm *arm, char *name,
                            size_t size)
{
    if (!arm->bench->scan)
        (void)snprintf(name, size, "%s", placement_infos[arm->placement].name);
    else
        (void)snprintf(name, size, "%s", statuses_name_arm(result, arm));
    return name;
}

static int widest_name(const struct result *result)
{
    char name[NAME_MAX_SHOWN];
    size_t widest = 10; /* fits nearly all names of placements */
    for (size_t i = 0; i < result_measured(result); i++) {
        size_t length = strlen(name_arm(result, &result->arms[i], name, sizeof(name)));
        widest = length > widest ? length : widest;
    }
    return (int)widest;
}

static void print_workers(const struct arm *arm, const char *name, int width)
{
    unsigned n = arm->plan.nworkers, shown = n > MOST_WORKERS ? FIRST_WORKERS : n;
    for (unsigned i = 0; i < shown; i++) {
        const struct plan_worker *worker = &arm->plan.workers[i];
        const bool gives_dose = i >= plan_requested(&arm->plan);
        const char *line =
            str_fmt("worker %u%s%s: CPUs %s, %u thread%s", i,
                    gives_dose           ? ", dose "
                    : worker->background ? " (background)"
                                         : "",
                    gives_dose ? dose_format(&arm->dose) : "", bitset_format(&worker->cpus),
                    worker->threads, worker->threads == 1 ? "" : "s");
        text_wrap(line, printf("  %-*s ", width, i ? "" : name), width + 3, stdout);
    }
    if (shown < n)
        (void)printf("  %-*s ... and %u more; --json has all\n", width, "", n - shown);
}

/*
 * Why an arm will not be measured; "" = it will. In a job of several machines only the plan counts,
 * as other machines decide, too. Returns buf.
 */
static char *explain(const struct run_setup *setup, const struct arm *arm, bool in_job,
                     char buf[static RUN_DRY_REASON])
{
    if (arm->plan.status == PLAN_SKIPPED)
        (void)snprintf(buf, RUN_DRY_REASON, "%s", arm->plan.reason);
    else if (in_job)
        buf[0] = '\0';
    else
        (void)snprintf(buf, RUN_DRY_REASON, "%s", named_not_here(setup->config.topo, arm->bench));
    return buf;
}

static void print_plan_line(const struct result *result, const struct arm *arm, const char *reason,
                            int width)
{
    char name[NAME_MAX_SHOWN];
    const char *same = arm->same_as >= 0 ? " (same plan as an earlier one, measured once)" : "";
    (void)name_arm(result, arm, name, sizeof(name));
    if (reason[0]) {
        text_wrap(reason, printf("  %-*s skipped: ", width, name), width + 3, stdout);
        return;
    }
    if (arm->variant)
        (void)printf("  variant %s:\n", arm->variant->name);
    const char *baseline;
    if (bench_is_team(arm->bench))
        baseline = str_fmt("solo run: %u worker%s without the background%s", arm->planned_workers,
                           arm->planned_workers == 1 ? "" : "s", same);
    else
        baseline = str_fmt("solo run: %s of %u alone%s",
                           arms_slices(arm) > 1 ? "in turn, one worker" : "worker 0",
                           arm->planned_workers, same);
    if (arm->is_baseline)
        text_wrap(baseline, printf("  %-*s ", width, name), width + 3, stdout);
    else
        print_workers(arm, name, width);
}

static int print_plans(const struct run_setup *setup)
{
    struct err err = {0};
    const struct result *result = &setup->result;
    const struct plan **plans = calloc(result->narms + 1, sizeof(const struct plan *));
    size_t n = 0;
    for (size_t i = 0; plans && i < result_measured(result); i++)
        if (!result->arms[i].is_baseline)
            plans[n++] = &result->arms[i].plan;
    int rc = plans ? json_value_print(plans_to_json(setup->config.topo, plans, n), 1, &err)
                   : err_set(&err, -ENOMEM, "no memory for the plans");
    free((void *)plans);
    if (rc)
        log_error("%s", err.msg);
    return rc ? EXIT_NOT_RUN : EXIT_GOOD;
}

bool run_dry_is_nothing(const struct run_setup *setup, const struct run_options *options,
                        char reason[static RUN_DRY_REASON])
{
    const struct result *result = &setup->result;
    const size_t n = result_measured(result);
    for (size_t i = n; i-- > 0;) /* backwards, so that the first arm's reason remains */
        if (!explain(setup, &result->arms[i], options->ranks > 0, reason)[0])
            return false;
    return n > 0;
}

int run_dry_print(struct run_setup *setup, const struct run_options *options)
{
    const struct result *result = &setup->result;
    char reason[RUN_DRY_REASON];
    const bool is_nothing = run_dry_is_nothing(setup, options, reason);
    if (is_nothing) {
        setup->expected_s = 0;
        log_warn("nothing of '%s' can run here: %s", setup->scenario->name, reason);
    }
    if (options->json)
        return print_plans(setup);
    text_field(2, "", "scenario %s, device %s, %u round%s%s, %s s a configuration, seed %llu",
               setup->scenario->name, device_name(result->device), result->rounds_planned,
               result->rounds_planned == 1 ? "" : "s",
               result->until_clear ? " or more, until it is clear" : "",
               units_plain(setup->config.measure_s, 3), (unsigned long long)result->seed);
    int width = widest_name(result);
    for (size_t i = 0; i < result_measured(result); i++)
        print_plan_line(result, &result->arms[i],
                        explain(setup, &result->arms[i], options->ranks > 0, reason), width);
    if (!bitset_empty(&result->client_cpus))
        (void)printf("  %-*s CPUs %s\n", width, "clients", bitset_format(&result->client_cpus));
    const char *tail = is_nothing ? ""
                       : result->until_clear
                           ? ", less once it is clear, more if a placement collapses"
                           : ", longer if a placement collapses";
    (void)printf("expected time: %.0f s%s\n", setup->expected_s, tail);
    return EXIT_GOOD;
}
