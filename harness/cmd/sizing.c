/* contend sizing: how many cores a worker, and so a GPU, needs. */
#include "harness/verdict/search/sizing.h"
#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"

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
    struct session s = {.env = env, .task = &task, .argc = argc, .argv = argv};
    const struct scenario *scenario;
    struct subject subject;
    int code;
    if (!subject_take_task(&s, &sizing_command, &subject, &scenario, &code))
        return code;
    sizing.cores = s.options.try_cores;
    return session_run(&s, &scenario, 1);
}

const struct command sizing_command = {
    .name = "sizing",
    .main = sizing_main,
    .summary = "how many cores a worker, and so a GPU, needs",
    .operands = "[SCENARIO | -- COMMAND [ARGUMENT...]]",
    .about = "Measures what workers do per second with 1, 2, 3, 4, 6, 8, ... cores each, one alone "
             "and all together; says how many are enough, where the knee of the curve is, and how "
             "well one worker predicts all. Behind '--', a command of your own, as 'contend run' "
             "runs it.",
    .opts = sizing_option_table,
    .takes_params = true,
    .is_task = true,
};
