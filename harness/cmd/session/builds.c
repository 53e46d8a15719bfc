#include "harness/cmd/session/builds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/start.h"
#include "harness/cmd/session/run_options.h"
#include "harness/engine/job_plans.h"
#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/analysis.h"
#include "version.h"

/* Options passed on unchanged. make_command sets the rest, or they do not apply to one round. */
static const char *const passed_on[] = {"workers",     "device",     "limit",
                                        "setup-limit", "begin",      "end",
                                        "factor",      "background", "background-workers",
                                        "reserve",     "cpus",       "threads",
                                        "cores-each",  "wait",       "mem",
                                        "host",        "gpus",       "dose"};

static void add_options(struct child_run *run, const struct run_options *options)
{
    struct run_options defaults = {0};
    const char *value, *usual;
    opts_set_defaults(run_option_table, &defaults);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        const struct opt *opt = opts_find(run_option_table, passed_on[i]);
        value = opt_format_value(opt, options);
        usual = opt_format_value(opt, &defaults);
        if (strcmp(value, usual) != 0)
            child_run_add(run, "--%s=%s", opt->name, value);
    }
}

static void make_command(const struct builds *builds, const struct arm *arm, unsigned round,
                         const char *dir, struct child_run *run)
{
    const struct run_setup *setup = builds->setup;
    const struct variant *variant = arm->variant;
    run->env = variant->env.text;
    run->nenv = variant->env.n;
    child_run_add(run, "%s", variant->build ? variant->build : CHILD_RUN_SELF);
    child_run_add(run, "run");
    child_run_add(run, "%s", setup->scenario->name);
    child_run_add(run, "--rounds=1");
    child_run_add(run, "--no-plots");
    child_run_add(run, "--no-baselines");
    child_run_add(run, "--placement=%s", placement_infos[arm->placement].name);
    child_run_add(run, "--time=%.9g", setup->config.measure_s);
    child_run_add(run, "--warmup=%.9g", setup->config.warmup_s);
    child_run_add(run, "--seed=%" PRIu64, setup->result.seed + round);
    child_run_add(run, "--out=%s", dir);
    add_options(run, builds->options);
    for (size_t i = 0; i < builds->cli->npairs; i++)
        child_run_add(run, "--param=%s", builds->cli->pairs[i]);
    for (size_t i = 0; i < variant->params.n; i++)
        child_run_add(run, "--param=%s", variant->params.text[i]);
}

/* Runs a build to its end. 0, or an error: the run has no usable files. */
static int run_build(struct child_run *run, const struct variant *variant, struct signals *signals,
                     struct err *err)
{
    struct err why = {0};
    int rc = child_run(run, signals, &why);
    if (rc == -EINTR || rc == -ERESTART)
        return rc;
    if (rc < 0 && rc != -ECHILD)
        return err_set(err, rc, "variant '%s': %.200s", variant->name, why.msg);
    if (rc == EXIT_VERDICT || rc == EXIT_USAGE || rc < 0 || rc > EXIT_INCONCLUSIVE)
        return err_set(err, -ECHILD, "variant '%s': '%.60s run' %s%s%.150s", variant->name,
                       run->argv[0], rc < 0 ? "was killed" : "failed",
                       run->last_line[0] ? ": " : "", run->last_line);
    return 0; /* its files say what did not run */
}

/* Finds the recorded arm that matches run->arm; false: none. */
static bool find_arm(struct build_run *run)
{
    const struct result *result = &run->recorded.result;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->is_baseline || strcmp(arm->bench->name, run->arm->bench->name) != 0 ||
            arm->placement != run->arm->placement ||
            arm->planned_workers != run->arm->planned_workers)
            continue;
        run->recorded_arm = i;
        return true;
    }
    return false;
}

static int read_run(const struct builds *builds, const char *dir, struct build_run *run,
                    struct err *err)
{
    struct err why = {0};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? err_sys(&why, -errno, "cannot open it")
                    : recorded_read(fd, builds->benches, &run->recorded, &why);
    if (fd >= 0)
        (void)close(fd);
    if (!rc && !find_arm(run))
        rc = err_set(&why, -EINVAL, "it has no configuration like ours");
    return rc ? err_set(err, -ECHILD, "variant '%s', '%.100s': %.120s", run->arm->variant->name,
                        dir, why.msg)
              : 0;
}

static void free_run(struct build_run *run)
{
    recorded_free(&run->recorded);
    free(run);
}

static int keep(struct builds *builds, struct build_run *run, struct err *err)
{
    struct build_run **grown =
        array_grown((void *)builds->runs, builds->n, &builds->capacity, sizeof(struct build_run *));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu runs", builds->n + 1);
    builds->runs = grown;
    grown[builds->n++] = run;
    return 0;
}

