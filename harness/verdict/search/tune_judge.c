/* What fresh rounds say of what a search found. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/lib/stats/stats.h"
#include "harness/verdict/advice/advice.h"
#include "harness/verdict/search/tune_parts.h"

struct judged {
    const struct tune *tune;
    const struct analysis *analysis;
    struct recommendation made;
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
    return arm_name(arm_of(judged, role));
}

static int ratio_of(const struct judged *judged, size_t slow, size_t fast,
                    struct paired_ratio *ratio, struct err *err)
{
    return values_ratio(&judged->analysis->values, slow, fast, judged->analysis->result->seed,
                        ratio, err);
}

/* "75% (95% 74% to 76%)" */
static char *say_share(const struct paired_ratio *ratio, char *buf, size_t size)
{
    char median[16], low[16], high[16];
    (void)text_percent(ratio->median, median, sizeof(median));
    (void)snprintf(buf, size, "%s", median);
    if (!isnan(ratio->low))
        (void)snprintf(buf, size, "%s (%s %s to %s)", median, advice_interval_name(ratio->rounds),
                       text_percent(ratio->low, low, sizeof(low)),
                       text_percent(ratio->high, high, sizeof(high)));
    return buf;
}

/* In some of its fresh rounds: how fast it was in the others is no reason to take it. */
static bool has_failed(const struct judged *judged, enum tune_role role)
{
    return judged->analysis->rounds.arms[setting_of(judged, role)->arm].status > STATUS_SKIPPED;
}

/* The setting that is recommended; NULL where there is none to apply. */
static const struct setting *recommended(const struct judged *judged)
{
    const struct settings *settings = &judged->tune->settings;
    for (size_t i = 0; recommend_applies(&judged->made) && i < settings->n; i++)
        if (settings->all[i].arm == (size_t)judged->made.arm)
            return &settings->all[i];
    return NULL;
}

static void say_gain(const struct judged *judged, char *buf, size_t size)
{
    const struct recommendation *made = &judged->made;
    const struct tune *tune = judged->tune;
    char gain[200];
    (void)snprintf(buf, size,
                   "recommended: %s, %s. Measured in %zu fresh round%s that the search among %zu "
                   "setting%s has not seen.",
                   arm_name(&judged->analysis->result->arms[made->arm]),
                   advice_format_gain(judged->analysis, made, gain, sizeof(gain)),
                   made->gain.rounds, made->gain.rounds == 1 ? "" : "s", tune->ntried,
                   tune->ntried == 1 ? "" : "s");
}

/* There is no ratio to what gave nothing, and that is the best reason of all. */
static void say_lost(const struct judged *judged, char *buf, size_t size)
{
    const struct recommendation *made = &judged->made;
    const struct arm_rounds *arms = judged->analysis->rounds.arms;
    const struct arm_rounds *lost = &arms[made->reference];
    char rate[32];
    (void)snprintf(buf, size, "recommended: %s, %s %s; no fresh round of none gave a rate (%.*s).",
                   arm_name(&judged->analysis->result->arms[made->arm]),
                   units_format_si(arms[made->arm].rate, rate, sizeof(rate)),
                   arms[made->arm].rate_unit, advice_reason_length(lost), lost->reason);
}

/* In front of what is recommended: it is the best of those alone. */
static void say_tried(const struct tune *tune, struct finding *finding)
{
    enum { MOST = sizeof(finding->sentence) - 1 };
    char tried[100];
    const size_t all = tune->npossible + tune->settings.nleft;
    if (tune->ntried >= all || !finding->sentence[0])
        return;
    size_t used = (size_t)snprintf(tried, sizeof(tried),
                                   "tried %zu of %s%zu settings, others may be better; ",
                                   tune->ntried, tune->settings.nleft ? "at most " : "", all);
    memmove(finding->sentence + used, finding->sentence, MOST - used);
    memcpy(finding->sentence, tried, used);
}

static int add_recommended(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct recommendation *made = &judged->made;
    const struct setting *setting = recommended(judged);
    struct finding finding = {.id = "tune", .value = NAN, .low = NAN, .high = NAN};
    if (made->arm >= 0)
        advice_note_gain(&made->gain, &finding);
    if (setting && made->lost)
        say_lost(judged, finding.sentence, sizeof(finding.sentence));
    else if (setting)
        say_gain(judged, finding.sentence, sizeof(finding.sentence));
    else
        advice_say_none(judged->analysis, made, &finding);
    say_tried(judged->tune, &finding);
    if (setting)
        (void)settings_command(judged->analysis->result, setting, finding.command,
                               sizeof(finding.command));
    return finding.sentence[0] ? findings_add(findings, &finding, err) : 0;
}

