/* Judges the result of a search by fresh rounds. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/runs/tune.h"

struct judged {
    const struct tune *tune;
    const struct analysis *analysis;
    struct findings *findings;
    struct recommendation recommendation;
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

static const char *name_at(const struct judged *judged, size_t arm)
{
    return arm_name(&judged->analysis->result->arms[arm]);
}

/* "75% (95% 74% to 76%)" */
static const char *format_share(const struct evidence *ratio)
{
    const char *text = text_percent(ratio->ratio);
    if (!isnan(ratio->low))
        str_add(&text, " ", "(%s %s to %s)", evidence_interval_name(ratio),
                text_percent(ratio->low), text_percent(ratio->high));
    return text;
}

/* It failed in some fresh rounds: the rates of its other rounds do not count. */
static bool has_failed(const struct judged *judged, enum tune_role role)
{
    return judged->analysis->rounds.arms[setting_of(judged, role)->arm].status > STATUS_SKIPPED;
}

/* The recommended setting; NULL = nothing to apply. */
static const struct setting *recommended(const struct judged *judged)
{
    const struct settings *settings = &judged->tune->settings;
    for (size_t i = 0; recommend_applies(&judged->recommendation) && i < settings->n; i++)
        if (settings->all[i].arm == (size_t)judged->recommendation.arm)
            return &settings->all[i];
    return NULL;
}

/* "4 of at most 300" settings, or "": all were tried. */
static const char *format_tried(const struct tune *tune)
{
    const size_t all = tune->npossible + tune->settings.nleft;
    if (tune->ntried < all)
        return str_fmt("%zu of %s%zu settings", tune->ntried,
                       tune->settings.nleft ? "at most " : "", all);
    return "";
}

static void add_recommended(const struct judged *judged)
{
    const struct recommendation *recommendation = &judged->recommendation;
    const struct tune *tune = judged->tune;
    const struct arm_rounds *arms = judged->analysis->rounds.arms;
    const struct setting *setting = recommended(judged);
    struct finding finding = {.id = "tune", .value = NAN, .low = NAN, .high = NAN};
    const char *tried = format_tried(tune);
    if (recommendation->arm >= 0)
        advice_note_gain(&recommendation->gain, &finding);
    if (!setting)
        advice_report_none(judged->analysis, recommendation, &finding);
    else if (recommendation->reference_failed) /* `none` gave no rate, so there is no ratio */
        text_set(finding.sentence,
                 "recommended: %s, %s %s; no fresh round of none gave a rate (%.*s).",
                 name_at(judged, setting->arm), units_si(arms[recommendation->arm].rate),
                 arms[recommendation->arm].rate_unit,
                 advice_reason_length(&arms[recommendation->reference]),
                 arms[recommendation->reference].reason);
    else
        text_set(finding.sentence,
                 "recommended: %s, %s. Measured in %zu fresh round%s, after a search among %zu "
                 "setting%s.",
                 name_at(judged, setting->arm),
                 advice_format_gain(judged->analysis, recommendation), recommendation->gain.rounds,
                 recommendation->gain.rounds == 1 ? "" : "s", tune->ntried,
                 tune->ntried == 1 ? "" : "s");
    if (!finding.sentence[0])
        return;
    if (setting)
        (void)advice_command(judged->analysis->result,
                             &judged->analysis->result->arms[setting->arm], finding.command,
                             sizeof(finding.command));
    if (tried[0]) /* the best only of those tried */
        findings_putf(judged->findings, &finding, "tried %s, others may be better; %s", tried,
                      finding.sentence);
    else
        findings_put(judged->findings, &finding);
}

static bool is_same(const struct setting *one, const struct setting *other)
{
    const struct plan_options *a = &one->variant.plan, *b = &other->variant.plan;
    return one->placement == other->placement && one->workers == other->workers &&
           a->threads == b->threads && a->reserve == b->reserve && a->wait == b->wait;
}

