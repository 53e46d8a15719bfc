#include "harness/engine/run.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/arms.h"
#include "harness/engine/guard.h"
#include "harness/engine/worker/command_numbers.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/task.h"
#include "harness/lib/text.h"

/* Appends an empty observation to the arm's; NULL: no memory. */
static struct observation *run_add_observation(struct arm *arm, struct err *err)
{
    size_t n = arm->nobservations;
    struct observation *grown = realloc(arm->observations, (n + 1) * sizeof(*grown));
    if (!grown) {
        (void)err_set(err, -ENOMEM, "no memory for an observation");
        return NULL;
    }
    arm->observations = grown;
    arm->observations[n] = (struct observation){0};
    arm->nobservations = n + 1;
    return &arm->observations[n];
}

void run_drop_round(struct result *result, unsigned round)
{
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[i];
        while (arm->nobservations && arm->observations[arm->nobservations - 1].round >= round)
            observation_free(&arm->observations[--arm->nobservations]);
    }
    if (result->rounds_done > round)
        result->rounds_done = round;
}

/* True if baseline a takes turns with baseline b; true for b itself. */
static bool takes_turns_with(const struct arm *a, const struct arm *b)
{
    return arm_runs(a) && a->is_baseline && a->bench == b->bench && a->params == b->params &&
           a->planned_workers == b->planned_workers;
}

static bool has_turn(const struct result *result, const struct arm *arm, unsigned round)
{
    unsigned all = 0, own = 0;
    if (result->solo_turns && arm->is_control && device_infos[arm_device(result, arm)].on_gpus)
        return round % 2 == 0; /* costly: it starts the driver for one kernel */
    if (!result->solo_turns || !arm->is_baseline)
        return true;
    for (size_t i = 0; i < result->narms; i++) {
        own += &result->arms[i] < arm && takes_turns_with(&result->arms[i], arm);
        all += takes_turns_with(&result->arms[i], arm);
    }
    return all && round % all == own;
}

static bool is_measured(const struct result *result, const struct arm *arm, unsigned round)
{
    return arm_runs(arm) && !arm->idle && has_turn(result, arm, round);
}

static size_t count_launched(const struct result *result, unsigned round)
{
    size_t n = 0;
    for (size_t i = 0; i < result->narms; i++)
        n += is_measured(result, &result->arms[i], round);
    return n;
}

/* Shared by all rounds of a run. */
struct runner {
    const struct observe_config *config;
    const struct run_hooks *hooks;
    struct signals *signals;
    struct guards guards;
    size_t *order;     /* of the arms, in this round */
    unsigned measured; /* observations, except those of controls */
    bool hopeless; /* the first run of the command gave no result, or servers that are kept failed
                      twice: the others would not either */
};

/* The time of all phases except the end. */
static double phases_s(const struct observation *observation)
{
    double sum_s = 0;
    for (int p = 0; p < PHASE_END; p++)
        sum_s += observation->phase_s[p];
    return sum_s;
}

/* Observes an arm between the `before` and `after` commands of its variant. */
static int observe_variant(struct runner *runner, const struct arm *arm,
                           struct observation *observation, struct err *err)
{
    const struct observe_config *config = runner->config;
    struct signals *signals = runner->signals;
    struct err why = {0};
    int rc = guards_before(&runner->guards, arm, signals, err);
    if (!rc && config->observe && arm->variant)
        rc = config->observe(config->observe_arg, arm, signals, observation, err);
    else if (!rc)
        rc = observe_arm(config, arm, observation->round == 0, signals, observation, err);
    int undone = guards_after(&runner->guards, arm, signals, &why);
    return rc || !undone ? rc : err_set(err, undone, "%.250s", why.msg);
}

static int run_round(struct runner *runner, unsigned round, struct result *result, struct err *err)
{
    const struct run_hooks *hooks = runner->hooks;
    size_t launched = count_launched(result, round), done = launched * round;
    unsigned position = 0;
    for (size_t i = 0; i < result->narms; i++) {
        struct arm *arm = &result->arms[runner->order[i]];
        if (runner->hopeless || !is_measured(result, arm, round))
            continue;
        if (hooks->on_arm)
            hooks->on_arm(hooks->arg, arm, round, done++, launched * result->rounds_planned);
        struct observation *observation = run_add_observation(arm, err);
        if (!observation)
            return -ENOMEM;
        observation->round = round;
        observation->order = position++;
        observation->slot = arms_slot(arm, result->seed, round);
        uint64_t before_ns = clock_now_ns();
        int rc = observe_variant(runner, arm, observation, err);
        observation->took_s = (double)(clock_now_ns() - before_ns) * 1e-9;
        observation->phase_s[PHASE_END] = observation->took_s - phases_s(observation);
        if (!rc && hooks->on_observation)
            rc = hooks->on_observation(hooks->arg, arm, observation, err);
        if (rc)
            return rc;
        /* Of several variants one alone may be broken, and a job may be starved by others: results.
         */
        const bool alike = !result->variants && (!result->neighbours || arm->alone);
        runner->hopeless = !arm->is_control && !runner->measured++ && alike &&
                           observation->status >= STATUS_FAILED &&
                           command_gave_nothing(observation->reason);
        if (runner->config->kept && arm->bench->runs_command &&
            observation->status >= STATUS_FAILED && !runner->hopeless) {
            runner->hopeless = ++result->kept_deaths > 1;
            log_warn("--keep: a load failed: %s", runner->hopeless
                                                      ? "the second time, so nothing else is tried"
                                                      : "the servers are started again");
        }
        if (hooks->after_arm)
            hooks->after_arm(hooks->arg);
    }
    return 0;
}

