/* Checks that rounds.csv and rows.csv match: each metric and key of an arm is once in both. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/stats/stats.h"
#include "harness/rows/metric.h"
#include "harness/store/read/recorded_parts.h"

struct group {
    const char *metric, *key, *unit, *better; /* borrowed */
    size_t first, n;                          /* in the values */
    unsigned line;                            /* of rounds.csv */
    bool has_row;                             /* rows.csv has it */
};

static int append(struct groups *groups, const struct round_values *values, const char *key,
                  unsigned line, struct err *err)
{
    const struct round_value *value = &values->value[values->n - 1];
    struct group *added = array_add(groups->group, groups->n, groups->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for the values of " CSV_ROUNDS_NAME);
    *added = (struct group){.metric = value->metric,
                            .key = key,
                            .unit = value->unit,
                            .better = value->better,
                            .first = values->n - 1,
                            .n = 1,
                            .line = line};
    return 0;
}

int groups_add(struct groups *groups, const struct round_values *values, const char *key,
               bool first_of_arm, const struct csv_reader *reader, struct err *err)
{
    const struct round_value *value = &values->value[values->n - 1], *before = value - 1;
    if (first_of_arm || !values_alike(value, before))
        return append(groups, values, key, reader->line, err);
    if (value->round <= before->round || before->round == VALUE_NO_ROUND)
        return csv_refuse(reader, err, "a round of %.60s that is not behind the one before it",
                          value->metric);
    if (strcmp(value->unit, before->unit) != 0 || strcmp(value->better, before->better) != 0)
        return csv_refuse(reader, err, "%.60s in %.30s, %s is better; in the line before %.30s, %s",
                          value->metric, value->unit, value->better, before->unit, before->better);
    groups->group[groups->n - 1].n++;
    return 0;
}

static int compare_names(const char *metric_a, const char *key_a, const char *metric_b,
                         const char *key_b)
{
    int by_metric = strcmp(metric_a, metric_b);
    return by_metric ? by_metric : strcmp(key_a, key_b);
}

static int compare(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    int names = compare_names(x->metric, x->key, y->metric, y->key);
    return names ? names : (x->line > y->line) - (x->line < y->line);
}

int groups_close_arm(struct groups *groups, const struct csv_reader *reader, struct err *err)
{
    size_t *added = array_add(groups->first, groups->narms, groups->arms_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for the arms of " CSV_ROUNDS_NAME);
    *added = groups->begin;
    size_t n = groups->n - groups->begin;
    struct group *of_arm = n ? groups->group + groups->begin : NULL;
    if (n)
        qsort(of_arm, n, sizeof(*of_arm), compare);
    for (size_t i = 1; i < n; i++) {
        const struct group *a = &of_arm[i - 1], *b = &of_arm[i];
        if (compare_names(a->metric, a->key, b->metric, b->key) == 0) {
            const struct csv_reader there = {.name = reader->name, .line = b->line};
            return csv_refuse(&there, err, "%.60s%s%.60s comes again, first in line %u", b->metric,
                              b->key[0] ? " at " : "", b->key, a->line);
        }
    }
    groups->begin = groups->n;
    return 0;
}

static struct group *find(const struct groups *groups, size_t arm, const char *metric,
                          const char *key)
{
    size_t low = groups->first[arm];
    size_t high = arm + 1 < groups->narms ? groups->first[arm + 1] : groups->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct group *group = &groups->group[middle];
        int order = compare_names(metric, key, group->metric, group->key);
        if (!order)
            return group;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The row must count the rounds that have a value, and its median must lie within their range. */
static int check_numbers(const struct group *group, const struct round_value *values,
                         const struct row *row, const struct csv_reader *reader, struct err *err)
{
    double low = INFINITY, high = -INFINITY;
    unsigned n = 0;
    for (size_t i = group->first; i < group->first + group->n; i++) {
        if (isnan(values[i].value))
            continue;
        n++;
        low = fmin(low, values[i].value);
        high = fmax(high, values[i].value);
    }
    if (row->rounds != n)
        return csv_refuse(reader, err, "%.60s over %u rounds; " CSV_ROUNDS_NAME " has %u of it",
                          row->metric, row->rounds, n);
    if (row_is_unresolved(row))
        return 0;
    /* rows.csv has nine digits. */
    double slack = 1e-8 * fmax(fabs(low), fabs(high));
    if (n ? !(row->median >= low - slack && row->median <= high + slack) : !isnan(row->median))
        return csv_refuse(reader, err, "the median of %.60s is not among its rounds, line %u of %s",
                          row->metric, group->line, CSV_ROUNDS_NAME);
    return 0;
}

/* Takes the interval from the rounds: other versions had another rule for it. */
static int take_interval(const struct group *group, const struct round_value *values,
                         struct row *row, struct err *err)
{
    double *sorted = calloc(group->n, sizeof(*sorted));
    if (!sorted)
        return err_set(err, -ENOMEM, "no memory for the rounds of %.60s", row->metric);
    for (size_t i = 0; i < group->n; i++)
        sorted[i] = values[group->first + i].value;
    const struct stats_interval ci = stats_median_interval(sorted, stats_sort(sorted, group->n));
    row->ci_low = ci.low;
    row->ci_high = ci.high;
    free(sorted);
    return 0;
}

int groups_check_row(struct groups *groups, const struct round_values *values, size_t arm,
                     struct row *row, const char *key, const struct csv_reader *reader,
                     struct err *err)
{
    struct group *group = find(groups, arm, row->metric, key);
    if (!group)
        return csv_refuse(reader, err, "%.60s%s%.60s is not in " CSV_ROUNDS_NAME, row->metric,
                          key[0] ? " at " : "", key);
    if (group->has_row)
        return csv_refuse(reader, err, "%.60s%s%.60s comes again", row->metric,
                          key[0] ? " at " : "", key);
    group->has_row = true;
    if (strcmp(row->unit, group->unit) != 0 || strcmp(row->better, group->better) != 0)
        return csv_refuse(reader, err,
                          "%.60s in %.30s, %s is better; in " CSV_ROUNDS_NAME " %.30s, %s",
                          row->metric, row->unit, row->better, group->unit, group->better);
    int rc = check_numbers(group, values->value, row, reader, err);
    return rc || row_is_unresolved(row) ? rc : take_interval(group, values->value, row, err);
}

/* True for the status of failed rounds if other rounds have values, and for parts of a loss that
 * the round of the median loss lacks. */
static bool may_have_no_row(const struct group *group)
{
    const struct metric_info *metric = metric_find(group->metric);
    return !strcmp(group->metric, VALUE_STATUS) || (metric && metric->is_loss);
}

int groups_check_rows(const struct groups *groups, size_t arm, struct err *err)
{
    size_t end = arm + 1 < groups->narms ? groups->first[arm + 1] : groups->n;
    for (size_t i = groups->first[arm]; i < end; i++) {
        const struct group *group = &groups->group[i];
        if (!group->has_row && !may_have_no_row(group))
            return err_set(err, -EINVAL, "%s has no line of %.60s%s%.60s, line %u of %s",
                           CSV_ROWS_NAME, group->metric, group->key[0] ? " at " : "", group->key,
                           group->line, CSV_ROUNDS_NAME);
    }
    return 0;
}

void groups_free(struct groups *groups)
{
    free(groups->group);
    free(groups->first);
    *groups = (struct groups){0};
}