/* The result of the search's leader, if another setting is recommended. */
static void add_leader(const struct judged *judged)
{
    const struct tune *tune = judged->tune;
    const struct setting *led = &tune->settings.all[tune->leader];
    const char *leader = led->variant.name;
    const struct setting *setting = recommended(judged);
    const char *name = setting ? name_at(judged, setting->arm) : "";
    struct finding finding = {.id = "tune_other", .value = NAN, .low = NAN, .high = NAN};
    bool measured = is_same(setting_of(judged, TUNE_LEADER), led);
    bool failed = has_failed(judged, TUNE_LEADER) && measured;
    if (failed && !setting) {
        text_set(finding.id, "tune_failed");
        finding.severity = FINDING_DOUBT;
    } else if (!setting || is_same(setting, led))
        return;
    if (failed)
        text_set(finding.sentence, "%s led the search, and failed in fresh rounds.", leader);
    else if (!measured)
        text_set(finding.sentence,
                 "%s led the search. There was no time to measure it again beside %s.", leader,
                 name);
    else {
        const struct evidence more = evidence_of_rates(
            judged->analysis, (int)setting_of(judged, TUNE_LEADER)->arm, setting->arm);
        text_set(finding.sentence,
                 "%s led the search, but is harder to apply: in the fresh rounds %s reaches %s of "
                 "its throughput.",
                 leader, name, format_share(&more));
    }
    findings_put(judged->findings, &finding);
}

static void add_fewer(const struct judged *judged, enum tune_role role)
{
    const struct finding finding = {.id = "tune_fewer_cores"};
    if (!has_role(judged, role))
        return;
    const struct setting *simplest = setting_of(judged, TUNE_SIMPLEST);
    const struct arm *arm = arm_of(judged, role);
    long long fewer = setting_of(judged, role)->variant.fewer;
    const char *of = name_of(judged, TUNE_SIMPLEST), *plural = fewer == 1 ? "" : "s";
    const struct evidence kept =
        evidence_of_rates(judged->analysis, (int)simplest->arm, setting_of(judged, role)->arm);
    if (arm->plan.status != PLAN_OK)
        findings_putf(judged->findings, &finding,
                      "With %lld core%s less, %s is not possible: %.120s.", fewer, plural, of,
                      arm->plan.reason);
    else if (kept.rounds)
        findings_putf(judged->findings, &finding,
                      "With %lld core%s less, %s keeps %s of its throughput.", fewer, plural, of,
                      format_share(&kept));
}

/* No setting gave a rate in each round, so a longer time would not help. */
static void add_none_ended(const struct judged *judged)
{
    const struct tune *tune = judged->tune;
    const char *why = "";
    for (size_t i = tune->nsearched; i-- > 0;) {
        size_t arm = tune->settings.all[i].arm;
        if (judged->analysis->result->arms[arm].nobservations)
            why = judged->analysis->rounds.arms[arm].reason;
    }
    findings_putf(judged->findings, &(struct finding){.id = "tune_lost", .severity = FINDING_BAD},
                  "No recommendation: none of the %zu settings tried gave a rate in each of its "
                  "rounds: %.200s.",
                  tune->ntried, why);
}

/* Reports that there were fewer fresh rounds of `none` than an interval needs. */
static void add_short(const struct judged *judged)
{
    const struct tune *tune = judged->tune;
    char rounds[80] = "There was no time for a fresh round";
    size_t n = has_role(judged, TUNE_NONE) ? arm_of(judged, TUNE_NONE)->nobservations : 0;
    if (tune->fresh_rounds || n >= TUNE_FRESH_LEAST)
        return;
    if (n)
        text_set(rounds, "There was time for %zu fresh round%s of none", n, n == 1 ? "" : "s");
    findings_putf(judged->findings,
                  &(struct finding){.id = "tune_short", .severity = FINDING_DOUBT},
                  "%s, but an interval takes %d. A round of none and one other setting takes %s "
                  "s here: --max-time %s suffices.",
                  rounds, TUNE_FRESH_LEAST, units_plain(tune->pair_s, 3),
                  tune_format_time(TUNE_FRESH_LEAST * tune->pair_s / (1 - TUNE_SEARCH_SHARE)));
}

