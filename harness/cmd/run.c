/* contend run: compares workers under placements; contend bench: runs one benchmark alone. */
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/cmd/fingerprint.h"
#include "harness/cmd/incident.h"
#include "harness/cmd/session/all.h"
#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"
#include "harness/engine/worker/launch.h"
#include "harness/lib/sys/log.h"
#include "harness/verdict/runs/dosing.h"
#include "harness/verdict/runs/mix.h"

static void judge_doses(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    (void)arg;
    dosing_judge(analysis, findings);
}

/* True if the command line or a scenario has several doses of contention. */
static bool has_doses(const struct session *s, const struct scenario *const *scenarios, int n)
{
    bool has = s->options.dose && strchr(s->options.dose, ',');
    for (int i = 0; i < n; i++)
        has = has || scenarios[i]->doses;
    return has;
}

/* Measures every dose in each round. */
static int measure_doses(struct session *s, const struct scenario *const *scenarios, int n)
{
    struct run_options *options = &s->options;
    struct dosing dosing = {0};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_DOSE, .add = dosing_arrange, .arg = &dosing},
        .judge = judge_doses};
    if (!options->ncommands && !session_takes_one(s, n))
        return EXIT_USAGE;
    const struct scenario_part *part = options->ncommands ? NULL : scenarios[0]->parts;
    if (part && (part->workers || !dosing_has(bench_find(s->env->benches, part->foreground)))) {
        log_error("'%s' takes one dose at a time, such as --dose cpu=20%%", scenarios[0]->name);
        return EXIT_USAGE;
    }
    options->dose = options->dose ? options->dose : scenarios[0]->doses;
    dosing.doses = options->dose;
    s->task = &task;
    options->arrange = &task.arrange;
    return session_run(s, scenarios, n);
}

static void judge_mix(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    (void)arg;
    mix_judge(analysis, findings);
}

/* --job: unlike jobs at once. */
static int measure_jobs(struct session *s)
{
    struct run_options *options = &s->options;
    struct subject subject;
    struct neighbours jobs = {0};
    struct mix mix = {0};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_MIX, .add = mix_arrange, .arg = &mix}, .judge = judge_mix};
    const struct scenario *scenario = &subject.scenario;
    int code = subject_take_jobs(s, &jobs, &subject);
    s->task = &task;
    options->arrange = &task.arrange;
    if (!code)
        code = session_run(s, &scenario, 1);
    s->task = NULL;
    options->arrange = NULL;
    options->neighbours = NULL;
    neighbours_free(&jobs);
    return code;
}

static int run_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .opts = run_option_table, .argc = argc, .argv = argv};
    const struct scenario *scenarios[CLI_LIST_MAX];
    struct subject subject;
    int n;
    if (argc > 1 && incident_is_named(argv[1]))
        return incident_main(env, argc - 1, argv + 1);
    if (argc > 1 && fingerprint_is_named(argv[1]))
        return fingerprint_main(env, argc - 1, argv + 1);
    s.options_argc = session_options_argc(argc, argv);
    if (!session_parse(&s))
        return EXIT_USAGE;
    bool all = all_is_named(&s.cli) && s.options_argc == s.argc;
    if (all && s.cli.help)
        s.cli.npositional = 0;
    if (s.cli.help)
        return session_help(&s, &run_command);
    if (all && has_doses(&s, NULL, 0)) {
        log_error("'all' takes one dose, such as --dose cpu=20%%");
        return EXIT_USAGE;
    }
    if (all)
        return all_run(&s);
    if (s.options.jobs.n)
        return measure_jobs(&s);
    if (s.options.protect) {
        log_error("--protect needs --job");
        return EXIT_USAGE;
    }
    int code = subject_take(&s, &subject, scenarios, &n);
    if (code)
        return code;
    return has_doses(&s, scenarios, n) ? measure_doses(&s, scenarios, n)
                                       : session_run(&s, scenarios, n);
}

const struct command run_command = {
    .name = "run",
    .group = "Measure",
    .main = run_main,
    .summary = "workers under each placement, compared; or your own command",
    .operands = "[SCENARIO... | all | fingerprint | incident NAME | -- COMMAND [ARGUMENT...]]",
    .about = "Runs workers under each placement, in random order, round after round, and compares "
             "their throughput. 'all' runs every scenario but dose into one directory. After '--', "
             "copies of your command are the workers: compared by runs a second, or by a number or "
             "lines that it prints. {worker}, {workers}, {threads}, {gpu}, {cpus}, {node} and "
             "{port}, a free port, in its arguments stand for what each copy has. With --load the "
             "command is a server, compared by what that client prints.",
    .opts = run_option_table,
    .examples = {{"contend run", "the main job, in half a minute"},
                 {"contend run -- ./train --epochs 1", "copies of your own command"},
                 {"contend run incident spin_barrier", "a published report, reproduced"}},
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
        help_print_command(s->env, &bench_command, s->cli.help_all);
    return cmd_finish();
}

static int bench_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .opts = bench_option_table, .argc = argc, .argv = argv};
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
    if (strcmp(s.options.workers, "auto") == 0 && !bench->gang)
        s.options.workers = "1";
    const char *threads = getenv(LAUNCH_PROGRESS) ? getenv("OMP_NUM_THREADS") : NULL;
    if (threads)
        s.options.plan.threads = strtol(threads, NULL, 10);
    return session_run(&s, &scenario, 1);
}

const struct command bench_command = {
    .name = "bench",
    .group = "Measure",
    .main = bench_main,
    .summary = "one benchmark alone",
    .operands = "BENCH",
    .about = "Runs one benchmark alone, by default with one worker and no placement.",
    .opts = bench_option_table,
    .examples = {{"contend bench mem_latency", "caches and memory"},
                 {"mpirun -n 2 contend bench collective", "collectives over several nodes"}},
    .takes_params = true,
};
