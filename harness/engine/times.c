#include "harness/engine/times.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/engine/arms.h"

/*
 * Times of scans and of runs that compare nothing. There are `rounds` rounds, or up to most_rounds
 * without scans, if they fit into target_s with arms measured for short_s. An arm is then measured
 * for its share of target_s, within [least_s, most_s]. More rounds come before more time, since a
 * collapse differs from launch to launch. Quick has five at most: the range of five holds the true
 * median in 94% of cases (stats.h), the narrower bootstrap interval of six to eight in fewer. If
 * rounds take longer than expected, none is begun that would end after time_box_s.
 *
 * A run with a time budget (budget_s) divides it in the same way, but one round is enough.
 */
static const struct profile_times {
    unsigned rounds, most_rounds;
    double target_s, time_box_s, short_s, least_s, most_s, warmup_s, limit_s;
} profiles[] = {
    [PROFILE_QUICK] = {3, 5, 72, 85, 0.3, 0.5, 1.5, 0.2, 12},
    [PROFILE_STANDARD] = {5, 5, 600, 0, 2, 2, 4, 0.5, 30},
    [PROFILE_FULL] = {11, 11, 3600, 0, 5, 5, 10, 1, 60},
};
/*
 * Runs that compare settings by steps end when the result is clear (verdict/recommend.h).
 * Each arm is measured for short_s, and no round is begun that would end after clear_s.
 * CLEAR_ROUNDS is the least number of rounds with which the test can show anything.
 */
static const double clear_s[] = {
    [PROFILE_QUICK] = 25, [PROFILE_STANDARD] = 600, [PROFILE_FULL] = 3600};
/* Quick runs have many rounds: their shorter least warm-up, and shorter settling of workers. */
static const double quick_warmup_s = 0.05, quick_settle_s = 0.1;
enum { CLEAR_ROUNDS = 6, CLEAR_ROUNDS_FULL = 11 };

/* A scan divides its time among many points: factors of its most_s, and of its time until it counts
 * as hung. */
static const double scan_time_factor = 1.6, scan_limit_factor = 10;
/* Start, set-up and end of an arm, for estimates only: of a scan, of steps, and of steps on GPUs,
 * which wait for the driver. */
static const double scan_launch_s = 0.7, launch_s = 0.35, cuda_launch_s = 0.55;

/*
 * The time of a user's command is unknown: a run is cut off only so that a collapse does not take
 * all day. Whole runs start cold, as in practice, unless the user asks for a warm-up.
 */
static const double command_limit_s = 600;

/* A worker gives up first on a server that is not ready: it knows why. */
static const double ready_grace_s = 10;

/* Share of budget_s to plan with: the rest is for figures and for launches that take longer. */
static const double target_share = 0.8;

static struct profile_times times_of(const struct run_options *options,
                                     const struct scenario *scenario)
{
    struct profile_times times = profiles[options->profile];
    if (options->profile == PROFILE_QUICK && scenario->quick_s > 0)
        times.target_s = scenario->quick_s;
    if (options->budget_s > 0) {
        times.rounds = 1;
        times.target_s = options->budget_s * target_share;
        times.time_box_s = options->budget_s;
        times.least_s = times.short_s;
    }
    return times;
}

/* The benchmark, if the arms run a user's command (all do, or none); else NULL. */
static const struct bench *commands_of(const struct result *result)
{
    const struct bench *bench = result->narms ? result->arms[0].bench : NULL;
    return bench && bench->runs_command ? bench : NULL;
}

/* On a slow machine, such as an emulated one, rounds end after so many times what was expected,
 * even before the least number. Not of a user's command, which may be slow on any machine, nor of
 * ranks, which must agree on rounds. */
static const double expected_most = 4;

static double rounds_most_s(const struct run_options *options, const struct run_setup *setup)
{
    const struct result *result = &setup->result;
    if (result->purpose != PURPOSE_RUN || options->rounds || options->ranks || commands_of(result))
        return 0;
    return expected_most * fmax(setup->expected_s, profiles[options->profile].target_s);
}

static double warmup_s(const struct run_options *options, const struct result *result,
                       double fallback_s)
{
    const struct bench *command = commands_of(result);
    if (options->warmup_s > 0)
        return options->warmup_s;
    return command && command->one_shot ? 0 : fallback_s;
}

