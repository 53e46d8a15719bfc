#include "harness/verdict/runs/history.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/rows/key.h"
#include "harness/rows/metric.h"
#include "harness/verdict/runs/history_say.h"
#include "harness/verdict/runs/new_params.h"

int history_add_run(struct history *history, const struct history_run *run, uint32_t *at,
                    struct err *err)
{
    struct history_run *grown =
        array_grown(history->runs, history->nruns, &history->runs_capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns + 1);
    history->runs = grown;
    *at = (uint32_t)history->nruns;
    grown[history->nruns] = *run;
    grown[history->nruns++].added = *at;
    return 0;
}

bool history_has_run(const struct history *history, const char *run_id)
{
    for (size_t i = 0; i < history->nruns; i++)
        if (strcmp(history->runs[i].run_id, run_id) == 0)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    const struct history_series *x = a, *y = b;
    const char *const of_x[] = {x->arm, x->params, x->metric, x->unit};
    const char *const of_y[] = {y->arm, y->params, y->metric, y->unit};
    int order = 0;
    for (size_t i = 0; i < 4 && !order; i++)
        order = strcmp(of_x[i], of_y[i]);
    return order;
}

static struct history_series *make_series(const struct history_figure *figure)
{
    const char *texts[] = {figure->arm, figure->params, figure->metric, figure->unit,
                           figure->better};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    struct history_series *series = calloc(1, sizeof(*series));
    if (!series)
        return NULL;
    char **const fields[] = {&series->arm, &series->params, &series->metric, &series->unit,
                             &series->better};
    size_t size = 0;
    for (size_t i = 0; i < TEXTS; i++)
        size += strlen(texts[i]) + 1;
    char *at = malloc(size);
    if (!at) {
        free(series);
        return NULL;
    }
    for (size_t i = 0; i < TEXTS; i++) {
        size_t length = strlen(texts[i]) + 1;
        memcpy(at, texts[i], length);
        *fields[i] = at;
        at += length;
    }
    series->canary = figure->canary;
    return series;
}

static void free_series(struct history_series *series)
{
    if (!series)
        return;
    free(series->arm);
    free(series->point);
    free(series);
}

/* Takes the series, or gives back the one of its name that is there. */
static struct history_series *enter(struct history *history, struct history_series *series)
{
    struct history_series **grown =
        array_grown(history->series, history->nseries, &history->series_capacity, sizeof(void *));
    if (grown)
        history->series = grown;
    struct history_series **found =
        grown ? tsearch(series, &history->by_name, compare_names) : NULL;
    if (!found) {
        free_series(series);
        return NULL;
    }
    if (*found == series)
        history->series[history->nseries++] = series;
    else
        free_series(series);
    return *found;
}

static struct history_series *find_series(struct history *history,
                                          const struct history_figure *figure)
{
    /* Only compared: tfind changes nothing. */
    struct history_series like = {.arm = (char *)(uintptr_t)figure->arm,
                                  .params = (char *)(uintptr_t)figure->params,
                                  .metric = (char *)(uintptr_t)figure->metric,
                                  .unit = (char *)(uintptr_t)figure->unit};
    struct history_series **found = tfind(&like, &history->by_name, compare_names);
    if (found)
        return *found;
    struct history_series *series = make_series(figure);
    return series ? enter(history, series) : NULL;
}

int history_add(struct history *history, const struct history_figure *figure, uint32_t run,
                double value, struct err *err)
{
    if (!(value > 0) || isinf(value))
        return 0;
    struct history_series *series = find_series(history, figure);
    struct history_point *grown =
        series ? array_grown(series->point, series->n, &series->capacity, sizeof(*grown)) : NULL;
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu series", history->nseries + 1);
    series->point = grown;
    grown[series->n++] = (struct history_point){run, value};
    return 0;
}

static void leave(void *series)
{
    (void)series; /* history->series has it */
}

void history_free(struct history *history)
{
    tdestroy(history->by_name, leave);
    for (size_t i = 0; i < history->nseries; i++)
        free_series(history->series[i]);
    free(history->series);
    free(history->runs);
    *history = (struct history){0};
}

static int compare_runs(const void *a, const void *b)
{
    const struct history_run *x = a, *y = b;
    int times = strcmp(x->started, y->started), ids = times ? 0 : strcmp(x->run_id, y->run_id);
    return times ? times : ids ? ids : (x->added > y->added) - (x->added < y->added);
}

static int compare_points(const void *a, const void *b)
{
    const struct history_point *x = a, *y = b;
    return (x->run > y->run) - (x->run < y->run);
}

