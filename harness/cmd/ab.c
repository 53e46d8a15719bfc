/* contend ab: variants are arms of the same rounds, and are compared in pairs within a round. */
#include "harness/cmd/common/named.h"
#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/log.h"
#include "harness/verdict/comparison.h"

/* True if ab can run this parsed command line; else logs why not. */
static bool is_possible(const struct session *s)
{
    struct err err = {0};
    if (compared_check_fail_on(s->options.fail_on, &err))
        log_error("%s", err.msg);
    else if (!s->options.variants.n)
        log_error("no variants: name two or more by -V NAME[=KIND:VALUE], the base first");
    else if (s->job_env.launcher)
        log_error("ab runs on one machine: start it without mpirun or srun");
    else if (s->cli.npositional > 1)
        log_error("one scenario at a time: unexpected argument '%.80s'", s->cli.positional[1]);
    else
        return true;
    return false;
}

static int take_commands(struct session *s, struct subject *subject)
{
    if (s->cli.npositional) {
        log_error("'%.80s': a scenario, or commands after '--'", s->cli.positional[0]);
        return EXIT_USAGE;
    }
    subject_make_scenario("ab", &s->options.command, subject);
    return subject_take_variants(s);
}

/* Default times for one measurement of an incident: ten rounds of two variants fit into 15 s. */
static const double incident_time_s = 0.35, incident_warmup_s = 0.05;

/* The variants of an incident, with their placeholders replaced. */
struct incident_texts {
    char text[INCIDENT_VARIANTS][200];
};

/* Takes variants and times from the named incident, unless the command line has them. NULL: the
 * line names no incident. */
static const struct scenario *take_incident(struct session *s, struct incident_texts *texts)
{
    const struct incident *incident =
        s->cli.npositional ? incident_find(s->env->incidents, s->cli.positional[0]) : NULL;
    struct run_options *options = &s->options;
    struct bitset cpus = {0};
    if (!incident)
        return NULL;
    (void)affinity_get(0, &cpus);
    for (size_t v = 0; !options->variants.n && incident->variants[v]; v++)
        (void)incident_expand(incident->variants[v], bitset_count(&cpus), texts->text[v],
                              sizeof(texts->text[v]));
    for (size_t v = 0; texts->text[v][0]; v++)
        options->variants.text[options->variants.n++] = texts->text[v];
    if (!(options->time_s > 0))
        options->time_s = incident->time_s > 0 ? incident->time_s : incident_time_s;
    if (!(options->warmup_s > 0))
        options->warmup_s = incident_warmup_s;
    if (!options->device && !incident->on_gpu)
        options->device = DEVICE_SIM;
    return &incident->scenario;
}

/* Without --rounds, ends the run once all verdicts are clear. */
static int after_round(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err)
{
    (void)arg;
    (void)err;
    if (result->rounds_s > 0 && ab_is_clear(&verdict->comparisons))
        result->rounds_planned = result->rounds_done;
    return 0;
}

static int exit_code(const void *arg, const struct verdict *verdict)
{
    const struct session *s = arg;
    return compared_code(&verdict->comparisons, s->options.fail_on);
}

static int ab_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .opts = ab_option_table, .argc = argc, .argv = argv};
    const struct session_task task = {
        .arrange.arg = &s, .after_round = after_round, .exit_code = exit_code, .no_figures = true};
    s.task = &task;
    const struct scenario *scenarios[CLI_LIST_MAX];
    struct subject subject;
    s.options_argc = session_options_argc(argc, argv);
    struct neighbours jobs = {0};
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (s.cli.help)
        return session_help(&s, &ab_command);
    const bool of_jobs = s.options.jobs.n, of_commands = of_jobs || s.options_argc < argc;
    int code = of_jobs       ? subject_take_jobs(&s, &jobs, &subject)
               : of_commands ? take_commands(&s, &subject)
                             : EXIT_GOOD;
    struct incident_texts texts = {0};
    const struct scenario *incident = of_commands ? NULL : take_incident(&s, &texts);
    if (!code && (!is_possible(&s) || (!incident && named_scenarios(env, &s.cli, scenarios) < 0)))
        code = EXIT_USAGE;
    if (of_commands)
        scenarios[0] = &subject.scenario;
    else if (incident)
        scenarios[0] = incident;
    if (!code)
        code = session_run(&s, scenarios, 1);
    subject_free_variants(&s);
    neighbours_free(&jobs);
    return code;
}

const struct command ab_command = {
    .name = "ab",
    .group = "Compare",
    .main = ab_main,
    .summary = "variants compared in the same rounds: did it get faster?",
    .operands = "[SCENARIO | -- COMMAND...]",
    .about =
        "Measures variants of a scenario in the same rounds, in random order, and compares them "
        "pair by pair, so that drift of the machine cancels. Adds rounds until every gating metric "
        "is FASTER, SLOWER or SAME, or the time is over. Two equal variants (-V a -V b) show the "
        "smallest difference that this machine resolves. After '--' come commands of your own, "
        "each in quotes: the variants A, B, ...; with -V one command for all.",
    .opts = ab_option_table,
    .examples = {{"contend ab -V a -V b=env:OMP_WAIT_POLICY=passive", "one variable"},
                 {"contend ab -- './train --data x' ./faster", "two commands"}},
    .takes_params = true,
};