/* Updates rounds_planned after a round: fewer than planned if rounds take too long. With
 * until_clear one more, if there is time, unless on_round lowers it because the result is clear. */
static void plan_next(struct result *result, double elapsed_s)
{
    unsigned done = result->rounds_done;
    double most_s = done < result->rounds_least ? result->rounds_most_s : result->rounds_s;
    bool fits = most_s <= 0 || elapsed_s * (done + 1) / done <= most_s;
    if (result->until_clear && result->purpose == PURPOSE_RUN)
        result->rounds_planned = done < result->rounds_least ? result->rounds_least : done + fits;
    if (fits)
        return;
    if (done < result->rounds_planned && !result->variants)
        log_info("%u of %u rounds took %.0f s: no time for more", done, result->rounds_planned,
                 elapsed_s);
    result->rounds_planned = done;
}

/* Sets the order of a round; hooks may have added arms. */
static int order_arms(struct runner *runner, const struct result *result, unsigned round,
                      struct err *err)
{
    size_t n = result->narms ? result->narms : 1;
    size_t *order = realloc(runner->order, n * sizeof(*order));
    if (!order)
        return err_set(err, -ENOMEM, "no memory for the order of arms");
    runner->order = order;
    arms_order(result, round, order);
    return 0;
}

int run_rounds(const struct observe_config *config, const struct run_hooks *hooks,
               struct signals *signals, struct result *result, struct err *err)
{
    struct runner runner = {.config = config, .hooks = hooks, .signals = signals};
    struct others others;
    uint64_t start_ns = clock_now_ns();
    double before_s = result_spent_s(result, 0); /* of an earlier run of the program */
    if (config->cgroups)
        cgroups_open(config->cgroups);
    others_begin(&others);
    int rc = guards_open(&runner.guards, result->variants, signals, err);
    const struct str_mark before = str_mark(); /* of 100,000 rounds, the text of one is held */
    for (unsigned round = result->rounds_done;
         round < result->rounds_planned && !rc && !runner.hopeless; round = result->rounds_done) {
        rc = order_arms(&runner, result, round, err);
        if (!rc)
            rc = run_round(&runner, round, result, err);
        if (rc)
            run_drop_round(result, round);
        if (rc == -ERESTART) {
            log_warn("stopped and continued: round %u is measured again", round + 1);
            rc = 0;
        } else if (!rc) {
            result->rounds_done = round + 1;
            others_note(&others, result);
            plan_next(result, before_s + (double)(clock_now_ns() - start_ns) * 1e-9);
            rc = hooks->on_round ? hooks->on_round(hooks->arg, round, err) : 0;
        }
        str_release(before);
    }
    if (config->kept)
        observe_end_kept(config->kept, rc);
    guards_close(&runner.guards);
    others_end(&others);
    if (config->cgroups)
        cgroups_close(config->cgroups);
    free(runner.order);
    return rc;
}

bool run_measured_anything(const struct result *result)
{
    for (size_t i = 0; i < result_measured(result); i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (result->arms[i].observations[o].status < STATUS_SKIPPED)
                return true;
    return false;
}

enum { PROCESSES_MOST = 16384 };

void others_begin(struct others *others)
{
    *others = (struct others){.before = calloc(PROCESSES_MOST, sizeof(*others->before))};
    if (others->before)
        others->n = tree_list_others(others->before, PROCESSES_MOST);
    others->at_ns = clock_now_ns();
}

/* 0 if it began after others_begin. */
static double cpu_s_before(const struct others *others, const struct tree_use *now)
{
    for (unsigned i = 0; i < others->n; i++)
        if (others->before[i].pid == now->pid && others->before[i].started == now->started)
            return others->before[i].cpu_s;
    return 0;
}

/* Keeps the list sorted, the largest share first. */
static void insert(const struct other_process *process, struct result *result)
{
    unsigned at = result->nothers < RESULT_OTHERS ? result->nothers++ : RESULT_OTHERS;
    for (; at > 0 && result->others[at - 1].share < process->share; at--)
        if (at < RESULT_OTHERS)
            result->others[at] = result->others[at - 1];
    if (at < RESULT_OTHERS)
        result->others[at] = *process;
}

void others_note(const struct others *others, struct result *result)
{
    struct tree_use *now = others->before ? calloc(PROCESSES_MOST, sizeof(*now)) : NULL;
    unsigned n = now ? tree_list_others(now, PROCESSES_MOST) : 0;
    double all_s =
        (double)(clock_now_ns() - others->at_ns) * 1e-9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    result->nothers = 0;
    for (unsigned i = 0; i < n && all_s > 0; i++) {
        if (now[i].cpu_s < RESULT_OTHERS_LEAST * all_s) /* spares the search for most processes */
            continue;
        struct other_process process = {
            .pid = now[i].pid, .share = (now[i].cpu_s - cpu_s_before(others, &now[i])) / all_s};
        memcpy(process.command, now[i].name, sizeof(process.command));
        if (process.share >= RESULT_OTHERS_LEAST)
            insert(&process, result);
    }
    free(now);
}

void others_end(struct others *others)
{
    free(others->before);
    *others = (struct others){0};
}
