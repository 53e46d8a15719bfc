#include "harness/verdict/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/verdict/advice.h"
#include "harness/verdict/bound.h"
#include "harness/verdict/odd.h"
#include "harness/verdict/recommend.h"

/* The names of a metric, and the words for a higher and a lower value. */
static const struct word {
    const char *metric, *name, *more, *less;
} words[] = {
    {"canary_integer", "integer loop", "slower", "faster"},
    {"canary_latency", "latency in L1", "higher", "lower"},
    {"canary_copy", "copy of memory", "faster", "slower"},
    {"canary_time", "kernel", "slower", "faster"},
    {"canary_cycles", "kernel in clock cycles", "longer", "shorter"},
};

static const struct word *word_of(const char *metric)
{
    static const struct word other = {"", "", "more", "less"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].metric, metric) == 0)
            return &words[i];
    return &other;
}

/* "copy of memory", "kernel on GPU 0": the GPU is the only dimension of controls. */
static const char *name_value(const char *metric, const struct dims *at)
{
    const char *name = word_of(metric)->name;
    const char *text = str_fmt("%s", name[0] ? name : metric);
    if (at->n)
        str_add(&text, " ", "on GPU %.0f", at->of[0].at);
    return text;
}

static bool is_number(const struct round_value *value)
{
    return !isnan(value->value) && value->round != VALUE_NO_ROUND;
}

/* The values of all arms that watch the machine; they come last. */
static const struct round_value *first_of(const struct analysis *analysis,
                                          const struct round_value **end)
{
    const struct round_values *values = &analysis->values;
    size_t measured = result_measured(analysis->result);
    *end = values->value + values->n;
    return values->n ? values->value + values->first[measured] : *end;
}

const char *control_format(const char *metric, const struct dims *at, double ratio)
{
    const struct word *word = word_of(metric);
    double percent = 100 * fabs(ratio - 1);
    int decimals = percent >= 0.95 ? 0 : percent >= 0.095 ? 1 : 2;
    return str_fmt("%s: %.*f%% %s", name_value(metric, at), decimals, fmax(percent, 0.01),
                   ratio > 1 ? word->more : word->less);
}

/* The widest range of all metrics, as largest / smallest; 1 = none. */
static double find_widest(const struct analysis *analysis, const struct round_value **widest)
{
    double most = 1;
    const struct round_value *end, *at = first_of(analysis, &end);
    while (at < end) {
        const struct round_value *first = at;
        double low = INFINITY, high = 0;
        for (; at < end && values_alike(at, first); at++) {
            low = fmin(low, is_number(at) ? at->value : (double)INFINITY);
            high = fmax(high, is_number(at) ? at->value : 0);
        }
        if (low > 0 && high / low > most) {
            most = high / low;
            *widest = first;
        }
    }
    return most;
}

/*
 * Adds a note if a metric's largest round is more than CONTROL_STEADY above its smallest. The note
 * counts the rounds that are that far from the median: one odd round is not an unsteady machine.
 */
static void control_find(const struct analysis *analysis, struct findings *findings)
{
    unsigned far = 0;
    size_t n = 0;
    struct finding finding = {.id = "machine_moved", .subject = "the machine itself"};
    const struct round_value *widest = NULL, *end, *first = first_of(analysis, &end);
    double range = find_widest(analysis, &widest);
    if (!widest || range <= 1 + CONTROL_STEADY)
        return;
    double *values = calloc((size_t)(end - first) + 1, sizeof(*values));
    findings->failed = findings->failed || !values;
    if (!values)
        return;
    for (const struct round_value *at = first; at < end; at++)
        if (is_number(at) && values_alike(at, widest))
            values[n++] = at->value;
    double median = stats_sort_median(values, n);
    for (size_t i = 0; i < n; i++)
        far += fmax(values[i] / median, median / values[i]) > 1 + CONTROL_STEADY;
    free(values);
    text_set(finding.sentence, "changed by %.0f%% from round to round (%s", 100 * (range - 1),
             name_value(widest->metric, &widest->dims));
    if (far)
        text_add(finding.sentence, ", %u of %zu rounds", far, n);
    text_add(finding.sentence, ")");
    findings_put(findings, &finding);
}

static void add_placement(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    unsigned most = 0, least = result_next_workers(result, 0);
    for (unsigned planned_workers = least; planned_workers;
         planned_workers = result_next_workers(result, planned_workers))
        most = planned_workers;
    for (size_t i = 0; i < result->narms; i++) {
        if (result->arms[i].planned_workers != most || !recommend_is_first(analysis, i))
            continue;
        const struct finding advice = advice_make(analysis, &result->arms[i]);
        if (advice.sentence[0] && most != least)
            findings_putf(findings, &advice, "with %u workers, %.560s", most, advice.sentence);
        else if (advice.sentence[0])
            findings_put(findings, &advice);
    }
}

/* What to type for a verdict: three times as much, and at least twice the rounds that a verdict
 * needs. Where steps were cut off, more of them prove nothing. */
static void advise_more(const struct analysis *measured, struct finding *all)
{
    enum { ROUNDS_LEAST = 12 };
    const struct result *result = measured->result;
    const double longer_s = ceil(3 * result->rounds_s);
    const unsigned more = 3 * result->rounds_done;
    bool cut = false;
    for (size_t i = 0; i < result->narms; i++)
        cut = cut || measured->rounds.arms[i].status == STATUS_CENSORED;
    if (cut)
        text_add(all->sentence, " Steps were cut off: run it again with a longer --limit.");
    else if (result->rounds_s > 0)
        text_add(all->sentence, " Run it again for longer, with --max-time %.0f%s.",
                 longer_s > 90 ? ceil(longer_s / 60) : longer_s, longer_s > 90 ? "m" : "");
    else
        text_add(all->sentence, " Run it again for longer, with --rounds %u.",
                 more > ROUNDS_LEAST ? more : ROUNDS_LEAST);
}