/* Time after go in which the control loops of doses reach their level. */
static const double dose_settle_s = 1;

/* Time after go in which workers settle; whole runs wait for a dose alone. */
static double settle_s(const struct result *result, double fallback_s)
{
    return result_has_doses(result) ? fmax(fallback_s, dose_settle_s) : fallback_s;
}

static double limit_s(const struct run_options *options, const struct result *result,
                      const struct profile_times *profile)
{
    if (options->limit_s > 0)
        return options->limit_s;
    return commands_of(result) ? command_limit_s : profile->limit_s;
}

/* As many rounds as there is time for. */
static unsigned choose_rounds(const struct run_options *options,
                              const struct profile_times *profile, double launches, double before_s,
                              double watch_s)
{
    double arm_s = before_s + (options->time_s > 0 ? options->time_s : profile->short_s);
    double room = launches > 0 ? profile->target_s / (launches * arm_s + watch_s) : profile->rounds;
    if (options->rounds)
        return (unsigned)options->rounds;
    return (unsigned)fmin(fmax(room, profile->rounds), profile->most_rounds);
}

/*
 * An ab has many short rounds: it pairs rounds, so one more launch tells more than a longer one.
 * There are as many as --rounds says; else as many as there is time for, decided while they run.
 */
static void set_ab_times(const struct run_options *options, double launches, double start_s,
                         struct run_setup *setup)
{
    const struct profile_times *profile = &profiles[options->profile];
    struct observe_config *config = &setup->config;
    struct result *result = &setup->result;
    config->warmup_s = config->least_warmup_s = warmup_s(options, result, profile->warmup_s / 4);
    config->settle_s = settle_s(result, config->warmup_s);
    config->measure_s = options->time_s > 0 ? options->time_s : profile->short_s;
    config->limit_s = fmax(limit_s(options, result, profile), config->measure_s);
    double arm_s = start_s + config->warmup_s + config->settle_s + config->measure_s;
    double room = launches > 0 ? options->max_time_s / (launches * arm_s) : 1;
    result->rounds_planned =
        options->rounds ? (unsigned)options->rounds : (unsigned)fmin(fmax(2 * room, 1), 100000);
    result->rounds_least = 1;
    result->rounds_s = options->rounds ? 0 : options->max_time_s;
    if (purpose_decides(result->purpose)) {
        result->rounds_planned = 1;
        result->rounds_s = 0;
    }
    setup->expected_s =
        options->rounds ? launches * arm_s * result->rounds_planned : options->max_time_s;
}

/* True if the rounds compare settings by steps and end when the result is clear. */
static bool ends_when_clear(const struct run_options *options, const struct result *result)
{
    size_t settings = 0;
    for (size_t i = 0; i < result_measured(result); i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->bench->scan || arm->bench->gang)
            return false;
        settings += arm_runs(arm) && !arm->is_baseline;
    }
    return result->purpose == PURPOSE_RUN && !result->variants && !options->rounds &&
           !options->ranks && settings > 1;
}

/* start_s: of a launch; watch_s: of the controls in a round. */
static void set_clear_times(const struct run_options *options, double start_s, double watch_s,
                            struct run_setup *setup)
{
    const struct profile_times times = times_of(options, setup->scenario);
    struct observe_config *config = &setup->config;
    struct result *result = &setup->result;
    const bool is_command = commands_of(result);
    const double time_box_s = options->budget_s > 0 ? options->budget_s * target_share
                              : is_command          ? times.time_box_s
                                                    : clear_s[options->profile];
    if (options->profile == PROFILE_QUICK && !(options->warmup_s > 0)) {
        config->least_warmup_s = fmin(config->warmup_s, quick_warmup_s);
        config->settle_s = settle_s(result, fmin(config->settle_s, quick_settle_s));
    }
    result->until_clear = true;
    result->solo_turns = options->profile == PROFILE_QUICK;
    result->rounds_least = options->budget_s > 0              ? 1
                           : is_command                       ? times.rounds
                           : options->profile == PROFILE_FULL ? CLEAR_ROUNDS_FULL
                                                              : CLEAR_ROUNDS;
    result->rounds_planned = result->rounds_least;
    result->rounds_s = time_box_s;
    config->measure_s = options->time_s > 0 ? options->time_s : times.short_s;
    config->limit_s = fmax(limit_s(options, result, &times), config->measure_s);
    double launches = result->solo_turns, each_s = start_s + config->settle_s + config->measure_s;
    for (size_t i = 0; i < result_measured(result); i++)
        launches +=
            arm_runs(&result->arms[i]) && !(result->solo_turns && result->arms[i].is_baseline);
    setup->expected_s = fmax(time_box_s, (launches * (each_s + config->least_warmup_s) + watch_s) *
                                             result->rounds_least);
    result->rounds_most_s = rounds_most_s(options, setup);
}

