#include "harness/judge/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/run/arms.h"

bool advice_may_advise(enum placement placement)
{
    return placement_infos[placement].effort > 0;
}

/* Of few rounds that are further apart only the order of magnitude is told. */
static const double rounds_apart = 3;

enum { SIZED, PASSIVE, FIXES };
static const enum placement fixes[FIXES] = {PLACE_SIZED, PLACE_PASSIVE};

/* What the sentence is made from. Arms are indices, -1 = none. */
struct story {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis, as the next */
    const struct rows *rows;
    unsigned slots;
    int reference;            /* what others are held against */
    bool lost;                /* no round of that gave a rate: it failed, or was cut off, in all */
    int best;                 /* of those that may be advised */
    int advised;              /* the simplest that cannot be told from it */
    int next;                 /* the next simplest */
    struct paired_ratio gain; /* work per second of the best / of the reference */
};

static const char *name_of(const struct story *story, int arm)
{
    return placement_infos[story->result->arms[arm].placement].name;
}

static double rate_of(const struct story *story, int arm)
{
    return story->analysis->rounds.arms[arm].rate;
}

static unsigned effort_of(const struct story *story, int arm)
{
    return placement_infos[story->result->arms[arm].placement].effort;
}

static int ratio_of(const struct story *story, int slow, int fast, struct paired_ratio *ratio,
                    struct err *err)
{
    return values_ratio(&story->analysis->values, (size_t)slow, (size_t)fast, story->result->seed,
                        ratio, err);
}

/* The interval lies above 1; with one round there is none and only the value speaks. */
static bool clearly_above_one(const struct paired_ratio *ratio)
{
    return ratio->median >= ADVICE_CLEAR && (ratio->rounds == 1 || ratio->low > 1);
}

static bool clearly_below_one(const struct paired_ratio *ratio)
{
    return ratio->median <= 1 / ADVICE_CLEAR && (ratio->rounds == 1 || ratio->high < 1);
}

/* A measured arm of the story's number of workers. */
static bool takes_part(const struct story *story, int arm)
{
    const struct arm *of = &story->result->arms[arm];
    return of->slots == story->slots && !of->alone && !of->bench->scan &&
           !isnan(rate_of(story, arm));
}

/* Nothing failed in it, and it differs from the reference. */
static bool is_advisable(const struct story *story, int arm)
{
    const struct arm *arms = story->result->arms;
    return takes_part(story, arm) && advice_may_advise(arms[arm].placement) &&
           story->analysis->rounds.arms[arm].status <= STATUS_CENSORED &&
           !arm_same_plan(&arms[arm], &arms[story->reference]);
}

/* It was run, and there is nothing to hold others against: the worst that can be said of it. */
static bool gave_nothing(const struct story *story, int arm)
{
    const struct arm *of = &story->result->arms[arm];
    enum status status = story->analysis->rounds.arms[arm].status;
    return of->slots == story->slots && !of->alone && !of->bench->scan && of->nobservations &&
           isnan(rate_of(story, arm)) && status >= STATUS_CENSORED && status != STATUS_SKIPPED;
}

/* `none`, else the slowest arm. */
static void choose_reference(struct story *story)
{
    int slowest = -1, unpinned = -1;
    for (int at = 0; at < (int)story->result->narms; at++) {
        bool none = story->result->arms[at].placement == PLACE_NONE;
        bool lost = none && gave_nothing(story, at);
        if (!takes_part(story, at) && !lost)
            continue;
        story->lost = story->lost || lost;
        if (none)
            unpinned = at;
        if (!lost && (slowest < 0 || rate_of(story, at) < rate_of(story, slowest)))
            slowest = at;
    }
    story->reference = unpinned >= 0 ? unpinned : slowest;
}

/* The best of the table where that may be advised, else the fastest that may. */
static void choose_best(struct story *story)
{
    for (int at = 0; at < (int)story->result->narms && story->reference >= 0; at++) {
        if (!is_advisable(story, at))
            continue;
        if (at == story->analysis->rounds.arms[at].baseline[BASELINE_BEST]) {
            story->best = at;
            return;
        }
        if (story->best < 0 || rate_of(story, at) > rate_of(story, story->best))
            story->best = at;
    }
}

/* As good as the best as far as the rounds tell, and better than the reference. */
static int is_enough(const struct story *story, int arm, bool *enough, struct err *err)
{
    struct paired_ratio behind, gain;
    int rc = ratio_of(story, arm, story->best, &behind, err);
    if (!rc)
        rc = ratio_of(story, story->reference, arm, &gain, err);
    *enough = !rc && behind.rounds && !clearly_above_one(&behind) &&
              (story->lost || clearly_above_one(&gain));
    return rc;
}

