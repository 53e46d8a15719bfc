/* contend tune: the best setting of a scenario's workers, searched for and then proved. */
#include "harness/verdict/search/tune.h"

#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"
#include "harness/lib/say/log.h"

static int after_round(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err)
{
    return tune_next(arg, &verdict->analysis, result, err);
}

static int judge(const void *arg, const struct analysis *analysis, struct findings *findings,
                 struct err *err)
{
    return tune_judge(arg, analysis, findings, err);
}

static void after_arm(void *arg, struct result *result)
{
    char told[200];
    tune_after_arm(arg, result);
    if (!result->rounds_done && tune_tell_time(arg, told, sizeof(told)))
        log_warn("%s", told);
}

static int tune_main(const struct cmd_env *env, int argc, char **argv)
{
    struct tune tune = {0};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_TUNE, .add = tune_arrange, .arg = &tune},
        .after_arm = after_arm,
        .after_round = after_round,
        .judge = judge,
        .no_figures = true};
    struct session s = {.env = env, .task = &task, .argc = argc, .argv = argv};
    const struct scenario *scenario;
    struct subject subject;
    int code;
    if (!subject_take_task(&s, &tune_command, &subject, &scenario, &code))
        return code;
    struct run_options *options = &s.options;
    options->no_canary = true; /* its rounds are paired */
    tune.tried = (struct settings_tried){.threads = options->try_threads,
                                         .reserve = options->try_reserve,
                                         .wait = options->try_wait,
                                         .common = options->plan};
    tune.max_time_s = options->max_time_s;
    tune.tolerance = options->threshold / 100;
    tune.fresh_rounds = (unsigned)options->rounds;
    options->rounds = 0;
    code = session_run(&s, &scenario, 1);
    tune_free(&tune);
    return code;
}

const struct command tune_command = {
    .name = "tune",
    .main = tune_main,
    .summary = "the best setting for the workers, with proof",
    .operands = "[SCENARIO | -- COMMAND [ARGUMENT...]]",
    .about =
        "Searches placements, threads a worker, cores kept free and how threads wait: first "
        "the placements, then changes of those that do well, then successive halving over "
        "paired rounds. Fresh rounds, which the search has not seen, then measure the simplest "
        "setting near the best against none: the printed gain is theirs. A command of your "
        "own follows '--', as in 'contend run'.",
    .opts = tune_option_table,
    .takes_params = true,
    .is_task = true,
};