/* Drops the arm's run of this round, which is repeated, and all runs of later rounds. */
static void forget_from(struct builds *builds, const struct arm *arm, unsigned round)
{
    size_t kept = 0;
    for (size_t i = 0; i < builds->n; i++)
        if (builds->runs[i]->round > round ||
            (builds->runs[i]->round == round && builds->runs[i]->arm == arm))
            free_run(builds->runs[i]);
        else
            builds->runs[kept++] = builds->runs[i];
    builds->n = kept;
}

int builds_observe(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *observation, struct err *err)
{
    struct builds *builds = arg;
    struct child_run *child = calloc(1, sizeof(*child));
    struct build_run *run = calloc(1, sizeof(*run));
    const char *dir;
    int rc = child && run ? 0 : err_set(err, -ENOMEM, "no memory for a run");
    forget_from(builds, arm, observation->round);
    if (!rc) {
        *run = (struct build_run){.arm = arm, .round = observation->round};
        dir = str_fmt("%s/builds/%s/%u", builds->dir, arm->variant->name, observation->round);
        make_command(builds, arm, observation->round, dir, child);
        rc = run_build(child, arm->variant, signals, err);
    }
    if (!rc)
        rc = read_run(builds, dir, run, err);
    if (!rc)
        rc = keep(builds, run, err);
    free(child);
    if (rc && run)
        free_run(run);
    if (rc)
        return rc;
    const struct arm_rounds *of = &run->recorded.analysis.rounds.arms[run->recorded_arm];
    observation->status = of->status;
    (void)snprintf(observation->reason, sizeof(observation->reason), "%s", of->reason);
    observation->steal = observation->foreign_cpu = observation->psi_cpu_some = NAN;
    observation->gpu_clock_mhz = observation->gpu_temp_c = NAN;
    return 0;
}

/* Adds the values of a run, which become those of its round here. */
static int add_run(const struct build_run *run, size_t arm, struct round_values *values,
                   struct err *err)
{
    const struct round_values *own = &run->recorded.analysis.values;
    int rc = 0;
    for (size_t i = own->first[run->recorded_arm]; i < own->first[run->recorded_arm + 1] && !rc;
         i++) {
        struct round_value value = own->value[i];
        if (value.round == VALUE_NO_ROUND)
            continue;
        value.round = (int)run->round;
        value.base = -1;
        rc = values_append(values, arm, &value, err);
    }
    return rc;
}

/* Combines the runs of an arm: worst status, number of rounds, median rate. */
static int describe_rounds(const struct builds *builds, const struct arm *arm,
                           struct arm_rounds *rounds, struct err *err)
{
    double *rates = calloc(builds->n + 1, sizeof(*rates));
    size_t nrates = 0;
    if (!rates)
        return err_set(err, -ENOMEM, "no memory for the rounds of builds");
    for (size_t i = 0; i < builds->n; i++) {
        const struct build_run *run = builds->runs[i];
        if (run->arm != arm)
            continue;
        const struct arm_rounds *of = &run->recorded.analysis.rounds.arms[run->recorded_arm];
        if (of->status > rounds->status || !rounds->reason[0]) {
            memcpy(rounds->reason, of->reason, sizeof(rounds->reason));
            rounds->status = of->status;
        }
        rounds->n += of->n > 0;
        rates[nrates++] = of->rate;
    }
    rounds->rate = stats_median(rates, stats_sort(rates, nrates));
    rounds->slices = NAN;
    free(rates);
    return 0;
}

static int analyse(const struct builds *builds, struct analysis *analysis, struct err *err)
{
    const struct result *result = &builds->setup->result;
    *analysis = (struct analysis){.result = result};
    analysis->rounds.arms = calloc(result->narms + 1, sizeof(*analysis->rounds.arms));
    if (!analysis->rounds.arms)
        return err_set(err, -ENOMEM, "no memory for %zu arms", result->narms);
    analysis->rounds.narms = result->narms;
    int rc = 0;
    for (size_t a = 0; a < result->narms && !rc; a++) {
        analysis->rounds.arms[a].source = a;
        rc = describe_rounds(builds, &result->arms[a], &analysis->rounds.arms[a], err);
    }
    for (size_t i = 0; i < builds->n && !rc; i++)
        rc = add_run(builds->runs[i], (size_t)(builds->runs[i]->arm - result->arms),
                     &analysis->values, err);
    if (!rc)
        rc = values_sort(&analysis->values, result->narms, err);
    if (rc)
        return rc;
    baseline_choose(result, &analysis->rounds);
    return rows_make(result, &analysis->rounds, &analysis->values, &analysis->rows, err);
}

int builds_judge(const struct builds *builds, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    *verdict = (struct verdict){0};
    int rc = analyse(builds, &verdict->analysis, err);
    return rc ? rc : verdict_judge(topo, verdict, err);
}

