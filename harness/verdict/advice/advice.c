#include "harness/verdict/advice/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/arms/arms.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/lib/stats/stats.h"

bool advice_may_advise(enum placement placement)
{
    return placement_infos[placement].effort > 0;
}

enum { SIZED, PASSIVE, FIXES };
static const enum placement fixes[FIXES] = {PLACE_SIZED, PLACE_PASSIVE};

/* What the sentence is made from. */
struct story {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis, as the next */
    const struct rows *rows;
    struct recommendation made;
};

static const char *name_of(const struct story *story, int arm)
{
    return arm_name(&story->result->arms[arm]);
}

static double rate_of(const struct story *story, int arm)
{
    return story->analysis->rounds.arms[arm].rate;
}

static int ratio_of(const struct story *story, int slow, int fast, struct paired_ratio *ratio,
                    struct err *err)
{
    return values_ratio(&story->analysis->values, (size_t)slow, (size_t)fast, story->result->seed,
                        ratio, err);
}

static const struct row *reference_row(const struct story *story, const char *metric)
{
    return rows_find(story->rows, &story->result->arms[story->made.reference], metric);
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
    for (int at = 0; at < (int)story->result->narms; at++) {
        const struct arm *arm = &story->result->arms[at];
        const struct arm *like = &story->result->arms[story->made.arm];
        if (arm->placement == placement && !arm->alone && arm->bench == like->bench &&
            arm->params == like->params && arm->slots == like->slots &&
            !isnan(rate_of(story, at)) && story->analysis->rounds.arms[at].status <= STATUS_NOISY)
            return at;
    }
    return -1;
}

/* What one variable alone gains, where it is neither recommended nor the fastest; appends. */
static int describe_fix(const struct story *story, int fix, char *text, size_t size,
                        struct err *err)
{
    const struct recommendation *made = &story->made;
    struct paired_ratio ratio;
    char gain[32] = "no measurable gain", setting[48];
    if (fix < 0 || fix == made->arm || fix == made->best || !made->is_default)
        return 0;
    int rc = ratio_of(story, made->reference, fix, &ratio, err);
    if (rc || !ratio.rounds || ratio.disturbed)
        return rc;
    if (recommend_is_ahead(story->result, &ratio))
        (void)advice_format_ratio(ratio.median, gain, sizeof(gain));
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s alone: %s", used ? ", " : "; ",
                   format_setting(story, fix, setting, sizeof(setting)), gain);
    return 0;
}

/* " partition, the fastest, is indistinguishable from it: 1.02x, range 0.98x to 1.05x."; of the
 * next simplest what that adds, where the fastest is recommended. */
static int describe_other(const struct story *story, char *text, size_t size, struct err *err)
{
    const struct recommendation *made = &story->made;
    bool is_best = made->arm == made->best;
    int other = is_best ? made->next : made->best;
    struct paired_ratio more, less;
    char ratio[32], interval[80];
    text[0] = '\0';
    int rc = other < 0 ? 0 : ratio_of(story, made->arm, other, &more, err);
    if (!rc && other >= 0)
        rc = ratio_of(story, other, made->arm, &less, err);
    if (rc || other < 0 || !more.rounds)
        return rc;
    const char *does = !is_best ? ", the fastest, is indistinguishable from it"
                       : recommend_is_ahead(story->result, &less) ? " is slower"
                                                                  : " adds no measurable gain";
    (void)snprintf(text, size, " %s%s: %s%s%s.", name_of(story, other), does,
                   advice_format_ratio(more.median, ratio, sizeof(ratio)),
                   isnan(more.low) ? "" : ", ",
                   advice_format_interval(&more, interval, sizeof(interval)));
    return 0;
}

/* "sized (OMP_NUM_THREADS=4)" */
static void format_name(const struct story *story, char *buf, size_t size)
{
    char setting[48];
    (void)format_setting(story, story->made.arm, setting, sizeof(setting));
    (void)snprintf(buf, size, setting[0] ? "%s (%s)" : "%s", name_of(story, story->made.arm),
                   setting);
}

