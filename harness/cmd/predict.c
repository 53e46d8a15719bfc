/* contend predict: what more workers and other placements would bring, from one and two workers. */
#include "harness/verdict/runs/predict.h"

#include <time.h>

#include "harness/cmd/session/run_options.h"
#include "harness/cmd/session/session.h"
#include "harness/cmd/subject.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/show/json/forms.h"

struct maker {
    struct predict predict;
    struct session *session;
};

static int arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err)
{
    struct maker *maker = arg;
    return predict_arrange(&maker->predict, topo, request, result, err);
}

/* Written before anything of it is measured, so that nobody can doubt it afterwards. */
static int write_prediction(struct maker *maker, const struct analysis *analysis, struct err *err)
{
    json_t *json = json_value_object("made:t run_id:t scenario:t prediction:o",
                                     text_utc(time(NULL)), analysis->result->run_id,
                                     analysis->result->scenario, prediction_to_json(analysis));
    return run_dir_add(&maker->session->run_dir, DIRECTORY_PREDICTION, json, err);
}

static int after_round(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err)
{
    struct maker *maker = arg;
    return predict_next(&maker->predict, &verdict->analysis, result)
               ? write_prediction(maker, &verdict->analysis, err)
               : 0;
}

static void judge(const void *arg, const struct analysis *analysis, struct findings *findings)
{
    (void)arg;
    predict_judge(analysis, findings);
}

static int exit_code(const void *arg, const struct verdict *verdict)
{
    struct prediction prediction;
    (void)arg;
    return predict_read(&verdict->analysis, &prediction) ? EXIT_GOOD : EXIT_NOT_RUN;
}

static int predict_main(const struct cmd_env *env, int argc, char **argv)
{
    struct maker maker = {0};
    const struct session_task task = {
        .arrange = {.purpose = PURPOSE_PREDICT, .add = arrange, .arg = &maker},
        .after_round = after_round,
        .judge = judge,
        .exit_code = exit_code};
    struct session s = {.env = env, .task = &task, .argc = argc, .argv = argv};
    const struct scenario *scenario;
    struct subject subject;
    int code;
    maker.session = &s;
    if (!subject_take_task(&s, &predict_command, &subject, &scenario, &code))
        return code;
    s.options.arrange = &task.arrange;
    s.options.no_control = true; /* what is predicted has no reference in a control */
    maker.predict.max_time_s = s.options.max_time_s;
    maker.predict.verify_rounds = s.options.verify ? (unsigned)s.options.rounds : 0;
    s.options.rounds = 0;
    return session_run(&s, &scenario, 1);
}

const struct command predict_command = {
    .name = "predict",
    .group = "Fix",
    .main = predict_main,
    .summary = "what more workers and other placements would bring",
    .operands = "[SCENARIO | -- COMMAND [ARGUMENT...]]",
    .about = "Measures one worker alone on all cores, half of them, a quarter, ..., and two "
             "workers under each placement, in at most --max-time. From that it predicts the "
             "throughput of other numbers of workers with a 90% interval, says what limits each, "
             "and writes prediction.json before any of it is measured. Where threads without a CPU "
             "are waited for, it gives a bound. With --verify it then measures all of it. After "
             "'--' comes a command of your own, as in 'contend run'.",
    .opts = predict_option_table,
    .examples = {{"contend predict", "the main job with 1 to 8 workers"},
                 {"contend predict --verify", "and how far off that was"},
                 {"contend predict -n 1..16 -- ./train", "of your own command"}},
    .takes_params = true,
    .is_task = true,
};