static bool is_simpler(const struct story *story, int arm, int than)
{
    unsigned effort = effort_of(story, arm), other = effort_of(story, than);
    return effort < other || (effort == other && rate_of(story, arm) > rate_of(story, than));
}

static int choose_advised(struct story *story, struct err *err)
{
    int rc = 0;
    story->advised = story->best;
    for (int at = 0; at < (int)story->result->narms && !rc; at++) {
        bool enough = false;
        if (is_advisable(story, at) && is_simpler(story, at, story->advised))
            rc = is_enough(story, at, &enough, err);
        if (enough)
            story->advised = at;
    }
    for (int at = 0; at < (int)story->result->narms; at++)
        if (is_advisable(story, at) && effort_of(story, at) > effort_of(story, story->advised) &&
            (story->next < 0 || is_simpler(story, at, story->next)))
            story->next = at;
    return rc;
}

static const struct row *reference_row(const struct story *story, const char *metric)
{
    return rows_find(story->rows, &story->result->arms[story->reference], metric);
}

/* What extra time on the CPU was, where the counters tell. */
static const char *describe_oncpu(const struct story *story)
{
    const struct row *more = reference_row(story, "loss_oncpu_instructions_per_step");
    const struct row *slower = reference_row(story, "loss_oncpu_stalls_per_step");
    if (!more || !slower)
        return "extra time on the CPU: spinning, caches or memory bandwidth";
    return more->median > slower->median
               ? "spent on extra instructions, such as spinning at barriers"
               : "spent on slower instructions: caches, memory bandwidth, SMT or clocks";
}

/* What blocked time was: the hypervisor's share of it is known, the others are not. */
static void describe_blocked(const struct story *story, bool queue, double blocked, char *text,
                             size_t size)
{
    const struct row *stolen = reference_row(story, "loss_stolen_per_step");
    double percent = stolen ? fmin(100 * stolen->median / blocked, 100) : 0;
    (void)snprintf(text, size, "%s",
                   queue ? "blocked: waiting for other threads, the device or memory"
                         : "blocked or in the run queue (the kernel does not tell which)");
    if (percent >= 0.5)
        (void)snprintf(text + strlen(text), size - strlen(text),
                       ", of it up to %.0f%% stolen by the hypervisor", percent);
}

/* The largest part of the reference's loss, in words; "" when there is none to speak of. */
static void describe_loss(const struct story *story, char *text, size_t size)
{
    const struct row *loss = reference_row(story, "loss_per_step");
    const struct row *queue = reference_row(story, "loss_runqueue_per_step");
    const struct row *blocked = reference_row(story, "loss_blocked_per_step");
    const struct row *oncpu = reference_row(story, "loss_oncpu_per_step");
    const struct row *throttled = reference_row(story, "loss_throttled_per_step");
    text[0] = '\0';
    if (!loss || !blocked || !oncpu || !(loss->median > 0))
        return;
    double largest = oncpu->median;
    const char *words = describe_oncpu(story);
    char asleep[128];
    if (blocked->median > largest) {
        largest = blocked->median;
        describe_blocked(story, queue != NULL, blocked->median, asleep, sizeof(asleep));
        words = asleep;
    }
    if (queue && queue->median > largest) {
        largest = queue->median;
        words = "waiting in the run queue";
    }
    if (throttled && throttled->median > largest) {
        largest = throttled->median;
        words = "being stopped by a quota of CPU time (cpu.max)";
    }
    double percent = 100 * largest / loss->median;
    if (percent < 1) /* none grew: where the time went was not seen */
        return;
    /* Above 100 where another part shrank: a share of more than everything helps nobody. */
    if (percent > 100.5)
        (void)snprintf(text, size, "; all of the loss was %s", words);
    else
        (void)snprintf(text, size, "; %.0f%% of the loss was %s", percent, words);
}

/* "OMP_NUM_THREADS=4"; "" of a placement that is no variable. */
static const char *format_setting(const struct story *story, int arm, char *buf, size_t size)
{
    const struct arm *of = &story->result->arms[arm];
    buf[0] = '\0';
    if (of->placement == PLACE_SIZED)
        (void)snprintf(buf, size, "OMP_NUM_THREADS=%u", of->plan.workers[0].threads);
    else if (of->placement == PLACE_PASSIVE)
        (void)snprintf(buf, size, "OMP_WAIT_POLICY=passive");
    return buf;
}

static int find_fix(const struct story *story, enum placement placement)
{
    for (int at = 0; at < (int)story->result->narms; at++)
        if (story->result->arms[at].placement == placement && is_advisable(story, at))
            return at;
    return -1;
}

