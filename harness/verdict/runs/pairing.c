#include "harness/verdict/runs/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/verdict/runs/new_params.h"

/* <0, 0, >0: by what makes a row one of its arm, without the metric. */
static int compare_arms(const struct paired_row *first, const struct paired_row *second)
{
    const struct row *a = first->row, *b = second->row;
    const char *const texts[][2] = {{a->bench, b->bench},         {a->scenario, b->scenario},
                                    {a->placement, b->placement}, {a->role, b->role},
                                    {a->device, b->device},       {first->params, second->params}};
    int order = (a->workers > b->workers) - (a->workers < b->workers);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !order; i++)
        order = strcmp(texts[i][0], texts[i][1]);
    return order;
}

static int compare_keys(const struct paired_row *a, const struct paired_row *b)
{
    int order = compare_arms(a, b);
    return order ? order : strcmp(a->row->metric, b->row->metric);
}

static int compare_rows(const void *first, const void *second)
{
    const struct paired_row *a = first, *b = second;
    int order = compare_keys(a, b);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int compare_pairs(const void *first, const void *second)
{
    const struct pair *a = first, *b = second;
    return (a->order > b->order) - (a->order < b->order);
}

static int gather(const struct pairing_runs sides[PAIRING_SIDES], struct pairing *pairing,
                  struct err *err)
{
    size_t n = 0;
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t run = 0; run < sides[side].n; run++)
            n += sides[side].runs[run]->rows.n;
    pairing->rows = calloc(n + 1, sizeof(*pairing->rows));
    pairing->pairs = calloc(n + 1, sizeof(*pairing->pairs));
    if (!pairing->rows || !pairing->pairs)
        return err_set(err, -ENOMEM, "out of memory for %zu rows", n);
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t run = 0; run < sides[side].n; run++) {
            const struct analysis *analysis = sides[side].runs[run];
            for (size_t i = 0; i < analysis->rows.n; i++, pairing->nrows++)
                pairing->rows[pairing->nrows] =
                    (struct paired_row){.row = &analysis->rows.row[i],
                                        .result = analysis->result,
                                        .side = side,
                                        .run = run,
                                        .order = pairing->nrows,
                                        .params = analysis->rows.row[i].params};
        }
    return 0;
}

/* A row behind another one of the same. */
static int check(const struct pairing_runs sides[PAIRING_SIDES], const struct paired_row *before,
                 const struct paired_row *row, struct err *err)
{
    const struct row *a = before->row, *b = row->row;
    if (before->side == row->side && before->run == row->run)
        return err_set(
            err, -EINVAL, "%.20s, run %.63s: two rows of the same: %.60s, %.30s, %.60s, %.40s",
            sides[row->side].name, b->run_id, b->bench, b->placement, b->params, b->metric);
    if (strcmp(a->unit, b->unit) != 0 || strcmp(a->better, b->better) != 0)
        return err_set(err, -EINVAL,
                       "%.40s of %.60s is in %.30s (%.10s is better) in run %.63s, and in %.30s "
                       "(%.10s) in run %.63s: not the same metric",
                       b->metric, b->bench, a->unit, a->better, a->run_id, b->unit, b->better,
                       b->run_id);
    return 0;
}

int pairing_make(const struct pairing_runs sides[PAIRING_SIDES], struct pairing *pairing,
                 struct err *err)
{
    *pairing = (struct pairing){0};
    int rc = gather(sides, pairing, err);
    if (!rc)
        rc = new_params_leave_out(pairing, err);
    if (rc)
        return rc;
    qsort(pairing->rows, pairing->nrows, sizeof(*pairing->rows), compare_rows);
    for (size_t i = 0; i < pairing->nrows && !rc; i++) {
        const struct paired_row *row = &pairing->rows[i];
        bool begins = i == 0 || compare_keys(&row[-1], row) != 0;
        if (begins)
            pairing->pairs[pairing->n++].order = row->order;
        else
            rc = check(sides, &row[-1], row, err);
        struct pair *pair = &pairing->pairs[pairing->n - 1];
        if (!pair->n[row->side]++)
            pair->rows[row->side] = row;
    }
    qsort(pairing->pairs, pairing->n, sizeof(*pairing->pairs), compare_pairs);
    return rc;
}

void pairing_free(struct pairing *pairing)
{
    for (size_t i = 0; i < pairing->nrows; i++)
        free(pairing->rows[i].own_params);
    free(pairing->rows);
    free(pairing->pairs);
    free(pairing->params);
    *pairing = (struct pairing){0};
}

const struct paired_row *pair_first(const struct pair *pair)
{
    for (int side = 0; side < PAIRING_SIDES; side++)
        if (pair->n[side])
            return pair->rows[side];
    return NULL;
}

bool pair_is_of_same_arm(const struct pair *pair, const struct pair *other)
{
    return compare_arms(pair_first(pair), pair_first(other)) == 0;
}

/* Whether the row says how an arm like the pair's ended that has no values. */
static bool is_end(const struct row *row, const struct row *wanted)
{
    return row->status >= STATUS_SKIPPED && !strcmp(row->metric, VALUE_STATUS) &&
           !strcmp(row->bench, wanted->bench) && !strcmp(row->placement, wanted->placement) &&
           !strcmp(row->role, wanted->role) && row->slots == wanted->slots;
}

const struct row *pairing_find_end(const struct pairing *pairing, const struct pair *pair,
                                   enum pairing_side side)
{
    const struct row *wanted = pair_first(pair)->row;
    for (size_t i = 0; i < pairing->nrows; i++)
        if (pairing->rows[i].side == side && is_end(pairing->rows[i].row, wanted))
            return pairing->rows[i].row;
    return NULL;
}

/* Why that run has no value of it; NULL = it has one, or does not say. */
static const struct row *find_end_in(const struct pairing *pairing, const struct pair *pair,
                                     enum pairing_side side, size_t run)
{
    const struct row *wanted = pair_first(pair)->row;
    for (size_t i = 0; i < pair->n[side]; i++) {
        const struct paired_row *own = &pair->rows[side][i];
        if (own->run == run)
            return own->row->status >= STATUS_SKIPPED ? own->row : NULL;
    }
    for (size_t i = 0; i < pairing->nrows; i++) {
        const struct paired_row *row = &pairing->rows[i];
        if (row->side == side && row->run == run && is_end(row->row, wanted))
            return row->row;
    }
    return NULL;
}

size_t pairing_count_ended(const struct pairing *pairing, const struct pair *pair,
                           enum pairing_side side, size_t runs, const struct row **first)
{
    size_t n = 0;
    *first = NULL;
    for (size_t run = 0; run < runs; run++) {
        const struct row *end = find_end_in(pairing, pair, side, run);
        n += end != NULL;
        *first = *first ? *first : end;
    }
    return n;
}
