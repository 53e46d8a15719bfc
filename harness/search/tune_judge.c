/* What fresh rounds say of what a search found. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/judge/advice.h"
#include "harness/search/tune_parts.h"

struct judged {
    const struct tune *tune;
    const struct analysis *analysis;
    enum tune_role advised;
    struct paired_ratio gain; /* of the advised one over none */
};

static const struct setting *setting_of(const struct judged *judged, enum tune_role role)
{
    return &judged->tune->settings.all[judged->tune->role[role]];
}

static bool has_role(const struct judged *judged, enum tune_role role)
{
    return judged->tune->role[role] < judged->tune->settings.n;
}

static const struct arm *arm_of(const struct judged *judged, enum tune_role role)
{
    return &judged->analysis->result->arms[setting_of(judged, role)->arm];
}

static const char *name_of(const struct judged *judged, enum tune_role role)
{
    return tune_name(arm_of(judged, role));
}

static int ratio_of(const struct judged *judged, enum tune_role slow, enum tune_role fast,
                    struct paired_ratio *ratio, struct err *err)
{
    return values_ratio(&judged->analysis->values, setting_of(judged, slow)->arm,
                        setting_of(judged, fast)->arm, judged->analysis->result->seed, ratio, err);
}

/* Same setting under two roles. */
static bool is_same(const struct judged *judged, enum tune_role a, enum tune_role b)
{
    return judged->tune->role[a] == judged->tune->role[b];
}

/* "+3.1% (95% +2.0 to +4.2%)", "2.4x (range 2.2x to 2.6x)". */
static char *say_ratio(const struct paired_ratio *ratio, char *buf, size_t size)
{
    char median[32], interval[80];
    (void)advice_format_ratio(ratio->median, median, sizeof(median));
    (void)advice_format_interval(ratio, interval, sizeof(interval));
    (void)snprintf(buf, size, "%s%s%s%s", median, interval[0] ? " (" : "", interval,
                   interval[0] ? ")" : "");
    return buf;
}

/* In some of its fresh rounds: how fast it was in the others is no reason to take it. */
static bool has_failed(const struct judged *judged, enum tune_role role)
{
    return judged->analysis->rounds.arms[setting_of(judged, role)->arm].status > STATUS_SKIPPED;
}

/* The simplest, unless it failed or fresh rounds show it further behind the leader than the
 * tolerance. */
static int choose(struct judged *judged, struct paired_ratio *behind, struct err *err)
{
    *behind = (struct paired_ratio){0, NAN, NAN, NAN};
    judged->advised = TUNE_LEADER;
    int rc = ratio_of(judged, TUNE_SIMPLEST, TUNE_LEADER, behind, err);
    if (!rc && !has_failed(judged, TUNE_SIMPLEST) &&
        (behind->median <= 1 + judged->tune->tolerance || has_failed(judged, TUNE_LEADER)))
        judged->advised = TUNE_SIMPLEST;
    return rc ? rc : ratio_of(judged, TUNE_NONE, judged->advised, &judged->gain, err);
}

static const struct arm_rounds *rounds_of(const struct judged *judged, enum tune_role role)
{
    return &judged->analysis->rounds.arms[setting_of(judged, role)->arm];
}

/* `none` failed, or was cut off, in all fresh rounds, and what is advised was not. */
static bool is_none_lost(const struct judged *judged)
{
    const struct arm_rounds *none = rounds_of(judged, TUNE_NONE);
    return isnan(none->rate) && none->status >= STATUS_CENSORED && none->status != STATUS_SKIPPED &&
           rounds_of(judged, judged->advised)->rate > 0;
}

/* There is no ratio to what gave nothing, and that is the best reason of all. */
static int add_lost(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct arm_rounds *advised = rounds_of(judged, judged->advised);
    const struct arm_rounds *none = rounds_of(judged, TUNE_NONE);
    char rate[32];
    struct finding finding = {.id = "tune", .value = NAN, .low = NAN, .high = NAN};
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%s is advised: no fresh round of none gave a rate (%.*s), and it does %s %s.",
                   name_of(judged, judged->advised), advice_reason_length(none), none->reason,
                   units_format_si(advised->rate, rate, sizeof(rate)), advised->rate_unit);
    (void)settings_command(judged->analysis->result, setting_of(judged, judged->advised),
                           finding.command, sizeof(finding.command));
    return findings_add(findings, &finding, err);
}

static bool is_gain(const struct judged *judged)
{
    return judged->gain.low > 1 && judged->gain.median > 1 + judged->tune->tolerance &&
           !is_same(judged, judged->advised, TUNE_NONE);
}