void times_set(const struct run_options *options, struct run_setup *setup)
{
    const struct profile_times times = times_of(options, setup->scenario);
    const struct profile_times *profile = &times;
    struct observe_config *config = &setup->config;
    struct result *result = &setup->result;
    config->warmup_s = warmup_s(options, result, profile->warmup_s);
    config->least_warmup_s = config->warmup_s;
    const bool is_one_shot = commands_of(result) && commands_of(result)->one_shot;
    config->settle_s = settle_s(result, is_one_shot ? 0 : config->warmup_s);
    config->setup_s = options->setup_limit_s;
    if (config->command && config->command->options.load)
        config->setup_s += ready_grace_s;

    double launches = 0;
    bool scans = false;
    size_t measured = result_measured(result);
    double watch_s = controls_seconds(result); /* in each round */
    for (size_t i = 0; i < measured; i++) {
        launches += arm_runs(&result->arms[i]);
        scans = scans || result->arms[i].bench->scan;
    }
    double start_s = scans                           ? scan_launch_s
                     : result->device == DEVICE_CUDA ? cuda_launch_s
                                                     : launch_s;
    /* A scan has no warm-up, and settles only under a dose. */
    double before_s =
        start_s + (scans && !result_has_doses(result) ? 0 : config->warmup_s + config->settle_s);
    if (result->variants || purpose_decides(result->purpose)) {
        set_ab_times(options, launches, start_s, setup);
        return;
    }
    if (ends_when_clear(options, result)) {
        set_clear_times(options, start_s, watch_s, setup);
        return;
    }
    struct profile_times rounds = times;
    if (scans || options->ranks) /* more time, not rounds: arrays and points grow with time; and
                                    ranks must agree on rounds */
        rounds.most_rounds = profiles[options->profile].rounds;
    result->rounds_planned = choose_rounds(options, &rounds, launches, before_s, watch_s);
    result->rounds_least = times.rounds;
    result->rounds_s = options->rounds ? 0 : times.time_box_s;
    double all = launches * result->rounds_planned;
    double watched_s = watch_s * result->rounds_planned;
    double share_s = all > 0 ? (profile->target_s - watched_s) / all - before_s : 0;
    bool more = result->rounds_planned > profiles[options->profile].rounds;
    double least_s = more ? profile->short_s : profile->least_s;
    double most_s = profile->most_s * (scans ? scan_time_factor : 1);
    config->measure_s =
        options->time_s > 0 ? options->time_s : fmin(fmax(share_s, least_s), most_s);
    config->limit_s = fmax(limit_s(options, result, profile),
                           config->measure_s * (scans ? scan_limit_factor : 1));
    setup->expected_s = all * (config->measure_s + before_s) + watched_s;
    result->rounds_most_s = rounds_most_s(options, setup);
}

#ifdef CONTEND_HAVE_CUDA
static const bool have_cuda = true;
#else
static const bool have_cuda = false;
#endif

/* From the launch to the end; on GPUs the driver starts first. */
static const double cpu_s = 0.25, gpu_s = 1;

static bool is_measured(const struct result *result, const struct bench *bench)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == bench)
            return true;
    return false;
}

/* How many GPUs the arms use; a scan that is not `gang` uses all. */
static unsigned count_gpus(const struct topo *topo, const struct result *result)
{
    struct bitset used = {0};
    unsigned visible = topo_visible_gpus(topo);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!device_infos[arm_device(result, arm)].on_gpus)
            continue;
        if (arm->bench->scan && !arm->bench->gang)
            return visible;
        for (unsigned w = 0; w < arm->plan.nworkers; w++)
            if (arm->plan.workers[w].gpu >= 0)
                bitset_set(&used, (unsigned)arm->plan.workers[w].gpu);
    }
    unsigned n = bitset_count(&used);
    return n < visible ? n : visible;
}

