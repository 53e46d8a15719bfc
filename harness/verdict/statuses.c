#include "harness/verdict/odd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"

enum { REASONS_MAX = 2 }; /* reasons of absent placements; with more, only names are listed */

static const enum finding_severity severities[STATUSES] = {
    FINDING_NOTE, FINDING_DOUBT, FINDING_DOUBT, FINDING_NOTE, FINDING_BAD, FINDING_BAD};

const char *statuses_name_arm(const struct result *result, const struct arm *arm)
{
    const char *what;
    const char *planned_workers = "";
    if (arm->bench->scan) {
        what = format_arm(result, arm, NULL);
        return str_fmt("%s%s%s", arm->bench->name, what[0] ? ", " : "", what);
    }
    if (result_next_workers(result, result_next_workers(result, 0)))
        planned_workers =
            str_fmt(", %u worker%s", arm->planned_workers, arm->planned_workers == 1 ? "" : "s");
    return str_fmt("%s%s%s%s%s", placement_infos[arm->placement].name,
                   arm->is_baseline ? " alone" : "", planned_workers,
                   arm->variant ? ", variant " : "", arm->variant ? arm->variant->name : "");
}

struct search {
    const struct analysis *analysis;
    struct findings *findings;
    size_t first; /* index of the first finding of this search */
};

static const struct arm *arm_at(const struct search *search, size_t arm)
{
    return &search->analysis->result->arms[arm];
}

static bool is_absent(const struct arm *arm)
{
    return arm->plan.status == PLAN_SKIPPED;
}

/* Drops the benchmark's name if both begin with it: "queue 1, none". */
static const char *shorten(const char *subject, const char *like)
{
    const char *comma = strstr(subject, ", ");
    size_t length = comma ? (size_t)(comma - subject) + strlen(", ") : 0;
    return strncmp(subject, like, length) == 0 ? subject + length : subject;
}

/* Adds a subject to a finding; if there is no room, adds "and others" instead. */
static void add_subject(struct finding *earlier, const char *subject)
{
    static const char more[] = "; and others";
    size_t used = strlen(earlier->subject), room = sizeof(earlier->subject) - used;
    const char *name = shorten(subject, earlier->subject);
    bool full = used >= strlen(more) && !strcmp(earlier->subject + used - strlen(more), more);
    if (full)
        return;
    if (strlen("; ") + strlen(name) + sizeof(more) > room)
        (void)snprintf(earlier->subject + used, room, "%s", more);
    else
        (void)snprintf(earlier->subject + used, room, "; %s", name);
}

/* A missing feature is missing for all workers, so the worker that reports it does not matter. */
static bool same_reason(enum status status, const char *a, const char *b)
{
    int a_at = 0, b_at = 0;
    if (status == STATUS_SKIPPED) {
        (void)sscanf(a, "worker %*u: %n", &a_at);
        (void)sscanf(b, "worker %*u: %n", &b_at);
    }
    return strcmp(a + a_at, b + b_at) == 0;
}

static bool same_sentence(const struct finding *a, const struct finding *b)
{
    const char *skipped = status_name(STATUS_SKIPPED);
    size_t at = strlen(skipped) + strlen(": ");
    if (!strcmp(a->id, skipped) && !strcmp(b->id, skipped))
        return same_reason(STATUS_SKIPPED, a->sentence + at, b->sentence + at);
    return strcmp(a->sentence, b->sentence) == 0;
}

/* Arms with the same sentence share one finding. */
static void add_joined(const struct search *search, const struct finding *finding)
{
    for (size_t i = search->first; i < search->findings->n; i++)
        if (same_sentence(&search->findings->all[i], finding)) {
            add_subject(&search->findings->all[i], finding->subject);
            return;
        }
    findings_put(search->findings, finding);
}

/* How an arm, or a value of it, ended: "failed: a worker was killed"; only the reason if the value
 * is a bound. */
static struct finding make_finding(const struct search *search, const struct arm *arm,
                                   enum status status, const char *reason)
{
    struct finding finding = {.severity = severities[status]};
    bool bound = number_bound(reason)[0] || !strncmp(reason, "not resolved", 12);
    text_set(finding.id, "%s", status_name(status));
    text_set(finding.subject, "%s", statuses_name_arm(search->analysis->result, arm));
    text_set(finding.sentence, "%s%s%s", bound ? "" : status_name(status), bound ? "" : ": ",
             reason);
    return finding;
}