/* Why nothing is better than `none`. */
static void say_as_it_is(const struct judged *judged, char *buf, size_t size)
{
    const struct tune *tune = judged->tune;
    size_t rounds = judged->gain.rounds;
    if (is_same(judged, TUNE_LEADER, TUNE_NONE)) /* nothing for fresh rounds to be held against */
        (void)snprintf(buf, size,
                       "Leave it as it is: in the search no setting of the %zu tried was more than "
                       "%.3g%% ahead of none.",
                       tune->ntried, 100 * tune->tolerance);
    else if (has_failed(judged, TUNE_LEADER))
        (void)snprintf(buf, size,
                       "Leave it as it is: %s led the search, and failed in fresh rounds.",
                       name_of(judged, TUNE_LEADER));
    else
        (void)snprintf(buf, size,
                       "Leave it as it is: no setting of the %zu tried is more than %.3g%% ahead "
                       "of none, as %zu fresh round%s.",
                       tune->ntried, 100 * tune->tolerance, rounds,
                       rounds == 1 ? " confirms" : "s confirm");
}

static int add_gain(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct result *result = judged->analysis->result;
    const struct paired_ratio *gain = &judged->gain;
    struct finding finding = {.id = "tune",
                              .metric = "throughput",
                              .unit = "ratio",
                              .value = gain->median,
                              .low = gain->low,
                              .high = gain->high};
    char ratio[160], near[96] = "";
    const char *name = name_of(judged, judged->advised);
    bool one = gain->rounds == 1;
    (void)say_ratio(gain, ratio, sizeof(ratio));
    /* Where there was little time, the simplest one stands for the leader in the fresh rounds. */
    const char *leader = judged->tune->settings.all[judged->tune->leader].variant.name;
    if (strcmp(leader, name) != 0)
        (void)snprintf(near, sizeof(near), " was near %s, which", leader);
    if (is_same(judged, judged->advised, TUNE_NONE))
        say_as_it_is(judged, finding.sentence, sizeof(finding.sentence));
    else if (is_gain(judged))
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s does %s the work of none, in %zu fresh round%s that the search among "
                       "%zu setting%s has not seen.",
                       name, ratio, gain->rounds, one ? "" : "s", judged->tune->ntried,
                       judged->tune->ntried == 1 ? "" : "s");
    else
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s%s led the search, but %zu fresh round%s not show that %s is better than "
                       "none: %s.",
                       name, near, gain->rounds, one ? " does" : "s do", name, ratio);
    if (is_gain(judged))
        (void)settings_command(result, setting_of(judged, judged->advised), finding.command,
                               sizeof(finding.command));
    return findings_add(findings, &finding, err);
}

static int add_failed(const struct judged *judged, struct findings *findings, struct err *err)
{
    struct finding finding = {
        .id = "tune_failed", .severity = FINDING_DOUBT, .value = NAN, .low = NAN, .high = NAN};
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%s led the search, and failed in fresh rounds: it is not advised.",
                   name_of(judged, judged->advised));
    return findings_add(findings, &finding, err);
}

/* Of two that differ: why the one, and what the other would add or cost. */
static int add_other(const struct judged *judged, const struct paired_ratio *behind,
                     struct findings *findings, struct err *err)
{
    struct finding finding = {.id = "tune_other", .value = NAN, .low = NAN, .high = NAN};
    char ratio[160];
    bool lost = has_failed(judged, TUNE_LEADER) || has_failed(judged, TUNE_SIMPLEST);
    bool said = is_same(judged, judged->advised, TUNE_NONE) && lost; /* why it is left as it is */
    if (is_same(judged, TUNE_SIMPLEST, TUNE_LEADER) || said || (!behind->rounds && !lost))
        return 0;
    const char *leader = name_of(judged, TUNE_LEADER), *simple = name_of(judged, TUNE_SIMPLEST);
    (void)say_ratio(behind, ratio, sizeof(ratio));
    if (lost && judged->advised == TUNE_SIMPLEST)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s was the fastest in the search, and failed in fresh rounds.", leader);
    else if (lost)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s would be simpler, and failed in fresh rounds.", simple);
    else if (judged->advised == TUNE_SIMPLEST)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s was the fastest in the search and asks more of who applies it: in the "
                       "fresh rounds it does %s the work of %s.",
                       leader, ratio, simple);
    else
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s would be simpler, but %s does %s its work.", simple, leader, ratio);
    return findings_add(findings, &finding, err);
}

