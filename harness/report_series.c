#include "harness/report_series.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report_lines.h"

/* Values of keys as people say them. */
static const struct {
    const char *name, *value, *text;
} sayings[] = {
    {"pages", "4k", "4 KiB pages"},
    {"pages", "thp", "transparent huge pages"},
    {"pages", "hugetlb", "huge pages of the pool"},
    {"inject", "r", "others read"},
    {"inject", "rw", "others read and write (1:1)"},
    {"inject", "rrw", "others read and write (2:1)"},
    {"where", "smt", "SMT sibling"},
    {"where", "same-llc", "same last-level cache"},
    {"where", "other-llc", "other last-level cache"},
    {"where", "other-node", "other NUMA node"},
    {"aggressor", "l1", "aggressors stay in their L1"},
    {"aggressor", "stream", "aggressors stream"},
    {"aggressor", "random", "aggressors walk at random"},
    {"victim", "l2", "victim in its L2"},
    {"victim", "l3", "victim in the L3"},
    {"victim", "prep", "victim preprocesses"},
    {"stores", "nt", "non-temporal stores"},
    {"stores", "plain", "plain stores"},
};

static struct series *find_series(struct series_list *list, const struct arm *arm, const char *key)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->series[i].arm == arm && strcmp(list->series[i].key, key) == 0)
            return &list->series[i];
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        struct series *grown = realloc(list->series, capacity * sizeof(*grown));
        if (!grown)
            return NULL;
        list->series = grown;
        list->capacity = capacity;
    }
    struct series *added = &list->series[list->n++];
    *added = (struct series){.arm = arm};
    (void)snprintf(added->key, sizeof(added->key), "%s", key);
    return added;
}

static bool add_point(struct series *series, double x, const struct row *row)
{
    if (series->n == series->capacity) {
        size_t capacity = series->capacity ? 2 * series->capacity : 16;
        struct series_point *grown = realloc(series->points, capacity * sizeof(*grown));
        if (!grown)
            return false;
        series->points = grown;
        series->capacity = capacity;
    }
    size_t at = series->n++;
    for (; at > 0 && series->points[at - 1].x > x; at--)
        series->points[at] = series->points[at - 1];
    series->points[at] = (struct series_point){x, row};
    return true;
}

static bool add_arm(const struct report *report, const struct arm *arm, const char *metric,
                    const char *axis, struct series_list *list)
{
    size_t at = 0;
    for (const struct row *row; (row = scan_next(report->rows, arm, metric, &at));) {
        char key[VALUE_KEY_MAX];
        double x = scan_key_number(scan_key(row, arm, key), axis);
        if (isnan(x))
            continue;
        scan_key_drop(key, axis);
        struct series *series = find_series(list, arm, key);
        if (!series || !add_point(series, x, row))
            return false;
    }
    return true;
}

int series_make(const struct report *report, const char *metric, const char *axis,
                struct series_list *list, struct err *err)
{
    *list = (struct series_list){0};
    for (size_t i = 0; i < report->result->narms; i++) {
        const struct arm *arm = &report->result->arms[i];
        if (arm->bench->scan && !add_arm(report, arm, metric, axis, list))
            return err_set(err, -ENOMEM, "out of memory for the lines of %s", metric);
    }
    return list->n ? 0 : err_set(err, -ENODATA, "the run has no value of %s", metric);
}

void series_free(struct series_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->series[i].points);
    free(list->series);
    *list = (struct series_list){0};
}

double series_other(const struct report *report, const struct series *series,
                    const struct series_point *point, const char *metric)
{
    size_t at = 0;
    char own[VALUE_KEY_MAX], key[VALUE_KEY_MAX];
    (void)scan_key(point->row, series->arm, own);
    for (const struct row *row; (row = scan_next(report->rows, series->arm, metric, &at));)
        if (strcmp(scan_key(row, series->arm, key), own) == 0)
            return row->median;
    return NAN;
}

static const char *say(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++)
        if (strcmp(sayings[i].name, name) == 0 && strcmp(sayings[i].value, value) == 0)
            return sayings[i].text;
    return NULL;
}

/* Appends to text that is cut where the buffer ends. */
__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *fmt,
                                                         ...)
{
    size_t used = strlen(buf);
    va_list args;
    va_start(args, fmt);
    if (used && used + 2 < size)
        used += (size_t)snprintf(buf + used, size - used, ", ");
    if (used < size)
        (void)vsnprintf(buf + used, size - used, fmt, args);
    va_end(args);
}

static bool has_other_placement(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench && result->arms[i].params == arm->params &&
            result->arms[i].placement != arm->placement)
            return true;
    return false;
}

static void append_arm(const struct report *report, const struct arm *arm, const char *key,
                       char *buf, size_t size)
{
    char value[VALUE_KEY_MAX];
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!scan_key_get(key, opt->name, value) && report_opt_differs(report->result, arm, opt))
            append(buf, size, "%s %s", opt->name,
                   opt_format_value(opt, arm->params, value, sizeof(value)));
    if (has_other_placement(report->result, arm))
        append(buf, size, "%s", placement_infos[arm->placement].name);
}

char *series_name(const struct report *report, const struct arm *arm, const char *key, char *buf,
                  size_t size)
{
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; scan_key_part(key, part, name, value); part++) {
        const char *text = say(name, value);
        if (text)
            append(buf, size, "%s", text);
        else
            append(buf, size, "%s %s", name, value);
    }
    if (arm)
        append_arm(report, arm, key, buf, size);
    return buf;
}
