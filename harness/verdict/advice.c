#include "harness/verdict/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/arms.h"
#include "harness/engine/collect.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"

bool advice_may_advise(enum placement placement)
{
    return placement_infos[placement].effort > 0;
}

const char *advice_format_ratio(double ratio)
{
    double shown = fabs(ratio);
    int digits = shown >= 9.95 ? 0 : shown >= 1.95 ? 1 : 2;
    if (isnan(ratio))
        return "-";
    return str_fmt("%.*fx", digits, ratio);
}

const char *advice_format_interval(const struct evidence *ratio)
{
    if (!isnan(ratio->low))
        return str_fmt("%s %s to %s", evidence_interval_name(ratio),
                       advice_format_ratio(ratio->low), advice_format_ratio(ratio->high));
    return "";
}

/* If the high of a few rounds is more than this multiple of the low, only the range is reported. */
static const double rounds_apart = 3;

/* "the default", or, in a run without `none`, the placement that gains are relative to. */
static const char *advice_reference(const struct analysis *analysis,
                                    const struct recommendation *recommendation)
{
    return recommendation->is_default
               ? "the default"
               : arm_name(&analysis->result->arms[recommendation->reference]);
}

/* The reference was cut off at the limit: its rate is an upper bound, so the ratio is a lower
 * bound. */
static const char *more_than(const struct analysis *analysis,
                             const struct recommendation *recommendation)
{
    bool bound = analysis->rounds.arms[recommendation->reference].status == STATUS_CENSORED;
    return bound && recommendation->arm != recommendation->reference ? "more than " : "";
}

static const char *format_ratio_to(const struct evidence *ratio, const char *bound, const char *of)
{
    bool few = ratio->rounds > 1 && ratio->rounds < STATS_RANGE_BELOW;
    bool apart = few && ratio->high > rounds_apart * ratio->low;
    const char *median = advice_format_ratio(apart ? ratio->low : ratio->ratio);
    const char *interval = advice_format_interval(ratio);
    if (apart && !bound[0])
        return str_fmt("between %s and %s %s", median, advice_format_ratio(ratio->high), of);
    return str_fmt("%s%s %s%s%s", bound, median, of,
                   ratio->rounds == 1 ? " in one round"
                   : apart            ? ""
                                      : ", ",
                   apart ? "" : interval);
}

const char *advice_format_load(const struct evidence *ratio)
{
    if (ratio->foreign > COLLECT_NOISY_FOREIGN)
        return str_fmt("others used %.0f%% of the CPUs", 100 * ratio->foreign);
    if (ratio->steal > COLLECT_NOISY_STEAL)
        return str_fmt("the hypervisor took %.0f%% of the CPUs", 100 * ratio->steal);
    return "the machine was disturbed";
}

const char *advice_format_gain(const struct analysis *analysis,
                               const struct recommendation *recommendation)
{
    const struct evidence *gain = &recommendation->gain;
    const char *reference = advice_reference(analysis, recommendation);
    if (recommend_applies(recommendation) && evidence_is_disturbed(gain))
        return str_fmt("at least %s %s in %zu of %zu rounds, while %s",
                       advice_format_ratio(gain->low), reference, gain->at_least, gain->rounds,
                       advice_format_load(gain));
    return format_ratio_to(gain, more_than(analysis, recommendation), reference);
}

void advice_note_gain(const struct evidence *gain, struct finding *finding)
{
    text_set(finding->metric, "throughput");
    text_set(finding->unit, "ratio");
    finding->value = gain->ratio;
    finding->low = gain->low;
    finding->high = gain->high;
}

/* "no recommendation: the rounds do not agree on a gain, while others used 44% of the CPUs. The
 * fastest, passive, was 1.12x the default, 95% 0.80x to 1.6x." */