static int add_comparison(const struct analysis *measured, struct verdict *verdict, struct err *err)
{
    int rc = ab_compare(measured, &verdict->comparisons, err);
    if (rc || !verdict->comparisons.n)
        return rc;
    struct finding all;
    comparisons_to_finding(&verdict->comparisons, &all);
    if (!comparisons_decided(&verdict->comparisons) &&
        comparisons_count(&verdict->comparisons, OUTCOME_UNCLEAR))
        advise_more(measured, &all);
    findings_put(&verdict->findings, &all);
    return 0;
}

/* Judges the measured rows. `measured` excludes the arms that watch the machine. */
static int judge(const struct analysis *measured, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    const struct symmetry_distance distance = symmetry_topo_distance(topo);
    const struct result *result = measured->result;
    struct findings *findings = &verdict->findings;
    /* Runs whose arms differ by more than placement have findings of their own. */
    bool of_placements = !result->variants && result->purpose == PURPOSE_RUN;
    int rc = symmetry_make(&measured->rows, &distance, &verdict->symmetry, err);
    if (!rc && result->variants) /* pairing by round tolerates a busy machine */
        rc = add_comparison(measured, verdict, err);
    if (rc)
        return rc;
    if (of_placements)
        add_placement(measured, findings);
    if (of_placements || result->variants) /* others have what they find before it */
        slo_find(measured, findings);
    busy_find(measured, findings);
    scaling_find(measured, findings);
    for (size_t i = 0; i < result->narms; i++)
        retention_find(measured, &result->arms[i], findings);
    if (of_placements)
        bound_find(measured, findings);
    statuses_find(measured, findings);
    commands_find(measured, findings);
    clients_find(measured, findings);
    doses_find(measured, findings);
    scans_find(measured, findings);
    plans_find(topo, result, findings);
    gpus_find(topo, result, findings);
    gpus_find_changes(topo, result, findings);
    if (of_placements) /* with variants, equal units would be mixed from both */
        symmetry_findings(&verdict->symmetry, topo, findings);
    return 0;
}

int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err)
{
    struct result own;
    recommend_all(&verdict->analysis);
    const struct analysis measured = analysis_measured(&verdict->analysis, &own);
    int rc = judge(&measured, topo, verdict, err);
    if (!rc && !busy_among(&verdict->findings)) /* the finding "busy" already says why */
        control_find(&verdict->analysis, &verdict->findings);
    return rc ? rc : findings_check(&verdict->findings, err);
}

int verdict_make(const struct result *result, const struct topo *topo, struct verdict *verdict,
                 struct err *err)
{
    *verdict = (struct verdict){0};
    int rc = analysis_make(result, &verdict->analysis, err);
    return rc ? rc : verdict_judge(topo, verdict, err);
}

void verdict_free(struct verdict *verdict)
{
    findings_free(&verdict->findings);
    comparisons_free(&verdict->comparisons);
    symmetry_free(&verdict->symmetry);
    analysis_free(&verdict->analysis);
}

const char *collected_name(enum collected_end end)
{
    static const char *const names[COLLECTED_ENDS] = {"not reached", "measured",    "skipped",
                                                      "failed",      "interrupted", "no result"};
    return names[end];
}

size_t collection_count(const struct collection *collection, enum collected_end end)
{
    size_t n = 0;
    for (size_t i = 0; i < collection->n; i++)
        n += collection->all[i].end == end;
    return n;
}

void collected_judge(struct collected *collected, const struct findings *findings)
{
    const struct finding *whole = NULL;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        collected->doubts += finding->severity == FINDING_DOUBT;
        collected->bad += finding->severity == FINDING_BAD;
        if (!finding->subject[0] && (!whole || finding->severity < whole->severity))
            whole = finding;
    }
    text_set(collected->sentence, "%s", whole ? whole->sentence : "");
}

const char *collection_format(const struct collection *collection)
{
    static const enum collected_end order[] = {COLLECTED_MEASURED,    COLLECTED_SKIPPED,
                                               COLLECTED_FAILED,      COLLECTED_INTERRUPTED,
                                               COLLECTED_NOT_REACHED, COLLECTED_ABSENT};
    const char *between = ": ";
    const char *text = str_fmt("%zu scenario%s", collection->n, collection->n == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t n = collection_count(collection, order[i]);
        if (!n)
            continue;
        str_add(&text, between, "%zu %s", n, collected_name(order[i]));
        between = ", ";
    }
    return text;
}

const char *collected_format(const struct collected *collected)
{
    bool all = collected->rounds == collected->rounds_planned;
    const char *text = "";
    if (!collected->rounds || collected->end == COLLECTED_SKIPPED)
        return text;
    text = str_fmt("%u", collected->rounds);
    if (!all)
        str_add(&text, " ", "of %u", collected->rounds_planned);
    str_add(&text, " ", "round%s", collected->rounds == 1 && all ? "" : "s");
    if (collected->took_s > 0)
        str_add(&text, ", ", "%.0f s", collected->took_s);
    if (collected->bad)
        str_add(&text, ", ", "%zu wrong", collected->bad);
    if (collected->doubts)
        str_add(&text, ", ", "%zu in doubt", collected->doubts);
    return text;
}