/* Runs and points by time. */
static int sort_all(struct history *history, struct err *err)
{
    uint32_t *place = calloc(history->nruns + 1, sizeof(*place));
    if (!place)
        return err_set(err, -ENOMEM, "no memory for %zu runs", history->nruns);
    if (history->nruns)
        qsort(history->runs, history->nruns, sizeof(*history->runs), compare_runs);
    for (size_t i = 0; i < history->nruns; i++)
        place[history->runs[i].added] = (uint32_t)i;
    for (size_t i = 0; i < history->nseries; i++) {
        struct history_series *series = history->series[i];
        for (size_t j = 0; j < series->n; j++)
            series->point[j].run = place[series->point[j].run];
        qsort(series->point, series->n, sizeof(*series->point), compare_points);
    }
    for (size_t i = 0; i < history->nruns; i++)
        history->runs[i].added = (uint32_t)i;
    free(place);
    return 0;
}

bool history_is_worse(const struct history_series *series, const struct change *change)
{
    return (strcmp(series->better, "lower") == 0) == (change->ratio > 1);
}

bool history_is_tested(const struct history_series *series)
{
    return !series->canary && series->n >= CHANGES_RUNS;
}

/* Relative to another level than the one before it; the errors of the steps between them add up. */
static void hold_against(struct change *change, double level, double squares)
{
    double half = sqrt(squares);
    change->before = level;
    change->ratio = change->after / level;
    change->low = change->ratio * exp(-half);
    change->high = change->ratio * exp(half);
}

/*
 * What is too small to be told is none. It is held against the level before it and the one that was
 * told last, and told by the larger of the two: a loss that comes in small steps counts with one of
 * them, and a large step counts whatever small one went the other way before it.
 */
static void drop_small(struct changes *changes, double least)
{
    if (changes->drifts && fabs(log(changes->drift)) < least) {
        changes->drifts = false;
        changes->n = changes->found;
    }
    size_t kept = 0, steps = 0;
    double level = changes->n ? changes->change[0].before : 0, squares = 0;
    for (size_t i = 0; i < changes->n; i++) {
        struct change change = changes->change[i];
        squares += pow(log(change.high / change.ratio), 2);
        struct change sum = change;
        if (++steps > 1)
            hold_against(&sum, level, squares);
        if (fabs(log(sum.ratio)) > fabs(log(change.ratio)))
            change = sum;
        if (fabs(log(change.ratio)) < least)
            continue;
        changes->change[kept++] = change;
        level = change.after;
        squares = 0;
        steps = 0;
    }
    changes->n = kept;
}

static void find_in(struct history_series *series, double error, double least, double *logs,
                    double *scratch)
{
    for (size_t j = 0; j < series->n; j++)
        logs[j] = log(series->point[j].value);
    changes_find(logs, series->n, error, scratch, &series->changes);
    series->found = series->changes;
    series->found.n = series->found.found;
    series->lost =
        changes_lost(logs, series->n, error, strcmp(series->better, "lower") == 0, &series->found);
    if (fabs(log(series->lost.ratio)) < least)
        series->lost = (struct change){.ratio = 1};
    drop_small(&series->changes, least);
}

static int find_changes(struct history *history, struct err *err)
{
    size_t figures = 0, longest = 0;
    for (size_t i = 0; i < history->nseries; i++) {
        figures += history_is_tested(history->series[i]);
        longest = history->series[i]->n > longest ? history->series[i]->n : longest;
    }
    double *logs = calloc(2 * longest + 2, sizeof(*logs));
    if (!logs)
        return err_set(err, -ENOMEM, "no memory for %zu runs", longest);
    for (size_t i = 0; i < history->nseries; i++) {
        struct history_series *series = history->series[i];
        double share = series->canary || !figures ? 1 : (double)figures;
        find_in(series, HISTORY_ERROR / share, history->threshold, logs, logs + longest + 1);
    }
    free(logs);
    return 0;
}

int history_judge(struct history *history, const struct history_options *options,
                  struct findings *findings, struct err *err)
{
    *findings = (struct findings){0};
    history->threshold = log1p(options->threshold);
    int rc = sort_all(history, err);
    if (!rc)
        rc = find_changes(history, err);
    return rc ? rc : history_say(history, findings, err);
}

bool history_takes(const struct row *row)
{
    bool measured = row->status == STATUS_OK || row->status == STATUS_NOISY;
    return measured && strcmp(row->better, "none") != 0 && (row->arm->canary || row_gates(row));
}

void history_name(const struct row *row, char arm[static ROW_PARAMS_MAX],
                  char params[static ROW_PARAMS_MAX])
{
    char key[VALUE_KEY_MAX] = "", said[VALUE_KEY_MAX + 64] = "";
    if (row->key_length)
        (void)key_say(row->arm->bench, key_copy(row, key), said, sizeof(said));
    (void)snprintf(arm, ROW_PARAMS_MAX, "%s, %s, %u worker%s%s%s%s", row->bench, row->placement,
                   row->workers, row->workers == 1 ? "" : "s",
                   device_mark(device_find(row->device)), said[0] ? ", " : "", said);
    char own[ROW_PARAMS_MAX];
    (void)snprintf(
        params, ROW_PARAMS_MAX, "%.60s;%.16s;%.420s", row->scenario, row->device,
        new_params_without_defaults(row->arm->bench->opts, row->params, own, sizeof(own)));
}