static void report_disturbed(const struct analysis *analysis,
                             const struct recommendation *recommendation, const char *ratio,
                             struct finding *finding)
{
    const struct evidence *gain = &recommendation->best_gain;
    const char *load = advice_format_load(gain);
    if (2 * gain->one_sided > gain->rounds)
        text_set(finding->sentence,
                 "no recommendation: %s, and slowed only %s in %zu of %zu rounds.", load,
                 advice_reference(analysis, recommendation), gain->one_sided, gain->rounds);
    else if (gain->rounds < EVIDENCE_ROUNDS || gain->low > 1)
        text_set(finding->sentence, "no recommendation: %zu round%s, while %s.", gain->rounds,
                 gain->rounds == 1 ? " is too few" : "s are too few", load);
    else
        text_set(finding->sentence,
                 "no recommendation: the rounds do not agree on a gain, while %s.", load);
    text_add(finding->sentence, " The fastest, %s, was %s.",
             arm_name(&analysis->result->arms[recommendation->best]), ratio);
}

void advice_report_none(const struct analysis *analysis,
                        const struct recommendation *recommendation, struct finding *finding)
{
    const char *reference = advice_reference(analysis, recommendation);
    if (recommendation->best < 0 || !recommendation->best_gain.rounds)
        return;
    const char *ratio = format_ratio_to(&recommendation->best_gain, "", reference);
    const char *best = arm_name(&analysis->result->arms[recommendation->best]);
    if (recommendation->disturbed) {
        report_disturbed(analysis, recommendation, ratio, finding);
        return;
    }
    bool is_open =
        analysis->result->until_clear && recommendation->best_gain.outcome != OUTCOME_SAME;
    text_set(finding->sentence, "no measurable gain%s: %s%s. ", is_open ? " so far" : "",
             recommendation->is_default ? "leave it as it is" : "nothing is faster than ",
             recommendation->is_default ? "" : reference);
    text_add(finding->sentence,
             is_open ? "Still open: whether %s is better (%s)." : "The fastest other is %s, %s.",
             best, ratio);
}

int advice_reason_length(const struct arm_rounds *arm)
{
    return (int)strcspn(arm->reason, arm->status == STATUS_CENSORED ? ":" : "");
}

/* "-- ./train --epochs 1" */
static const char *format_words(char *const *words)
{
    const char *text = "--";
    for (; *words; words++)
        str_add(&text, " ", "%s", text_shell_word(*words));
    return text;
}

/* "--job-cores 4+12 --job 'a=-- x' --job 'b=-n 2 -- y' --emit sh": unlike jobs as `place` takes
 * them, without the options that measure them. */
static const char *format_jobs(const struct neighbours *jobs, const struct arm *arm)
{
    const char *text = "", *name = arm->variant->name;
    bool binds_memory = false;
    for (unsigned w = 0; w < arm->plan.nworkers; w++)
        binds_memory |= arm->plan.workers[w].mem_policy != MEM_DEFAULT;
    if (name && strchr(name, '+'))
        text = str_fmt("--job-cores %s", name);
    for (const struct neighbour *job = jobs->all; job < jobs->all + jobs->n; job++) {
        const unsigned n = (unsigned)job->workers;
        const char *words = str_fmt("%s=%s%s", job->name, n > 1 ? str_fmt("-n %u ", n) : "",
                                    format_words(job->argv));
        str_add(&text, " ", "--job %s", text_shell_word(words));
    }
    str_add(&text, " ", "--emit %s", binds_memory ? "numactl" : "sh");
    return text;
}

char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size)
{
    const struct plan_options *plan = arm->variant ? &arm->variant->plan : &result->plan;
    char options[PLAN_OPTIONS_MAX];
    const char *text = str_fmt("%s place", result->program ? result->program : "contend");
    if (!result->neighbours)
        str_add(&text, " ", "--workers %u", arm->planned_workers);
    str_add(&text, " ", "--placement %s", placement_infos[arm->placement].name);
    if (arm_background(arm) && !arm->plan.has_dose)
        str_add(&text, " ", "--background-workers %u", arm_background(arm));
    str_add(&text, "", "%s", plan_options_format(plan, options, sizeof(options)));
    const char *whole = str_fmt("%s", text);
    if (result->neighbours)
        str_add(&whole, " ", "%s", format_jobs(result->neighbours, arm));
    else if (result->command)
        str_add(&whole, " ", "%s", format_words(result->command));
    (void)snprintf(buf, size, "%s", strlen(whole) < size ? whole : result->neighbours ? "" : text);
    return buf;
}

