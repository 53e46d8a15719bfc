#include "harness/verdict/incidents.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"

/* If the whole interval is below this speed-up, the cure has no effect. */
static const double speed_up_least = 1.1;

const char *incident_end_name(enum incident_end end)
{
    static const char *const names[] = {"reproduced", "unclear", "not reproduced", "skipped",
                                        "failed"};
    return names[end];
}

/* "sick" of "sick=threads:4". */
static bool is_named(const char *name, const char *variant)
{
    size_t length = strcspn(variant, "=");
    return strlen(name) == length && !strncmp(name, variant, length);
}

static const char *cured_name(const struct incident *incident)
{
    return incident->variants[incident_changes(incident)];
}

/* The row of this variant and metric; NULL = it has none. */
static const struct row *find_row(const struct rows *rows, const char *variant, const char *metric)
{
    for (size_t i = 0; metric && i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (row->arm && row->arm->variant && is_named(row->arm->variant->name, variant) &&
            !strcmp(row->metric, metric))
            return row;
    }
    return NULL;
}

static void take_witness(const struct rows *rows, struct incident_outcome *outcome)
{
    const char *const variants[] = {outcome->incident->variants[0], cured_name(outcome->incident)};
    for (int i = 0; i < 2; i++) {
        const struct row *row = find_row(rows, variants[i], outcome->incident->witness);
        outcome->witness[i] = row ? row->median : (double)NAN;
        if (row)
            text_set(outcome->witness_unit, "%s", row->unit);
    }
}

static void take(const struct comparison *one, struct incident_outcome *outcome)
{
    bool more = !strcmp(one->better, "higher");
    text_set(outcome->unit, "%s", one->unit);
    outcome->before = one->evidence.base;
    outcome->after = one->evidence.other;
    outcome->rounds = (unsigned)one->evidence.rounds;
    outcome->speed_up = more ? one->evidence.ratio : 1 / one->evidence.ratio;
    outcome->low = more ? one->evidence.low : 1 / one->evidence.high;
    outcome->high = more ? one->evidence.high : 1 / one->evidence.low;
    /* One question was chosen in advance, so its own interval answers it, without the gating of
     * ab. */
    bool harms = outcome->incident->harms;
    bool shown = harms ? outcome->high < 1 : outcome->low > 1;
    bool excluded = harms ? outcome->low > 1 / speed_up_least : outcome->high < speed_up_least;
    outcome->end = one->evidence.outcome == OUTCOME_MISSING ? INCIDENT_SKIPPED
                   : shown                                  ? INCIDENT_SHOWN
                   : excluded                               ? INCIDENT_NOT
                                                            : INCIDENT_UNCLEAR;
    if (outcome->end != INCIDENT_SHOWN)
        text_set(outcome->reason, "%.290s", one->reason);
}

void incident_judge(const struct comparisons *comparisons, const struct rows *rows,
                    struct incident_outcome *outcome)
{
    const struct incident *incident = outcome->incident;
    const char *cured = cured_name(incident);
    outcome->speed_up = outcome->low = outcome->high = outcome->before = outcome->after = NAN;
    outcome->end = INCIDENT_FAILED;
    text_set(outcome->reason, "no value of %s", incident->metric);
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        if (!is_named(one->other, cured))
            continue;
        if (!strcmp(one->metric, incident->metric)) {
            outcome->reason[0] = '\0';
            take(one, outcome);
            break;
        }
        if (one->evidence.outcome == OUTCOME_MISSING) { /* it gates: the machine cannot show it */
            const struct row *row = find_row(rows, incident->variants[0], one->metric);
            if (!row || !isnan(row->median))
                row = find_row(rows, cured, one->metric);
            outcome->end = INCIDENT_SKIPPED;
            text_set(outcome->reason, "%.290s", row && row->reason[0] ? row->reason : one->reason);
        }
    }
    take_witness(rows, outcome);
}

size_t incidents_count(const struct incident_outcome *all, size_t n, enum incident_end end)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += all[i].end == end;
    return count;
}
