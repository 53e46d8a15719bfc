/* contend run: the main job; contend bench: one benchmark alone. session.h has what they do. */
#include <string.h>

#include "harness/cmd/common/help.h"
#include "harness/cmd/common/named.h"
#include "harness/cmd/session/all.h"
#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"

static int run_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .opts = run_option_table, .argc = argc, .argv = argv};
    const struct scenario *scenarios[CLI_LIST_MAX];
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (all_is_named(&s.cli)) {
        s.cli.npositional = s.cli.help ? 0 : s.cli.npositional;
        return s.cli.help ? session_help(&s, &run_command) : all_run(&s);
    }
    if (s.cli.help)
        return session_help(&s, &run_command);
    int n = named_scenarios(env, &s.cli, scenarios);
    return n < 0 ? EXIT_USAGE : session_run(&s, scenarios, n);
}

const struct command run_command = {
    .name = "run",
    .main = run_main,
    .summary = "the main job: workers under each placement, compared",
    .operands = "[SCENARIO... | all]",
    .about = "Starts workers under each placement, in random order, round after round, and "
             "compares what they get. 'contend run all' runs every scenario, one after the other, "
             "into one directory with one page over all of them.",
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
    struct session s = {.env = env, .opts = run_option_table, .argc = argc, .argv = argv};
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
    return session_run(&s, &scenario, 1);
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