/* The first of a benchmark's arms that could run, if there are several and all ended alike, or
 * -1. */
static int first_of_all_alike(const struct search *search, const struct bench *bench)
{
    int first = -1;
    size_t n = 0;
    for (size_t i = 0; i < search->analysis->result->narms; i++) {
        const struct arm_rounds *own = &search->analysis->rounds.arms[i];
        if (arm_at(search, i)->bench != bench || is_absent(arm_at(search, i)))
            continue;
        first = n++ ? first : (int)i;
        const struct arm_rounds *other = &search->analysis->rounds.arms[first];
        if (own->status != other->status || !same_reason(own->status, own->reason, other->reason))
            return -1;
    }
    return n > 1 ? first : -1;
}

static void add_arm(const struct search *search, size_t index)
{
    const struct arm *arm = arm_at(search, index);
    int alike = arm->bench->scan ? first_of_all_alike(search, arm->bench) : -1;
    const struct arm_rounds *rounds = &search->analysis->rounds.arms[index];
    bool repeats = rounds->source != index;
    bool explained = rounds->status == STATUS_NOISY && busy_explains(search->findings, arm);
    const bool was_not_due = arm->idle && !arm->nobservations; /* a search says so itself */
    if (rounds->status == STATUS_OK || explained || repeats || was_not_due ||
        (is_absent(arm) && !arm->bench->scan))
        return;
    if (alike >= 0 && (size_t)alike < index && !is_absent(arm))
        return; /* reported with the first of the arms */
    struct finding finding = make_finding(search, arm, rounds->status, rounds->reason);
    if (alike >= 0 && (size_t)alike == index)
        text_set(finding.subject, "%s", arm->bench->name);
    add_joined(search, &finding);
}

/* Why a value of a scan is missing while others were measured, or is doubtful; false = it is
 * valid. */
static bool doubts_value(const struct search *search, const struct row *row,
                         struct finding *finding)
{
    const struct arm_rounds *of =
        &search->analysis->rounds.arms[row->arm - search->analysis->result->arms];
    if (!row->arm->bench->scan)
        return false;
    bool skipped = row->status >= STATUS_SKIPPED && row->status > of->status;
    const char *why = skipped ? row->reason : row_doubt(row, of);
    if (!why[0] && !skipped)
        return false;
    *finding = make_finding(search, row->arm, row->status, why);
    return true;
}

static bool is_reported(const struct findings *findings, const struct finding *finding)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].subject, finding->subject) &&
            !strcmp(findings->all[i].sentence, finding->sentence))
            return true;
    return false;
}

/* Reports each reason once per arm, then joins the arms that share it. */
static void add_values(const struct search *search)
{
    const struct rows *rows = &search->analysis->rows;
    struct findings of_arms = {0};
    struct finding finding;
    for (size_t i = 0; i < rows->n; i++)
        if (doubts_value(search, &rows->row[i], &finding) && !is_reported(&of_arms, &finding))
            findings_put(&of_arms, &finding);
    for (size_t i = 0; i < of_arms.n; i++)
        add_joined(search, &of_arms.all[i]);
    search->findings->failed = search->findings->failed || of_arms.failed;
    findings_free(&of_arms);
}

static bool is_not_here(const struct arm *arm, unsigned planned_workers)
{
    return !arm->bench->scan && !arm->is_baseline && arm->planned_workers == planned_workers &&
           is_absent(arm);
}

/* Only the names of the placements, or also the reasons if they are few. */
static void add_not_here(const struct search *search, unsigned planned_workers)
{
    const struct result *result = search->analysis->result;
    struct finding all = {.id = "absent_here", .subject = "not on this machine"};
    size_t n = 0;
    for (size_t i = 0; i < result->narms; i++)
        if (is_not_here(&result->arms[i], planned_workers))
            text_add(all.sentence, "%s%s", n++ ? ", " : "",
                     placement_infos[result->arms[i].placement].name);
    if (n > REASONS_MAX) {
        text_add(all.sentence, " ('contend info' says why)");
        findings_put(search->findings, &all);
        return;
    }
    for (size_t i = 0; i < result->narms; i++) {
        struct finding one = {.id = "not_here"};
        if (!is_not_here(&result->arms[i], planned_workers))
            continue;
        text_set(one.subject, "%s", statuses_name_arm(search->analysis->result, &result->arms[i]));
        text_set(one.sentence, "skipped: %s", result->arms[i].plan.reason);
        add_joined(search, &one);
    }
}

