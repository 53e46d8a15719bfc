/* contend tune: searches the best setting of workers and proves it; or finds how many cores they
 * need. */
#include "harness/verdict/runs/tune.h"

#include <errno.h>

#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"
#include "harness/lib/sys/log.h"
#include "harness/verdict/recommend.h"
#include "harness/verdict/runs/sizing.h"

/* Default time of the search including the fresh rounds. */
static const double search_s = 180;

static int after_round(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err)
{
    return tune_next(arg, &verdict->analysis, result, err);
}

static void judge(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    tune_judge(arg, analysis, findings);
    slo_find(analysis, findings);
}

static void after_arm(void *arg, struct result *result)
{
    char warning[200];
    tune_after_arm(arg, result);
    if (!result->rounds_done && tune_read_time(arg, warning, sizeof(warning)))
        log_warn("%s", warning);
}

static void judge_cores(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    (void)arg;
    sizing_judge(analysis, findings);
    slo_find(analysis, findings);
}

/* --cores: measures every number of cores in each round, without a search. */
static int measure_cores(struct session *s, const struct scenario *scenario)
{
    static const struct opt reserve =
        OPT_INT("reserve", run_options, plan.reserve, "0", 0, BITSET_BITS, "K", "");
    struct run_options *options = &s->options;
    struct sizing sizing = {.cores = options->try_cores};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_SIZING, .add = sizing_arrange, .arg = &sizing},
        .judge = judge_cores};
    struct err err = {0};
    if (options->try_threads || options->try_wait)
        (void)err_set(&err, -EINVAL, "--cores excludes --threads and --wait");
    else if (options->try_reserve)
        (void)opt_set(&reserve, options, options->try_reserve, &err);
    if (err.msg[0]) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    s->task = &task;
    options->arrange = &task.arrange;
    options->budget_s = options->max_time_s;
    if (!options->placements)
        options->placements = "partition";
    return session_run(s, &scenario, 1);
}

static int search(struct session *s, struct tune *tune, const struct scenario *scenario)
{
    struct run_options *options = &s->options;
    if (options->try_cores) {
        log_error("--core-counts needs --cores");
        return EXIT_USAGE;
    }
    if (!(options->max_time_s > 0))
        options->max_time_s = search_s;
    options->no_control = true; /* comparisons within rounds need no control */
    tune->tried = (struct settings_tried){.threads = options->try_threads,
                                          .reserve = options->try_reserve,
                                          .wait = options->try_wait,
                                          .common = options->plan};
    tune->max_time_s = options->max_time_s;
    tune->tolerance = options->threshold / 100;
    tune->fresh_rounds = (unsigned)options->rounds;
    options->rounds = 0;
    return session_run(s, &scenario, 1);
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
    code = s.options.cores ? measure_cores(&s, scenario) : search(&s, &tune, scenario);
    tune_free(&tune);
    return code;
}

const struct command tune_command = {
    .name = "tune",
    .group = "Fix",
    .main = tune_main,
    .summary = "the best setting, with proof; --cores: how many a GPU needs",
    .operands = "[SCENARIO | -- COMMAND [ARGUMENT...]]",
    .about = "Searches placements, threads a worker, reserved cores and how threads wait. Then "
             "measures the simplest setting near the best against the default in fresh rounds, and "
             "prints the gain in these. With --cores measures throughput by the cores of a worker "
             "instead, one worker alone and all together, and says how many are enough. After '--' "
             "comes a command of your own, as in 'contend run'.",
    .opts = tune_option_table,
    .examples = {{"contend tune", "the best setting of the main job"},
                 {"contend tune --max-time 10m -- ./train", "of your own command"},
                 {"contend tune --cores", "how many cores a GPU needs"}},
    .takes_params = true,
    .is_task = true,
};