static int add_fewer(const struct judged *judged, enum tune_role role, struct findings *findings,
                     struct err *err)
{
    struct finding finding = {.id = "tune_fewer_cores", .value = NAN, .low = NAN, .high = NAN};
    struct paired_ratio kept;
    char ratio[160];
    if (!has_role(judged, role))
        return 0;
    const struct arm *arm = arm_of(judged, role);
    long long fewer =
        setting_of(judged, role)->plan.reserve - setting_of(judged, TUNE_SIMPLEST)->plan.reserve;
    const char *of = name_of(judged, TUNE_SIMPLEST);
    int rc = ratio_of(judged, TUNE_SIMPLEST, role, &kept, err);
    if (rc)
        return rc;
    if (arm->plan.status != PLAN_OK)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "With %lld core%s fewer %s is not possible: %.120s.", fewer,
                       fewer == 1 ? "" : "s", of, arm->plan.reason);
    else if (kept.rounds)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "With %lld core%s fewer %s keeps %s of its work.", fewer,
                       fewer == 1 ? "" : "s", of, say_ratio(&kept, ratio, sizeof(ratio)));
    else
        return 0;
    return findings_add(findings, &finding, err);
}

/* "90", "8m": what an option takes, rounded up. */
static char *say_time(double seconds, char *buf, size_t size)
{
    bool minutes = seconds > 90;
    (void)snprintf(buf, size, minutes ? "%.0fm" : "%.0f", ceil(minutes ? seconds / 60 : seconds));
    return buf;
}

/* A longer time helps nothing that does not end in any. */
static int add_none_ended(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    const struct setting *all = tune->settings.all;
    struct finding finding = {
        .id = "tune_lost", .severity = FINDING_BAD, .value = NAN, .low = NAN, .high = NAN};
    const char *why = tune->nsearched ? judged->analysis->rounds.arms[all[0].arm].reason : "";
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "None of the %zu settings tried gave a rate in each of its rounds, so none is "
                   "advised: %.200s.",
                   tune->ntried, why);
    return findings_add(findings, &finding, err);
}

/* Evidence that there was no time for: fewer fresh rounds than give an interval. */
static int add_short(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {
        .id = "tune_short", .severity = FINDING_DOUBT, .value = NAN, .low = NAN, .high = NAN};
    char rounds[80] = "There was no time for a fresh round", enough[32];
    if (tune->fresh_rounds || tune->fresh_planned >= TUNE_FRESH_LEAST)
        return 0;
    if (tune->fresh_planned)
        (void)snprintf(rounds, sizeof(rounds), "There was time for %u fresh round%s alone",
                       tune->fresh_planned, tune->fresh_planned == 1 ? "" : "s");
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%s, and for an interval it takes %d: one of none and one other setting takes "
                   "%.3g s here. --max-time %s has room for them.",
                   rounds, TUNE_FRESH_LEAST, tune->pair_s,
                   say_time(tune_time_for_fresh(tune), enough, sizeof(enough)));
    return findings_add(findings, &finding, err);
}

static int add_untried(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {.id = "tune_untried", .value = NAN, .low = NAN, .high = NAN};
    const size_t left = tune->settings.nleft;
    if (tune->ntried >= tune->npossible + left)
        return 0;
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%zu of %s%zu settings were tried, rather those with teams near the usual size "
                   "that ask little of who applies them: a first round of all would have taken "
                   "too much of the time.",
                   tune->ntried, left ? "at most " : "", tune->npossible + left);
    return findings_add(findings, &finding, err);
}

static int add_gains(struct judged *judged, struct findings *findings, struct err *err)
{
    struct paired_ratio behind;
    if (!has_role(judged, TUNE_NONE))
        return 0;
    int rc = choose(judged, &behind, err);
    if (!rc && has_failed(judged, judged->advised))
        return add_failed(judged, findings, err);
    bool lost = !rc && !judged->gain.rounds && is_none_lost(judged);
    if (rc || (!judged->gain.rounds && !lost))
        return rc;
    rc = lost ? add_lost(judged, findings, err) : add_gain(judged, findings, err);
    if (!rc)
        rc = add_other(judged, &behind, findings, err);
    if (!rc)
        rc = add_fewer(judged, TUNE_QUARTER, findings, err);
    return rc ? rc : add_fewer(judged, TUNE_HALF, findings, err);
}

int tune_judge(const struct tune *tune, const struct analysis *analysis, struct findings *findings,
               struct err *err)
{
    struct judged judged = {.tune = tune, .analysis = analysis};
    if (!tune->is_fresh || !tune->ntried)
        return 0;
    int rc = add_gains(&judged, findings, err);
    if (!rc && tune->leader < tune->nsearched)
        rc = add_short(&judged, findings, err);
    else if (!rc)
        rc = add_none_ended(&judged, findings, err);
    return rc ? rc : add_untried(&judged, findings, err);
}