static const enum placement fixes[] = {PLACE_SIZED, PLACE_PASSIVE};

struct basis {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis */
    struct recommendation recommendation;
};

static const char *name_of(const struct basis *basis, int arm)
{
    return arm_name(&basis->result->arms[arm]);
}

static const struct arm_rounds *rounds_of(const struct basis *basis, int arm)
{
    return &basis->analysis->rounds.arms[arm];
}

/* "833 items/s" */
static const char *format_rate(const struct basis *basis, int arm, const char *unit)
{
    return str_fmt("%s %s", units_si(rounds_of(basis, arm)->rate), unit);
}

static double loss_of(const struct basis *basis, const char *metric)
{
    return rows_median(&basis->analysis->rows,
                       &basis->result->arms[basis->recommendation.reference], metric);
}

/* Says what the extra time on the CPU was, if counters show it. */
static const char *describe_oncpu(const struct basis *basis)
{
    double more = loss_of(basis, "loss_oncpu_instructions_per_step");
    double slower = loss_of(basis, "loss_oncpu_stalls_per_step");
    if (isnan(more) || isnan(slower))
        return "extra time on the CPU: spinning, caches or memory bandwidth";
    return more > slower ? "spent on extra instructions, such as spinning at barriers"
                         : "spent on slower instructions: caches, memory bandwidth, SMT or clocks";
}

/* The largest part of the reference's loss, in words; nothing if no part is 1% or more. */
static void add_loss(const struct basis *basis, struct finding *advice)
{
    double loss = loss_of(basis, "loss_per_step"), queue = loss_of(basis, "loss_runqueue_per_step");
    double blocked = loss_of(basis, "loss_blocked_per_step");
    double oncpu = loss_of(basis, "loss_oncpu_per_step");
    const struct {
        double s;
        const char *words;
    } parts[] = {
        {oncpu, describe_oncpu(basis)},
        {blocked, isnan(queue) ? "blocked or in the run queue (the kernel does not report which)"
                               : "blocked: waiting for other threads, the device or memory"},
        {queue, "waiting in the run queue"},
        {loss_of(basis, "loss_throttled_per_step"),
         "being stopped by a quota of CPU time (cpu.max)"},
    };
    size_t largest = 0;
    if (isnan(blocked) || isnan(oncpu) || !(loss > 0))
        return;
    for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++)
        largest = parts[i].s > parts[largest].s ? i : largest;
    double percent = 100 * parts[largest].s / loss;
    double stolen = 100 * loss_of(basis, "loss_stolen_per_step") / blocked;
    if (percent < 1) /* no part grew: the cause was not seen */
        return;
    /* A part can exceed 100% of the loss if another part shrank; then report "all". */
    if (percent > 100.5)
        text_add(advice->sentence, "; all of the loss was %s", parts[largest].words);
    else
        text_add(advice->sentence, "; %.0f%% of the loss was %s", percent, parts[largest].words);
    /* Only the hypervisor's share of the blocked time is known. */
    if (largest == 1 && stolen >= 0.5)
        text_add(advice->sentence, ", including up to %.0f%% stolen by the hypervisor",
                 fmin(stolen, 100));
}

/* "OMP_NUM_THREADS=4"; "" for a placement that is not one environment variable. */
static const char *format_setting(const struct basis *basis, int arm)
{
    const struct arm *of = &basis->result->arms[arm];
    if (of->placement == PLACE_SIZED)
        return str_fmt("OMP_NUM_THREADS=%u", of->plan.workers[0].threads);
    if (of->placement == PLACE_PASSIVE)
        return "OMP_WAIT_POLICY=passive";
    return "";
}