/* What one variable alone buys, where the reference leaves it to the default; appends. */
static int describe_fix(const struct story *story, int fix, char *text, size_t size,
                        struct err *err)
{
    if (fix < 0 || fix == story->advised || fix == story->best ||
        story->result->arms[story->reference].placement != PLACE_NONE)
        return 0;
    struct paired_ratio ratio;
    char gain[32] = "nothing clear", setting[48];
    int rc = ratio_of(story, story->reference, fix, &ratio, err);
    if (rc || !ratio.rounds)
        return rc;
    if (clearly_above_one(&ratio))
        (void)advice_format_ratio(ratio.median, gain, sizeof(gain));
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s alone gets %s", used ? ", " : "; setting ",
                   format_setting(story, fix, setting, sizeof(setting)), gain);
    return 0;
}

/* A bound on the ratio: the slow one may be slower, what the fast one has is known. */
static bool is_more_than(const struct story *story)
{
    const struct arm_rounds *arms = story->analysis->rounds.arms;
    return arms[story->reference].status == STATUS_CENSORED &&
           arms[story->best].status != STATUS_CENSORED;
}

static const char *in_one_round(const struct story *story)
{
    if (story->gain.rounds > 1)
        return "";
    return story->result->rounds_done > 1 ? "in the one round that both finished, "
                                          : "in the one round there is, ";
}

/* "12x the work of none, range 11x to 13x", or only between what and what it lies. */
static void describe_gain(const struct story *story, char *text, size_t size)
{
    const struct paired_ratio *gain = &story->gain;
    char ratio[32], interval[80], high[32];
    bool few = gain->rounds > 1 && gain->rounds < STATS_RANGE_BELOW;
    bool apart = few && gain->high > rounds_apart * gain->low;
    const char *more = is_more_than(story) ? "more than " : "";
    const char *reference = name_of(story, story->reference);
    (void)advice_format_ratio(apart ? gain->low : gain->median, ratio, sizeof(ratio));
    (void)advice_format_interval(gain, interval, sizeof(interval));
    if (apart && !more[0])
        (void)snprintf(text, size, "between %s and %s the work of %s", ratio,
                       advice_format_ratio(gain->high, high, sizeof(high)), reference);
    else
        (void)snprintf(text, size, "%s%s the work of %s%s%s", more, ratio, reference,
                       apart || !interval[0] ? "" : ", ", apart ? "" : interval);
}

/* " partition would add nothing clear to it: 1.02x, range 0.98x to 1.05x." */
static int describe_next(const struct story *story, char *text, size_t size, struct err *err)
{
    struct paired_ratio more;
    char ratio[32], interval[80];
    text[0] = '\0';
    int rc = story->next < 0 ? 0 : ratio_of(story, story->advised, story->next, &more, err);
    if (rc || story->next < 0 || !more.rounds)
        return rc;
    const char *would = clearly_above_one(&more)   ? "add "
                        : clearly_below_one(&more) ? "do less: "
                                                   : "add nothing clear: ";
    (void)advice_format_ratio(more.median, ratio, sizeof(ratio));
    (void)advice_format_interval(&more, interval, sizeof(interval));
    (void)snprintf(text, size, " %s would %s%s%s%s.", name_of(story, story->next), would, ratio,
                   interval[0] ? ", " : "", interval);
    return 0;
}

/* "partition does 12x the work of none", what is simpler and as good, and what goes with it. */
static int tell_gain(const struct story *story, struct finding *advice, struct err *err)
{
    char gain[200], loss[160], alone[160] = "", next[160] = "", enough[80] = "";
    char setting[48], name[80];
    int rc = 0;
    for (int f = 0; f < FIXES && !rc; f++)
        rc = describe_fix(story, find_fix(story, fixes[f]), alone, sizeof(alone), err);
    if (!rc)
        rc = describe_next(story, next, sizeof(next), err);
    if (rc)
        return rc;
    describe_loss(story, loss, sizeof(loss));
    describe_gain(story, gain, sizeof(gain));
    (void)format_setting(story, story->advised, setting, sizeof(setting));
    if (setting[0])
        (void)snprintf(name, sizeof(name), "%s (%s)", name_of(story, story->advised), setting);
    else
        (void)snprintf(name, sizeof(name), "%s", name_of(story, story->advised));
    if (story->advised != story->best)
        (void)snprintf(enough, sizeof(enough), " is enough: it cannot be told from %s, which",
                       name_of(story, story->best));
    (void)snprintf(advice->sentence, sizeof(advice->sentence), "%s%s%s does %s%s%s.%s",
                   in_one_round(story), name, enough, gain, loss, alone, next);
    (void)advice_command(story->result, &story->result->arms[story->advised], advice->command,
                         sizeof(advice->command));
    return 0;
}

