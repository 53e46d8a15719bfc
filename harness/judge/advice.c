#include "harness/judge/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/units.h"
#include "harness/run/arms.h"

char *advice_format_ratio(double ratio, char *buf, size_t size)
{
    double shown = fabs(ratio);
    int digits = shown >= 9.95 ? 0 : shown >= 1.95 ? 1 : 2;
    if (isnan(ratio))
        (void)snprintf(buf, size, "-");
    else
        (void)snprintf(buf, size, "%.*fx", digits, ratio);
    return buf;
}

bool advice_may_advise(enum placement placement)
{
    return placement != PLACE_REMOTE;
}

/* Times and rates of even workers tell the same; by more they need both. */
static const double rates_apart = 1.5;

enum { SIZED, PASSIVE, FIXES };
static const enum placement fixes[FIXES] = {PLACE_SIZED, PLACE_PASSIVE};

/* What the sentence is made from. Arms are indices, -1 = none. */
struct story {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis, as the next */
    const struct rows *rows;
    unsigned slots;
    int reference, winner;
    int fix[FIXES];           /* that pin nothing: sized, passive */
    struct paired_ratio gain; /* step time of the reference / that of the winner */
};

static const char *name_of(const struct story *story, int arm)
{
    return placement_infos[story->result->arms[arm].placement].name;
}

static double step_time(const struct story *story, int arm)
{
    const struct row *row = rows_find(story->rows, &story->result->arms[arm], "step_time");
    return row ? row->median : NAN;
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

/* Nothing failed in it, and it differs from the reference. */
static bool is_advisable(const struct story *story, int arm)
{
    const struct arm *arms = story->result->arms;
    return story->analysis->rounds.arms[arm].status <= STATUS_CENSORED &&
           !arm_same_plan(&arms[arm], &arms[story->reference]);
}

static bool can_win(const struct story *story, int arm)
{
    enum placement placement = story->result->arms[arm].placement;
    return placement_infos[placement].pinned && advice_may_advise(placement) &&
           is_advisable(story, arm);
}

/* A measured arm of the story's number of workers. */
static bool takes_part(const struct story *story, int arm)
{
    const struct arm *of = &story->result->arms[arm];
    return of->slots == story->slots && !of->alone && !isnan(step_time(story, arm));
}

/* Finds the arms that play a part: what others are held against, then who may win. */
static void cast(struct story *story)
{
    int slowest = -1, unpinned = -1;
    story->winner = story->fix[SIZED] = story->fix[PASSIVE] = -1;
    for (size_t i = 0; i < story->result->narms; i++) {
        const struct arm *arm = &story->result->arms[i];
        int at = (int)i;
        if (!takes_part(story, at))
            continue;
        if (arm->placement == PLACE_NONE)
            unpinned = at;
        if (slowest < 0 || step_time(story, at) > step_time(story, slowest))
            slowest = at;
    }
    story->reference = unpinned >= 0 ? unpinned : slowest;
    for (size_t i = 0; i < story->result->narms && story->reference >= 0; i++) {
        const struct arm *arm = &story->result->arms[i];
        int at = (int)i;
        if (!takes_part(story, at))
            continue;
        for (int f = 0; f < FIXES; f++)
            if (arm->placement == fixes[f] && is_advisable(story, at))
                story->fix[f] = at;
        if (can_win(story, at) &&
            (story->winner < 0 || step_time(story, at) < step_time(story, story->winner)))
            story->winner = at;
    }
}

/* A fix of one line wins where it beats the best pinning, or where nothing was pinned. */
static int maybe_prefer(struct story *story, int fix, struct err *err)
{
    struct paired_ratio ratio = {0, INFINITY, INFINITY, INFINITY};
    if (fix < 0 || fix == story->reference)
        return 0;
    if (story->winner >= 0) {
        int rc = ratio_of(story, story->winner, fix, &ratio, err);
        if (rc)
            return rc;
    }
    if (clearly_above_one(&ratio))
        story->winner = fix;
    return 0;
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
    double percent = stolen ? 100 * stolen->median / blocked : 0;
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
    double percent = 100 * largest / loss->median;
    /* Above 100 where another part shrank: a share of more than everything helps nobody. */
    if (percent > 100.5)
        (void)snprintf(text, size, "; all of the loss was %s", words);
    else
        (void)snprintf(text, size, "; %.0f%% of the loss was %s", percent, words);
}

/* What one variable alone buys, where the reference leaves it to the default; appends. */
static int describe_fix(const struct story *story, int fix, char *text, size_t size,
                        struct err *err)
{
    const struct arm *arms = story->result->arms;
    if (fix < 0 || fix == story->winner || fix == story->reference ||
        arms[story->reference].placement != PLACE_NONE)
        return 0;
    struct paired_ratio ratio;
    char gain[32] = "nothing clear", variable[48] = "OMP_WAIT_POLICY=passive";
    int rc = ratio_of(story, story->reference, fix, &ratio, err);
    if (rc || !ratio.rounds)
        return rc;
    if (clearly_above_one(&ratio))
        (void)advice_format_ratio(ratio.median, gain, sizeof(gain));
    if (arms[fix].placement == PLACE_SIZED)
        (void)snprintf(variable, sizeof(variable), "OMP_NUM_THREADS=%u",
                       arms[fix].plan.workers[0].threads);
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s alone gets %s", used ? ", " : "; setting ",
                   variable, gain);
    return 0;
}

/* A bound on the ratio: the slow one may be slower, what the fast one has is known. */
static bool is_more_than(const struct story *story)
{
    const struct arm_rounds *arms = story->analysis->rounds.arms;
    return arms[story->reference].status == STATUS_CENSORED &&
           arms[story->winner].status != STATUS_CENSORED;
}