void builds_free(struct builds *builds)
{
    for (size_t i = 0; i < builds->n; i++)
        free_run(builds->runs[i]);
    free((void *)builds->runs);
    *builds = (struct builds){0};
}

int builds_check(const struct run_setup *setup, struct err *err)
{
    const struct variants *variants = &setup->variants;
    size_t narms = 0;
    for (size_t a = 0; a < setup->result.narms; a++)
        narms += setup->result.arms[a].variant != NULL;
    if (narms != variants->n)
        return err_set(err, -EINVAL,
                       "builds are compared under one placement, with one number of workers, in a "
                       "scenario of one benchmark; here are %zu configurations of %zu variants",
                       narms, variants->n);
    for (size_t v = 0; v < variants->n; v++)
        if (variants->all[v].build && access(variants->all[v].build, X_OK))
            return err_sys(err, -errno, "variant '%s': cannot run the build '%.150s'",
                           variants->all[v].name, variants->all[v].build);
    return 0;
}

void job_run_mute_other_ranks(const struct job_env *env)
{
    if (!env->launcher || env->rank == 0)
        return;
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd >= 0) {
        (void)dup2(null_fd, STDOUT_FILENO);
        (void)close(null_fd);
    }
    log_set_quiet(true);
}

/* Joins version and arguments into one text, cut at `size`: a difference after that is unlikely. */
static void join_arguments(int argc, char **argv, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", CONTEND_VERSION);
    for (int i = 0; i < argc && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " %s", argv[i]);
}

int job_run_open(struct job *job, const struct job_env *env, struct signals *signals, int argc,
                 char **argv, struct run_options *options, struct err *err)
{
    char arguments[4096];
    if (!env->launcher)
        return 0;
    log_set_quiet(false); /* a rank that cannot join must report it itself */
    int rc = job_open(job, env, signals, err);
    if (!rc)
        rc = job_share_cpus(job, err);
    if (rc)
        return rc;
    log_set_quiet(!job_is_first(job));
    join_arguments(argc, argv, arguments, sizeof(arguments));
    options->ranks = job->world.size;
    options->ranks_here = job->plan_size;
    if (job->cpus_note[0])
        log_warn("%s", job->cpus_note);
    return job_require_same(job, "version and arguments", arguments, err);
}

/*
 * Takes rank 0's seed, run id, and times, which depend on the number of arms. If another machine
 * has to skip some arms, its own times would differ, and ranks would count different numbers of
 * operations.
 */
static int take_identity(struct job *job, struct run_setup *setup, struct err *err)
{
    struct identity {
        uint64_t seed;
        double measure_s, limit_s, expected_s;
        char run_id[sizeof(setup->result.run_id)];
    } mine = {.seed = setup->result.seed,
              .measure_s = setup->config.measure_s,
              .limit_s = setup->config.limit_s,
              .expected_s = setup->expected_s},
      *all = calloc(job->world.size, sizeof(*all));
    memcpy(mine.run_id, setup->result.run_id, sizeof(mine.run_id));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    if (!rc) {
        setup->result.seed = all[0].seed;
        setup->config.measure_s = all[0].measure_s;
        setup->config.limit_s = all[0].limit_s;
        setup->expected_s = all[0].expected_s;
        memcpy(setup->result.run_id, all[0].run_id, sizeof(setup->result.run_id));
    }
    free(all);
    return rc;
}

int job_run_join(struct job *job, const struct topo *topo, int rc, struct run_setup *setup,
                 struct err *err)
{
    rc = job_agree(job, rc, err);
    if (rc || !job->mpi)
        return rc;
    setup->config.job = job;
    job->answer_limit_s = setup->config.setup_s + 10;
    rc = take_identity(job, setup, err);
    if (!rc)
        rc = job_require_same(job, "GPUs, or the lack of them,",
                              device_name(setup->result.transport), err);
    return rc ? rc : job_plan_spread(job, topo, &setup->result, err);
}

int job_run_round(struct job *job, int rc, struct err *err)
{
    rc = job_agree(job, rc, err);
    if (!rc && job->end)
        return err_set(err, -ESTALE, "%s", job->why);
    return rc;
}

char *job_run_describe(const struct job *job, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size,
                                   "%u ranks started by %s, %s (on device mpi rounds share "
                                   "their processes), on hosts",
                                   job->world.size, job->launcher, job->world.library);
    for (unsigned r = 0; r < job->world.size && used < size; r++) {
        bool first = true;
        for (unsigned before = 0; before < r; before++)
            first &= strcmp(job->ranks[before].host, job->ranks[r].host) != 0;
        if (first)
            used += (size_t)snprintf(buf + used, size - used, "%s %s", r ? "," : "",
                                     job->ranks[r].host);
    }
    return buf;
}