static void add_untried(const struct judged *judged)
{
    const struct tune *tune = judged->tune;
    struct finding finding = {.id = "tune_untried"};
    const char *tried = format_tried(tune);
    if (!tried[0])
        return;
    text_set(finding.sentence,
             "%s were tried: the placements first, then changes of those that did well.", tried);
    if (tune->ntried < tune->npossible)
        text_add(finding.sentence, " A setting takes %s s here: --max-time %s tries %s.",
                 units_plain(tune->arm_s, 3), tune_format_time(tune_time_for_all(tune)),
                 tune->settings.nleft ? "more" : "all");
    findings_put(judged->findings, &finding);
}

void tune_judge(const struct tune *tune, const struct analysis *analysis, struct findings *findings)
{
    struct judged judged = {tune, analysis, findings, {0}};
    if (!tune->is_fresh || !tune->ntried)
        return;
    if (has_role(&judged, TUNE_NONE)) {
        judged.recommendation = recommend_make(analysis, arm_of(&judged, TUNE_NONE));
        add_recommended(&judged);
        add_leader(&judged);
        add_fewer(&judged, TUNE_QUARTER);
        add_fewer(&judged, TUNE_HALF);
    }
    if (tune->leader < tune->nsearched)
        add_short(&judged);
    else
        add_none_ended(&judged);
    add_untried(&judged);
}

static bool is_ahead(const struct arm_rounds *one, const struct arm_rounds *other)
{
    return one->n != other->n ? one->n > other->n : one->rate > other->rate;
}

/* The reference: `none` of the fresh rounds, or the search's leader; -1 = none. */
static int find_reference(const struct analysis *analysis, bool fresh)
{
    int found = -1;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        const struct arm_rounds *rounds = analysis->rounds.arms;
        if (!arm->variant || arm_is_fresh(arm) != fresh || isnan(rounds[i].rate))
            continue;
        if (fresh && arm->placement == PLACE_NONE && found < 0)
            found = (int)i;
        if (!fresh && (found < 0 || is_ahead(&rounds[i], &rounds[found])))
            found = (int)i;
    }
    return found;
}

static void add_lines(const struct analysis *analysis, bool fresh, struct tune_lines *lines)
{
    int reference = find_reference(analysis, fresh), recommended = -1;
    if (fresh && reference >= 0)
        recommended = recommend_make(analysis, &analysis->result->arms[reference]).arm;
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        bool says_why = fresh || arm->plan.status == PLAN_OK; /* others are in the findings */
        if (arm->variant && arm_is_fresh(arm) == fresh && says_why)
            lines->all[lines->n++] =
                (struct tune_line){.arm = i,
                                   .fresh = fresh,
                                   .rate = analysis->rounds.arms[i].rate,
                                   .against = evidence_of_rates(analysis, reference, i),
                                   .is_reference = (int)i == reference,
                                   .recommended = (int)i == recommended};
    }
}

static int by_ratio(const void *a, const void *b)
{
    const struct tune_line *one = a, *other = b;
    double x = isnan(one->against.ratio) ? -1 : one->against.ratio;
    double y = isnan(other->against.ratio) ? -1 : other->against.ratio;
    if (one->fresh != other->fresh)
        return one->fresh ? 1 : -1;
    return x != y ? (x < y ? -1 : 1) : (one->arm < other->arm ? -1 : 1);
}

int tune_lines_make(const struct analysis *analysis, struct tune_lines *lines, struct err *err)
{
    *lines = (struct tune_lines){.all = calloc(analysis->result->narms + 1, sizeof(*lines->all))};
    if (!lines->all)
        return err_set(err, -ENOMEM, "no memory for the lines of %zu settings",
                       analysis->result->narms);
    add_lines(analysis, false, lines);
    add_lines(analysis, true, lines);
    qsort(lines->all, lines->n, sizeof(*lines->all), by_ratio);
    return 0;
}

void tune_lines_free(struct tune_lines *lines)
{
    free(lines->all);
    *lines = (struct tune_lines){0};
}