static void tell_no_gain(const struct story *story, struct finding *advice)
{
    char gain[32], interval[80];
    const char *best = name_of(story, story->best);
    const char *reference = name_of(story, story->reference);
    (void)advice_format_interval(&story->gain, interval, sizeof(interval));
    if (clearly_below_one(&story->gain))
        (void)snprintf(advice->sentence, sizeof(advice->sentence),
                       "no placement is better than %s, which does %s the work of %s, the best of "
                       "the others.",
                       reference, advice_format_ratio(1 / story->gain.median, gain, sizeof(gain)),
                       best);
    else
        (void)snprintf(advice->sentence, sizeof(advice->sentence),
                       "no placement is clearly better: %s does %s the work of %s, %s.", best,
                       advice_format_ratio(story->gain.median, gain, sizeof(gain)), reference,
                       interval[0] ? interval : "in one round");
}

/* One CPU, or one worker: placements that come to the same. */
static void tell_same_plans(const struct story *story, struct finding *advice)
{
    const struct arm *arms = story->result->arms;
    for (size_t i = 0; story->reference >= 0 && i < story->result->narms; i++)
        if ((int)i != story->reference && arms[i].slots == story->slots && !arms[i].alone &&
            arm_same_plan(&arms[i], &arms[story->reference])) {
            (void)snprintf(advice->sentence, sizeof(advice->sentence),
                           "the placements that can be had here give the workers the same CPUs "
                           "and threads: what differs is chance.");
            return;
        }
}

/* "work per second: none 833 items/s, partition 10.0 k items/s; by round 12x, 3 rounds". */
static void note_evidence(const struct story *story, struct finding *advice)
{
    char slow[32], fast[32], ratio[32], interval[80];
    const char *unit = story->analysis->rounds.arms[story->best].rate_unit;
    (void)advice_format_interval(&story->gain, interval, sizeof(interval));
    (void)snprintf(advice->evidence, sizeof(advice->evidence),
                   "%s: %s %s, %s %s; ratio by round %s%s%s, %zu round%s", unit,
                   name_of(story, story->reference),
                   units_format_si(rate_of(story, story->reference), slow, sizeof(slow)),
                   name_of(story, story->best),
                   units_format_si(rate_of(story, story->best), fast, sizeof(fast)),
                   advice_format_ratio(story->gain.median, ratio, sizeof(ratio)),
                   interval[0] ? ", " : "", interval, story->gain.rounds,
                   story->gain.rounds == 1 ? "" : "s");
}

/* "no round of none gave a rate (...): partition, 188 items/s, is the best of the others." */
static int tell_lost(struct story *story, struct finding *advice, struct err *err)
{
    const struct arm_rounds *arms = story->analysis->rounds.arms, *lost = &arms[story->reference];
    char rate[32], enough[160] = "";
    int rc = choose_advised(story, err);
    if (story->advised != story->best)
        (void)snprintf(enough, sizeof(enough), ", and cannot be told from the best of them, %s",
                       name_of(story, story->best));
    (void)snprintf(advice->sentence, sizeof(advice->sentence),
                   "no round of %s gave a rate (%.*s): %s does %s %s%s.",
                   name_of(story, story->reference), advice_reason_length(lost), lost->reason,
                   name_of(story, story->advised),
                   units_format_si(rate_of(story, story->advised), rate, sizeof(rate)),
                   arms[story->advised].rate_unit, enough);
    (void)advice_command(story->result, &story->result->arms[story->advised], advice->command,
                         sizeof(advice->command));
    return rc;
}

int advice_make(const struct analysis *analysis, unsigned slots, struct finding *advice,
                struct err *err)
{
    struct story story = {.analysis = analysis,
                          .result = analysis->result,
                          .rows = &analysis->rows,
                          .slots = slots,
                          .best = -1,
                          .next = -1};
    *advice = (struct finding){.id = "placement"};
    choose_reference(&story);
    choose_best(&story);
    if (story.best < 0)
        tell_same_plans(&story, advice);
    if (story.best < 0 || story.best == story.reference)
        return 0;
    if (story.lost)
        return tell_lost(&story, advice, err);
    int rc = ratio_of(&story, story.reference, story.best, &story.gain, err);
    if (rc || !story.gain.rounds)
        return rc;
    note_evidence(&story, advice);
    if (!clearly_above_one(&story.gain)) {
        tell_no_gain(&story, advice);
        return 0;
    }
    rc = choose_advised(&story, err);
    return rc ? rc : tell_gain(&story, advice, err);
}