static int add(const struct bench *bench, unsigned workers, const struct run_options *options,
               const struct topo *topo, struct result *result, struct err *err)
{
    static const enum placement placement = PLACE_NONE;
    static const bool optional = true;
    struct arms_request request = {.bench = bench,
                                   .placements = &placement,
                                   .nplacements = 1,
                                   .optional = &optional,
                                   .workers = &workers,
                                   .nworkers = 1,
                                   .is_control = true};
    int rc = plan_options_apply(&options->plan, &request.plan, err);
    return rc ? rc : arms_add(topo, &request, result, err);
}

int controls_add(const struct bench *const *benches, const struct run_options *options,
                 const struct topo *topo, struct result *result, struct err *err)
{
    const struct bench *cpu = bench_find(benches, "canary");
    const struct bench *gpu = bench_find(benches, "gpu_canary");
    bool gpus_are_here = have_cuda && !topo->driver_too_old && !options->topo.fake_gpus;
    unsigned gpus = gpus_are_here ? count_gpus(topo, result) : 0;
    int rc = 0;
    if (options->no_control || options->ranks || result->variants) /* an ab pairs its rounds */
        return 0;
    bool with_gpus = gpu && gpus && !is_measured(result, gpu);
    if (cpu && !is_measured(result, cpu))
        rc = add(cpu, 1, options, topo, result, err);
    if (!rc && with_gpus)
        rc = add(gpu, gpus, options, topo, result, err);
    return rc;
}

double controls_seconds(const struct result *result)
{
    double sum_s = 0;
    for (size_t i = result_measured(result); i < result->narms; i++)
        sum_s += device_infos[arm_device(result, &result->arms[i])].on_gpus ? gpu_s : cpu_s;
    return sum_s;
}

enum { DOSES_MOST = 16 };

int background_parse_dose(const struct run_options *options, struct dose *dose, struct err *err)
{
    struct dose doses[DOSES_MOST];
    if (!options->dose)
        return 0;
    if (options->background || options->background_workers)
        return err_set(err, -EINVAL, "--dose takes the place of --background: leave that out");
    if (options->ranks)
        return err_set(err, -EINVAL, "--dose is not for jobs of several ranks");
    int n = dose_parse_list(options->dose, doses, DOSES_MOST, err);
    if (n > 1 && !options->arrange)
        return err_set(err, -EINVAL, "--dose '%.60s': one level, such as cpu=20%%", options->dose);
    if (n > 0)
        *dose = doses[0];
    return n < 0 ? n : 0;
}

int background_set_dose(const struct bench *const *benches, struct result *result, struct err *err)
{
    for (size_t i = 0; i < result->narms; i++)
        if (!dose_is_idle(&result->arms[i].dose))
            return run_setup_find_bench(benches, DOSE_BENCH, &result->background, err);
    return 0;
}

int background_check_dose(const struct dose *dose, const struct result *result, struct err *err)
{
    /* The transport of collectives is NCCL where the run may use GPUs. */
    if (dose->kind != DOSE_H2D || result->transport == DEVICE_NCCL)
        return 0;
    return err_set(err, -ENOTSUP,
                   "a dose of h2d needs GPUs that this run can use: 'contend info' shows them");
}

int background_set(const struct bench *const *benches, const struct run_options *options,
                   struct run_setup *setup, unsigned *workers, struct err *err)
{
    const char *name = options->background ? options->background : setup->scenario->background;
    if (options->dose)
        return 0;
    if (name && strcmp(name, DOSE_BENCH) == 0)
        return err_set(err, -EINVAL, "--background %s: type --dose KIND=LEVEL", name);
    if (!name)
        return options->background_workers
                   ? err_set(err, -EINVAL, "--background-workers needs --background BENCH")
                   : 0;
    int rc = run_setup_find_bench(benches, name, &setup->result.background, err);
    if (rc)
        return rc;
    unsigned fallback = options->background ? 1 : setup->scenario->background_workers;
    *workers = options->background_workers ? (unsigned)options->background_workers : fallback;
    setup->config.background_params = setup->background_params;
    const struct bench *bench = setup->result.background;
    opts_set_defaults(bench->opts, setup->background_params);
    return bench->validate ? bench->validate(setup->background_params, err) : 0;
}