static int find_fix(const struct basis *basis, enum placement placement)
{
    for (int at = 0; at < (int)basis->result->narms; at++) {
        const struct arm *arm = &basis->result->arms[at];
        const struct arm *like = &basis->result->arms[basis->recommendation.arm];
        if (arm->placement == placement && !arm->is_baseline && arm->bench == like->bench &&
            arm->params == like->params && arm->planned_workers == like->planned_workers &&
            !isnan(rounds_of(basis, at)->rate) && rounds_of(basis, at)->status <= STATUS_NOISY)
            return at;
    }
    return -1;
}

/* The gain of one variable alone, if it is neither recommended nor the fastest. */
static void add_fixes(const struct basis *basis, struct finding *advice)
{
    const struct recommendation *recommendation = &basis->recommendation;
    const char *between = "; ";
    for (size_t f = 0; f < sizeof(fixes) / sizeof(fixes[0]); f++) {
        int fix = find_fix(basis, fixes[f]);
        if (fix < 0 || fix == recommendation->arm || fix == recommendation->best ||
            !recommendation->is_default)
            continue;
        const struct evidence ratio =
            evidence_of_rates(basis->analysis, recommendation->reference, (size_t)fix);
        const bool is_ahead = ratio.outcome == OUTCOME_FASTER;
        const bool may_be =
            evidence_is_disturbed(&ratio) || ratio.low > 1 + result_within(basis->result);
        if (!ratio.rounds || (!is_ahead && may_be)) /* too few rounds to tell */
            continue;
        const char *gain = is_ahead ? advice_format_ratio(ratio.ratio) : "no measurable gain";
        text_add(advice->sentence, "%s%s alone: %s", between, format_setting(basis, fix), gain);
        between = ", ";
    }
}

/* If the recommended arm is the fastest: " Still open: whether passive, which is simpler, is
 * enough." */
static void add_simpler(const struct basis *basis, struct finding *advice)
{
    int simpler =
        basis->result->until_clear ? clear_simpler(basis->analysis, &basis->recommendation) : -1;
    if (simpler >= 0)
        text_add(advice->sentence, " Still open: whether %s, which is simpler, is enough.",
                 name_of(basis, simpler));
}

/* " partition, the fastest, is indistinguishable from it: 1.02x, range 0.98x to 1.05x." If the
 * fastest is the recommended one: what the next simplest adds. */
static void add_other(const struct basis *basis, struct finding *advice)
{
    const struct recommendation *recommendation = &basis->recommendation;
    bool is_best = recommendation->arm == recommendation->best;
    int other = is_best ? recommendation->next : recommendation->best;
    if (other < 0)
        return;
    const struct evidence more =
        evidence_of_rates(basis->analysis, recommendation->arm, (size_t)other);
    const struct evidence less =
        evidence_of_rates(basis->analysis, other, (size_t)recommendation->arm);
    if (!more.rounds)
        return;
    if (!is_best && basis->result->until_clear && more.outcome != OUTCOME_SAME) {
        text_add(advice->sentence, " Still open: whether %s, the fastest, is better (%s%s%s).",
                 name_of(basis, other), advice_format_ratio(more.ratio),
                 isnan(more.low) ? "" : ", ", advice_format_interval(&more));
        return;
    }
    const bool is_slower =
        less.outcome == OUTCOME_FASTER || less.low > 1 + result_within(basis->result);
    const char *does = !is_best    ? ", the fastest, is indistinguishable from it"
                       : is_slower ? " is slower"
                                   : " adds no measurable gain";
    text_add(advice->sentence, " %s%s: %s%s%s.", name_of(basis, other), does,
             advice_format_ratio(more.ratio), isnan(more.low) ? "" : ", ",
             advice_format_interval(&more));
}

/* "recommended: sized (OMP_NUM_THREADS=4), 18x the default", and the sentences after it. If the
 * default gave no rate: "recommended: partition, 188 items/s; no round of none gave a rate
 * (...)." */