/* The worker that OpenMP gave the fewest of its planned threads; NULL if all teams are complete. */
static const struct worker_result *smallest_team(const struct arm *arm, unsigned *slot)
{
    const struct worker_result *smallest = NULL;
    for (size_t o = 0; o < arm->nobservations; o++)
        for (unsigned i = 0; i < arm->observations[o].nworkers; i++) {
            const struct observation *of = &arm->observations[o];
            const struct worker_result *worker = &of->workers[i];
            const struct plan_worker *planned = observation_planned(arm, of, i);
            bool less = planned && worker->least_team && worker->least_team < planned->threads;
            if (!less || (smallest && worker->least_team >= smallest->least_team))
                continue;
            smallest = worker;
            *slot = of->slot + i;
        }
    return smallest;
}

/* Teams that OMP_THREAD_LIMIT or OMP_DYNAMIC made smaller than planned. */
static void add_small_team(const struct search *search, const struct arm *arm)
{
    unsigned i = 0;
    const struct worker_result *worker = smallest_team(arm, &i);
    struct finding finding = {.id = "small_team"};
    if (!worker)
        return;
    text_set(finding.subject, "%s", statuses_name_arm(search->analysis->result, arm));
    findings_putf(search->findings, &finding,
                  "OpenMP gave worker %u a team of %u of the %u threads planned", i,
                  worker->least_team, arm->plan.workers[i].threads);
}

/* The median of one step is that step, and the first step under contention differs from later
 * ones. */
static void add_few_steps(const struct search *search, size_t index)
{
    const struct round_values *values = &search->analysis->values;
    const struct arm *arm = arm_at(search, index);
    struct finding finding = {.id = "few_steps", .severity = FINDING_DOUBT};
    double least = BENCH_STEPS_LEAST;
    unsigned few = 0, rounds = 0;
    for (size_t i = values->first[index]; i < values->first[index + 1]; i++) {
        const struct round_value *value = &values->value[i];
        if (strcmp(value->metric, METRIC_STEPS) != 0 || isnan(value->value))
            continue;
        rounds++;
        few += value->value < BENCH_STEPS_LEAST;
        least = fmin(least, value->value);
    }
    /* One run of a one-shot benchmark is enough. */
    if (!few || arm->bench->one_shot || search->analysis->rounds.arms[index].source != index)
        return;
    text_set(finding.subject, "%s", statuses_name_arm(search->analysis->result, arm));
    text_set(finding.sentence,
             "only %.0f step%s of a worker in %u of %u round%s: raise --limit, as medians need %d",
             least, least == 1 ? "" : "s", few, rounds, rounds == 1 ? "" : "s", BENCH_STEPS_LEAST);
    add_joined(search, &finding);
}

/* Above 1 does not mean that neighbours help: the solo run that it is relative to was slow. */
static void add_above_one(const struct search *search, size_t index)
{
    const struct arm *arm = arm_at(search, index);
    const struct row *row = rows_find(&search->analysis->rows, arm, "efficiency");
    struct finding finding = {.id = "efficiency_above_one"};
    if (arm->is_baseline || !row || !(row->ci_low > 1))
        return;
    text_set(finding.subject, "%s", statuses_name_arm(search->analysis->result, arm));
    text_set(finding.sentence,
             "efficiency is above 100%%, also by its interval: the solo run on a slice was slower "
             "than the same slice among %u workers. Clocks may rise under load (turbo, uncore), or "
             "rounds of the solo run were disturbed",
             arm->planned_workers);
    add_joined(search, &finding);
}

void statuses_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    const struct search search = {analysis, findings, findings->n};
    for (size_t i = 0; i < result->narms; i++)
        add_arm(&search, i);
    add_values(&search);
    for (size_t i = 0; i < result->narms; i++)
        add_few_steps(&search, i);
    for (size_t i = 0; i < result->narms; i++)
        add_above_one(&search, i);
    for (unsigned planned_workers = 0;
         (planned_workers = result_next_workers(result, planned_workers)) != 0;)
        add_not_here(&search, planned_workers);
    for (size_t i = 0; i < result->narms; i++)
        add_small_team(&search, &result->arms[i]);
}