/* " (5.3x the throughput)" where the workers are so uneven that the two tell another story. */
static void describe_rate(const struct story *story, char *text, size_t size)
{
    const struct row *before = reference_row(story, "throughput");
    const struct row *after =
        rows_find(story->rows, &story->result->arms[story->winner], "throughput");
    char times[32];
    text[0] = '\0';
    double gain = before && after ? after->median / before->median : NAN;
    double apart = gain / story->gain.median;
    if (apart > rates_apart || apart < 1 / rates_apart)
        (void)snprintf(text, size, " (%s the throughput)",
                       advice_format_ratio(gain, times, sizeof(times)));
}

static const char *in_one_round(const struct story *story)
{
    if (story->gain.rounds > 1)
        return "";
    return story->result->rounds_done > 1 ? "in the one round that both finished, "
                                          : "in the one round there is, ";
}

char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size)
{
    char background[40] = "";
    if (arm_background(arm))
        (void)snprintf(background, sizeof(background), " --background-workers %u",
                       arm_background(arm));
    (void)snprintf(buf, size, "contend place --workers %u --placement %s%s%s", arm->slots,
                   placement_infos[arm->placement].name, background, result->plan_options);
    return buf;
}

/* "partition is 2.4x faster than none", and what goes with it. */
static int tell_gain(const struct story *story, struct finding *advice, struct err *err)
{
    char gain[32], rate[48], loss[160], alone[160] = "";
    int rc = 0;
    for (int f = 0; f < FIXES && !rc; f++)
        rc = describe_fix(story, story->fix[f], alone, sizeof(alone), err);
    if (rc)
        return rc;
    describe_loss(story, loss, sizeof(loss));
    describe_rate(story, rate, sizeof(rate));
    (void)snprintf(advice->sentence, sizeof(advice->sentence), "%s%s is %s%s faster than %s%s%s%s.",
                   in_one_round(story), name_of(story, story->winner),
                   is_more_than(story) ? "more than " : "",
                   advice_format_ratio(story->gain.median, gain, sizeof(gain)),
                   name_of(story, story->reference), rate, loss, alone);
    (void)advice_command(story->result, &story->result->arms[story->winner], advice->command,
                         sizeof(advice->command));
    return 0;
}

static void tell_no_gain(const struct story *story, struct finding *advice)
{
    char gain[32], low[32], high[32], rounds[48];
    const char *winner = name_of(story, story->winner);
    const char *reference = name_of(story, story->reference);
    (void)snprintf(rounds, sizeof(rounds), "in one round");
    if (story->gain.rounds > 1)
        (void)snprintf(rounds, sizeof(rounds), "%s to %s over %zu rounds",
                       advice_format_ratio(story->gain.low, low, sizeof(low)),
                       advice_format_ratio(story->gain.high, high, sizeof(high)),
                       story->gain.rounds);
    if (clearly_below_one(&story->gain))
        (void)snprintf(advice->sentence, sizeof(advice->sentence),
                       "no placement is better than %s: %s, the best one, is %s slower.", reference,
                       winner, advice_format_ratio(1 / story->gain.median, gain, sizeof(gain)));
    else
        (void)snprintf(advice->sentence, sizeof(advice->sentence),
                       "no placement is clearly better: %s is %s as fast as %s, %s.", winner,
                       advice_format_ratio(story->gain.median, gain, sizeof(gain)), reference,
                       rounds);
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

/* "none 240 ms, partition 20.0 ms; ratio 12x, 95% 11x to 13x, 3 rounds". */
static void note_evidence(const struct story *story, struct finding *advice)
{
    char slow[32], fast[32], ratio[32], low[32], high[32], interval[80] = "";
    if (!isnan(story->gain.low))
        (void)snprintf(interval, sizeof(interval), ", %s %s to %s",
                       story->gain.rounds < STATS_RANGE_BELOW ? "range" : "95%",
                       advice_format_ratio(story->gain.low, low, sizeof(low)),
                       advice_format_ratio(story->gain.high, high, sizeof(high)));
    (void)snprintf(advice->evidence, sizeof(advice->evidence),
                   "median step: %s %s, %s %s; ratio by round %s%s, %zu round%s",
                   name_of(story, story->reference),
                   units_format_seconds(step_time(story, story->reference), slow, sizeof(slow)),
                   name_of(story, story->winner),
                   units_format_seconds(step_time(story, story->winner), fast, sizeof(fast)),
                   advice_format_ratio(story->gain.median, ratio, sizeof(ratio)), interval,
                   story->gain.rounds, story->gain.rounds == 1 ? "" : "s");
}

int advice_make(const struct analysis *analysis, unsigned slots, struct finding *advice,
                struct err *err)
{
    struct story story = {
        .analysis = analysis, .result = analysis->result, .rows = &analysis->rows, .slots = slots};
    *advice = (struct finding){.id = "placement"};
    cast(&story);
    int rc = maybe_prefer(&story, story.fix[SIZED], err);
    if (!rc)
        rc = maybe_prefer(&story, story.fix[PASSIVE], err);
    if (!rc && story.winner < 0)
        tell_same_plans(&story, advice);
    if (rc || story.winner < 0 || story.winner == story.reference)
        return rc;
    rc = ratio_of(&story, story.reference, story.winner, &story.gain, err);
    if (rc || !story.gain.rounds)
        return rc;
    note_evidence(&story, advice);
    if (clearly_above_one(&story.gain))
        return tell_gain(&story, advice, err);
    tell_no_gain(&story, advice);
    return 0;
}