static void report_gain(const struct basis *basis, struct finding *advice)
{
    const struct recommendation *recommendation = &basis->recommendation;
    const struct arm_rounds *failed = rounds_of(basis, recommendation->reference);
    const char *setting = format_setting(basis, recommendation->arm);
    text_set(advice->sentence, setting[0] ? "recommended: %s (%s), " : "recommended: %s, ",
             name_of(basis, recommendation->arm), setting);
    if (recommendation->reference_failed) {
        text_add(advice->sentence, "%s; no round of %s gave a rate (%.*s).",
                 format_rate(basis, recommendation->arm,
                             rounds_of(basis, recommendation->arm)->rate_unit),
                 name_of(basis, recommendation->reference), advice_reason_length(failed),
                 failed->reason);
        return;
    }
    text_add(advice->sentence, "%s", advice_format_gain(basis->analysis, recommendation));
    add_loss(basis, advice);
    add_fixes(basis, advice);
    text_add(advice->sentence, ".");
    if (recommendation->must_leave)
        text_add(advice->sentence, " It is the fastest that holds --slo, which %s does not.",
                 advice_reference(basis->analysis, recommendation));
    /* Beside two busy loops on 16 CPUs 13x, without them 8.3x: load slows a team that spins most.
     */
    if (evidence_is_disturbed(&recommendation->gain))
        text_add(advice->sentence, " Without that load the gain is not known: it may be smaller.");
    add_other(basis, advice);
    if (recommendation->arm == recommendation->best)
        add_simpler(basis, advice);
}

/* With one CPU, or one worker, all placements give the same plan. */
static void report_same_plans(const struct basis *basis, struct finding *advice)
{
    const struct arm *arms = basis->result->arms,
                     *reference = &arms[basis->recommendation.reference];
    for (size_t i = 0; i < basis->result->narms; i++)
        if (&arms[i] != reference && arms[i].planned_workers == reference->planned_workers &&
            !arms[i].is_baseline && arm_same_plan(&arms[i], reference))
            text_set(advice->sentence, "the placements possible here give the workers the same "
                                       "CPUs and threads: differences are chance.");
}

/* "throughput: none 833 items/s, sized 10.0 k items/s; 3 rounds". */
static void note_evidence(const struct basis *basis, struct finding *advice)
{
    const struct recommendation *recommendation = &basis->recommendation;
    int shown = recommend_applies(recommendation) ? recommendation->arm : recommendation->best;
    const char *unit = rounds_of(basis, shown)->rate_unit;
    size_t rounds = recommendation->best_gain.rounds;
    text_set(advice->evidence, "throughput: %s %s, %s %s; %zu round%s",
             name_of(basis, recommendation->reference),
             format_rate(basis, recommendation->reference, unit), name_of(basis, shown),
             format_rate(basis, shown, unit), rounds, rounds == 1 ? "" : "s");
}

struct finding advice_make(const struct analysis *analysis, const struct arm *of)
{
    const struct basis basis = {analysis, analysis->result, recommend_make(analysis, of)};
    const struct recommendation *recommendation = &basis.recommendation;
    struct finding advice = {.id = "placement", .value = NAN, .low = NAN, .high = NAN};
    if (recommendation->reference < 0)
        return advice;
    if (recommendation->best < 0 && !analysis->result->slo)
        report_same_plans(&basis, &advice);
    else if (!recommend_applies(recommendation))
        advice_report_none(analysis, recommendation, &advice);
    else
        report_gain(&basis, &advice);
    if (recommendation->best_gain.rounds)
        note_evidence(&basis, &advice);
    if (recommendation->arm >= 0)
        advice_note_gain(&recommendation->gain, &advice);
    if (recommend_applies(recommendation))
        (void)advice_command(basis.result, &basis.result->arms[recommendation->arm], advice.command,
                             sizeof(advice.command));
    return advice;
}