/* What came of the leader of the search, where another is recommended. */
static int add_leader(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    const char *leader = tune->settings.all[tune->leader].variant.name;
    const struct setting *setting = recommended(judged);
    struct finding finding = {.id = "tune_other", .value = NAN, .low = NAN, .high = NAN};
    struct paired_ratio more = {0, NAN, NAN, NAN, false};
    char share[80];
    bool failed = has_failed(judged, TUNE_LEADER);
    bool measured = !strcmp(name_of(judged, TUNE_LEADER), leader);
    if (failed && measured && !setting) {
        (void)snprintf(finding.id, sizeof(finding.id), "tune_failed");
        finding.severity = FINDING_DOUBT;
    } else if (!setting || !strcmp(arm_name(&judged->analysis->result->arms[setting->arm]), leader))
        return 0;
    int rc = failed || !setting || !measured
                 ? 0
                 : ratio_of(judged, setting_of(judged, TUNE_LEADER)->arm, setting->arm, &more, err);
    if (failed && measured)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s led the search, and failed in fresh rounds.", leader);
    else if (!measured)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s led the search. There was no time to measure it again beside %s.",
                       leader, arm_name(&judged->analysis->result->arms[setting->arm]));
    else
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%s led the search and asks more of who applies it: in the fresh rounds %s "
                       "has %s of its throughput.",
                       leader, arm_name(&judged->analysis->result->arms[setting->arm]),
                       say_share(&more, share, sizeof(share)));
    return rc ? rc : findings_add(findings, &finding, err);
}

static int add_fewer(const struct judged *judged, enum tune_role role, struct findings *findings,
                     struct err *err)
{
    struct finding finding = {.id = "tune_fewer_cores", .value = NAN, .low = NAN, .high = NAN};
    struct paired_ratio kept;
    char share[80];
    if (!has_role(judged, role))
        return 0;
    const struct arm *arm = arm_of(judged, role);
    long long fewer =
        setting_of(judged, role)->plan.reserve - setting_of(judged, TUNE_SIMPLEST)->plan.reserve;
    const char *of = name_of(judged, TUNE_SIMPLEST);
    int rc = ratio_of(judged, setting_of(judged, TUNE_SIMPLEST)->arm, setting_of(judged, role)->arm,
                      &kept, err);
    if (rc)
        return rc;
    if (arm->plan.status != PLAN_OK)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "With %lld core%s fewer %s is not possible: %.120s.", fewer,
                       fewer == 1 ? "" : "s", of, arm->plan.reason);
    else if (kept.rounds)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "With %lld core%s fewer %s keeps %s of its throughput.", fewer,
                       fewer == 1 ? "" : "s", of, say_share(&kept, share, sizeof(share)));
    else
        return 0;
    return findings_add(findings, &finding, err);
}

/* A longer time helps nothing that does not end in any. */
static int add_none_ended(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {
        .id = "tune_lost", .severity = FINDING_BAD, .value = NAN, .low = NAN, .high = NAN};
    const char *why = "";
    for (size_t i = tune->nsearched; i-- > 0;) {
        size_t arm = tune->settings.all[i].arm;
        if (judged->analysis->result->arms[arm].nobservations)
            why = judged->analysis->rounds.arms[arm].reason;
    }
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "None of the %zu settings tried gave a rate in each of its rounds, so none is "
                   "recommended: %.200s.",
                   tune->ntried, why);
    return findings_add(findings, &finding, err);
}

/* Evidence that there was no time for: fewer fresh rounds of none than give an interval. */
static int add_short(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {
        .id = "tune_short", .severity = FINDING_DOUBT, .value = NAN, .low = NAN, .high = NAN};
    char rounds[80] = "There was no time for a fresh round", enough[TUNE_TIME_MAX];
    size_t n = has_role(judged, TUNE_NONE) ? arm_of(judged, TUNE_NONE)->nobservations : 0;
    if (tune->fresh_rounds || n >= TUNE_FRESH_LEAST)
        return 0;
    if (n)
        (void)snprintf(rounds, sizeof(rounds), "There was time for %zu fresh round%s of none", n,
                       n == 1 ? "" : "s");
    (void)snprintf(
        finding.sentence, sizeof(finding.sentence),
        "%s, and an interval takes %d. A round of none and one other setting takes "
        "%.3g s here: --max-time %s has room for them.",
        rounds, TUNE_FRESH_LEAST, tune->pair_s,
        tune_say_time(TUNE_FRESH_LEAST * tune->pair_s / (1 - TUNE_SEARCH_SHARE), enough));
    return findings_add(findings, &finding, err);
}

static int add_untried(const struct judged *judged, struct findings *findings, struct err *err)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {.id = "tune_untried", .value = NAN, .low = NAN, .high = NAN};
    char enough[TUNE_TIME_MAX];
    const size_t all = tune->npossible + tune->settings.nleft;
    if (tune->ntried >= all)
        return 0;
    int used = snprintf(finding.sentence, sizeof(finding.sentence),
                        "%zu of %s%zu settings were tried: the placements first, then changes of "
                        "those that did well.",
                        tune->ntried, tune->settings.nleft ? "at most " : "", all);
    if (tune->ntried < tune->npossible)
        (void)snprintf(finding.sentence + used, sizeof(finding.sentence) - (size_t)used,
                       " A setting takes %.3g s here: --max-time %s tries %s.", tune->arm_s,
                       tune_say_time(tune_time_for_all(tune), enough),
                       tune->settings.nleft ? "more" : "all");
    return findings_add(findings, &finding, err);
}

static int add_gains(struct judged *judged, struct findings *findings, struct err *err)
{
    if (!has_role(judged, TUNE_NONE))
        return 0;
    int rc = recommend_make(judged->analysis, arm_of(judged, TUNE_NONE), &judged->made, err);
    if (!rc)
        rc = add_recommended(judged, findings, err);
    if (!rc)
        rc = add_leader(judged, findings, err);
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