/* "recommended: sized (OMP_NUM_THREADS=4), 18x the default", and what goes with it. */
static int tell_gain(const struct story *story, struct finding *advice, struct err *err)
{
    char gain[200], loss[160], alone[160] = "", other[160] = "", name[80];
    int rc = 0;
    for (int f = 0; f < FIXES && !rc; f++)
        rc = describe_fix(story, find_fix(story, fixes[f]), alone, sizeof(alone), err);
    if (!rc)
        rc = describe_other(story, other, sizeof(other), err);
    if (rc)
        return rc;
    describe_loss(story, loss, sizeof(loss));
    format_name(story, name, sizeof(name));
    (void)snprintf(advice->sentence, sizeof(advice->sentence), "recommended: %s, %s%s%s.%s", name,
                   advice_format_gain(story->analysis, &story->made, gain, sizeof(gain)), loss,
                   alone, other);
    return 0;
}

/* One CPU, or one worker: placements that come to the same. */
static void tell_same_plans(const struct story *story, struct finding *advice)
{
    const struct arm *arms = story->result->arms, *reference = &arms[story->made.reference];
    for (size_t i = 0; i < story->result->narms; i++)
        if (&arms[i] != reference && arms[i].slots == reference->slots && !arms[i].alone &&
            arm_same_plan(&arms[i], reference)) {
            (void)snprintf(advice->sentence, sizeof(advice->sentence),
                           "the placements that can be had here give the workers the same CPUs "
                           "and threads: what differs is chance.");
            return;
        }
}

/* "throughput: none 833 items/s, sized 10.0 k items/s; 3 rounds". */
static void note_evidence(const struct story *story, struct finding *advice)
{
    const struct recommendation *made = &story->made;
    char slow[32], fast[32];
    int shown = recommend_applies(made) ? made->arm : made->best;
    const char *unit = story->analysis->rounds.arms[shown].rate_unit;
    size_t rounds = made->best_gain.rounds;
    (void)snprintf(advice->evidence, sizeof(advice->evidence),
                   "throughput: %s %s %s, %s %s %s; %zu round%s", name_of(story, made->reference),
                   units_format_si(rate_of(story, made->reference), slow, sizeof(slow)), unit,
                   name_of(story, shown),
                   units_format_si(rate_of(story, shown), fast, sizeof(fast)), unit, rounds,
                   rounds == 1 ? "" : "s");
}

/* "recommended: partition, 188 items/s; none gave no rate in any round (...)." */
static void tell_lost(const struct story *story, struct finding *advice)
{
    const struct recommendation *made = &story->made;
    const struct arm_rounds *arms = story->analysis->rounds.arms, *lost = &arms[made->reference];
    char rate[32], name[80];
    format_name(story, name, sizeof(name));
    (void)snprintf(advice->sentence, sizeof(advice->sentence),
                   "recommended: %s, %s %s; no round of %s gave a rate (%.*s).", name,
                   units_format_si(rate_of(story, made->arm), rate, sizeof(rate)),
                   arms[made->arm].rate_unit, name_of(story, made->reference),
                   advice_reason_length(lost), lost->reason);
}

int advice_make(const struct analysis *analysis, const struct arm *of, struct finding *advice,
                struct err *err)
{
    struct story story = {
        .analysis = analysis, .result = analysis->result, .rows = &analysis->rows};
    const struct recommendation *made = &story.made;
    *advice = (struct finding){.id = "placement", .value = NAN, .low = NAN, .high = NAN};
    int rc = recommend_make(analysis, of, &story.made, err);
    if (rc || made->reference < 0)
        return rc;
    if (made->best < 0 && !made->disturbed)
        tell_same_plans(&story, advice);
    else if (!recommend_applies(made))
        advice_say_none(analysis, made, advice);
    else if (made->lost)
        tell_lost(&story, advice);
    else
        rc = tell_gain(&story, advice, err);
    if (made->best_gain.rounds)
        note_evidence(&story, advice);
    if (made->arm >= 0)
        advice_note_gain(&made->gain, advice);
    if (!rc && recommend_applies(made))
        (void)advice_command(story.result, &story.result->arms[made->arm], advice->command,
                             sizeof(advice->command));
    return rc;
}
