/* contend sizing: how many cores a worker, and so a GPU, needs. */
#include "harness/search/sizing.h"
#include "harness/cmd/named.h"
#include "harness/cmd/run_options.h"
#include "harness/cmd/session.h"

static int judge(const void *arg, const struct analysis *analysis, struct findings *findings,
                 struct err *err)
{
    (void)arg;
    return sizing_judge(analysis, findings, err);
}

static int sizing_main(const struct cmd_env *env, int argc, char **argv)
{
    struct sizing sizing = {0};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_SIZING, .add = sizing_arrange, .arg = &sizing},
        .judge = judge};
    struct session s = {
        .env = env, .opts = sizing_option_table, .task = &task, .argc = argc, .argv = argv};
    const struct scenario *scenarios[CLI_LIST_MAX];
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (s.cli.help)
        return session_help(&s, &sizing_command);
    int n = named_scenarios(env, &s.cli, scenarios);
    if (n < 0 || !session_takes_task(&s, scenarios, n))
        return EXIT_USAGE;
    s.options.arrange = &task.arrange;
    sizing.cores = s.options.try_cores;
    return session_run(&s, scenarios, 1);
}

const struct command sizing_command = {
    .name = "sizing",
    .main = sizing_main,
    .summary = "how many cores a worker, and so a GPU, needs",
    .operands = "[SCENARIO]",
    .about = "Measures what workers do per second with 1, 2, 3, 4, 6, 8, ... cores each, one alone "
             "and all together; says how many are enough, where the knee of the curve is, and how "
             "well one worker predicts all.",
    .opts = sizing_option_table,
    .takes_params = true,
};
