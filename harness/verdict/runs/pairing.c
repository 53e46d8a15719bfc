#include "harness/verdict/runs/pairing.h"

#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/runs/compare.h"

/* <0, 0, >0: by all that identifies a row, without the metric. */
static int compare_arms(const struct paired_row *first, const struct paired_row *second)
{
    const struct row *a = first->row, *b = second->row;
    const char *const texts[][2] = {
        {a->bench, b->bench}, {a->scenario, b->scenario}, {first->placement, second->placement},
        {a->role, b->role},   {a->device, b->device},     {first->params, second->params}};
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

enum { VALUE_MAX = 128 };

/* Reads the next "name=value" of a params column and advances *at; false = end. */
static bool next_part(const char **at, char name[static VALUE_MAX], char value[static VALUE_MAX])
{
    if (!*at) /* never true for a row: the analyzer does not see it */
        return false;
    size_t length = strcspn(*at, ";"), equals = strcspn(*at, "=");
    if (!**at)
        return false;
    equals = equals < length ? equals : length;
    (void)snprintf(name, VALUE_MAX, "%.*s", (int)equals, *at);
    (void)snprintf(value, VALUE_MAX, "%.*s", (int)(length - equals), *at + equals);
    memmove(value, value + (value[0] == '='), strlen(value + (value[0] == '=')) + 1);
    *at += length + ((*at)[length] == ';');
    return true;
}

/* After the parameters come planned workers, the background, the variant and the key. */
static bool ends_params(const char *name)
{
    return strcmp(name, "slots") == 0;
}

/* Compares as values are written: "67108864" for 64M. Without a default it is 0 or an empty
 * text. */
static bool is_default(const struct opt *opt, const char *value)
{
    alignas(max_align_t) unsigned char field[sizeof(struct opt_texts)] = {0};
    struct opt alone = *opt;
    struct err err;
    alone.offset = 0;
    return (!opt->def || !opt_set(&alone, field, opt->def, &err)) &&
           !strcmp(opt_format_value(&alone, field), value);
}

const char *params_without_defaults(const struct opt *opts, const char *params)
{
    char name[VALUE_MAX], value[VALUE_MAX];
    const char *at = params, *from = at, *text = "";
    for (; next_part(&at, name, value) && !ends_params(name); from = at) {
        const struct opt *opt = opts_find(opts, name);
        if (!opt || !is_default(opt, value))
            str_add(&text, "", "%.*s", (int)(at - from), from);
    }
    str_add(&text, "", "%s", from);
    return text;
}

static int add_row(const struct pairing_runs *side, const struct paired_row *from,
                   struct pairing *pairing, struct err *err)
{
    const struct row *row = from->row;
    bool across = side->placement && !row->arm->is_control;
    if (across && strcmp(row->placement, side->placement) != 0)
        return 0;
    struct paired_row *added = &pairing->rows[pairing->nrows];
    *added = *from;
    added->placement = across ? "" : row->placement;
    added->params =
        strdup(params_without_defaults(row->arm ? row->arm->bench->opts : NULL, row->params));
    added->order = pairing->nrows++;
    return added->params ? 0 : err_set(err, -ENOMEM, "out of memory for parameters");
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
    int rc = 0;
    for (int side = 0; side < PAIRING_SIDES; side++)
        for (size_t run = 0; run < sides[side].n; run++) {
            const struct analysis *analysis = sides[side].runs[run];
            for (size_t i = 0; i < analysis->rows.n && !rc; i++)
                rc = add_row(&sides[side],
                             &(struct paired_row){.row = &analysis->rows.row[i],
                                                  .result = analysis->result,
                                                  .side = side,
                                                  .run = run},
                             pairing, err);
        }
    return rc;
}

/* Checks a row against the equal row before it. */
static int check(const struct pairing_runs sides[PAIRING_SIDES], const struct paired_row *before,
                 const struct paired_row *row, struct err *err)
{
    const struct row *a = before->row, *b = row->row;
    if (before->side == row->side && before->run == row->run)
        return err_set(err, -EINVAL, "%.20s, run %.63s: duplicate rows: %.60s, %.30s, %.60s, %.40s",
                       sides[row->side].name, b->run_id, b->bench, b->placement, b->params,
                       b->metric);
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
        free(pairing->rows[i].params);
    free(pairing->rows);
    free(pairing->pairs);
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

/* The status row without values of an arm like the pair's. */
static const struct row *find_end(const struct pairing *pairing, const struct pair *pair,
                                  enum pairing_side side, size_t run)
{
    const struct paired_row *first = pair_first(pair);
    const struct row *wanted = first->row;
    for (size_t i = 0; i < pairing->nrows; i++) {
        const struct paired_row *own = &pairing->rows[i];
        const struct row *row = own->row;
        if (own->side == side && own->run == run && row->status >= STATUS_SKIPPED &&
            !strcmp(row->metric, VALUE_STATUS) && !strcmp(row->bench, wanted->bench) &&
            !strcmp(own->placement, first->placement) && !strcmp(row->role, wanted->role) &&
            row->planned_workers == wanted->planned_workers)
            return row;
    }
    return NULL;
}

/* The row that says why the run has no value; NULL = it has one, or gives no reason. */
static const struct row *find_end_in(const struct pairing *pairing, const struct pair *pair,
                                     enum pairing_side side, size_t run)
{
    for (size_t i = 0; i < pair->n[side]; i++) {
        const struct paired_row *own = &pair->rows[side][i];
        if (own->run == run)
            return own->row->status >= STATUS_SKIPPED ? own->row : NULL;
    }
    return find_end(pairing, pair, side, run);
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

enum {
    APART_MAX = 200,
};

/* Differences between a row of base and one of new. */
struct differences {
    unsigned n;
    bool placement; /* one of them */
    char text[APART_MAX];
};

static void compare_texts(const char *name, const char *base, const char *other,
                          const struct pairing_runs *sides, struct differences *differences)
{
    if (!strcmp(base, other))
        return;
    differences->n++;
    text_append(differences->text, APART_MAX, "; ", "%.60s is %.60s in %.20s, %.60s in %.20s", name,
                base, sides[PAIRING_BASE].name, other, sides[PAIRING_OTHER].name);
}

/* The value of a params column at that name; NULL: it has none. */
static const char *find_value(const char *params, const char *name, size_t length)
{
    for (const char *at = params; *at; at += strcspn(at, ";"), at += *at == ';')
        if (!strncmp(at, name, length) && at[length] == '=') {
            at += length + 1;
            return str_fmt("%.*s", (int)strcspn(at, ";"), at);
        }
    return NULL;
}

/* Compares the parameters of `one`; with `missing` only those that `other` does not have. */
static void compare_params(const char *one, const char *other, bool missing,
                           const struct pairing_runs *sides, struct differences *differences)
{
    const char *end = row_key(one);
    for (const char *at = one; at < end && *at; at += strcspn(at, ";"), at += *at == ';') {
        size_t length = strcspn(at, "=;");
        const char *here = find_value(one, at, length);
        const char *there = find_value(other, at, length);
        bool is_slots = length == strlen("slots") && !strncmp(at, "slots", length);
        const char *name = str_fmt("%.*s", is_slots ? 7 : (int)length, is_slots ? "workers" : at);
        if (!missing)
            compare_texts(name, here, there ? there : "not set", sides, differences);
        else if (!there)
            compare_texts(name, "not set", here, sides, differences);
    }
}

static struct differences differences_of(const struct paired_row *base,
                                         const struct paired_row *other,
                                         const struct pairing_runs *sides)
{
    struct differences differences = {0};
    compare_texts("placement", base->placement, other->placement, sides, &differences);
    differences.placement = differences.n;
    compare_texts("scenario", base->row->scenario, other->row->scenario, sides, &differences);
    compare_texts("device", base->row->device, other->row->device, sides, &differences);
    compare_params(base->row->params, other->row->params, false, sides, &differences);
    compare_params(other->row->params, base->row->params, true, sides, &differences);
    return differences;
}

/* True if both measure the same, but for placement and options. */
static bool is_near(const struct row *a, const struct row *b)
{
    return !strcmp(a->metric, b->metric) && !strcmp(a->bench, b->bench) &&
           !strcmp(a->role, b->role) && !strcmp(row_key(a->params), row_key(b->params));
}

void apart_explain(const struct pairing *pairing, const struct pair *pair,
                   const struct pairing_runs sides[PAIRING_SIDES], struct comparison *comparison,
                   struct comparisons *comparisons)
{
    enum pairing_side own = pair->n[PAIRING_BASE] ? PAIRING_BASE : PAIRING_OTHER;
    enum pairing_side lacking = own == PAIRING_BASE ? PAIRING_OTHER : PAIRING_BASE;
    const struct paired_row *row = pair->rows[own];
    struct differences least = {0};
    for (size_t i = 0; i < pairing->n; i++) {
        const struct pair *other = &pairing->pairs[i];
        if (other->n[own] || !other->n[lacking] || !is_near(row->row, other->rows[lacking]->row))
            continue;
        const struct paired_row *near = other->rows[lacking];
        struct differences found = own == PAIRING_BASE ? differences_of(row, near, sides)
                                                       : differences_of(near, row, sides);
        if (!least.n || found.n < least.n)
            least = found;
    }
    text_add(comparison->reason, "only in %s%s%s", sides[own].name, least.n ? ": " : "",
             least.text);
    if (!comparison->gating || !least.n || comparisons->apart[0])
        return;
    text_set(comparisons->apart, "%s", least.text);
    comparisons->apart_by_placement = least.n == 1 && least.placement;
}

static bool is_disturbed(const struct pairing_runs *side, size_t *busy, const char **why)
{
    *busy = 0;
    for (size_t i = 0; side->busy && i < side->n; i++)
        if (side->busy[i]) {
            *why = side->busy[i];
            ++*busy;
        }
    return 2 * *busy > side->n;
}

static void put(const struct pairing_runs *side, size_t busy, const char *why,
                struct comparisons *comparisons)
{
    char runs[64] = "the run";
    if (side->n > 1)
        text_set(runs, "%zu of %zu runs", busy, side->n);
    text_append(comparisons->disturbed, sizeof(comparisons->disturbed), ", and ",
                "%s of %s %s disturbed: %.*s", runs, side->name, side->n > 1 ? "were" : "was",
                (int)strcspn(why, ":"), why);
}

void disturbed_doubt(const struct pairing_runs sides[PAIRING_SIDES],
                     struct comparisons *comparisons)
{
    bool disturbed[PAIRING_SIDES];
    for (int side = 0; side < PAIRING_SIDES; side++) {
        size_t busy;
        const char *why = "";
        disturbed[side] = is_disturbed(&sides[side], &busy, &why);
        if (disturbed[side] && side != PAIRING_HISTORY)
            put(&sides[side], busy, why, comparisons);
    }
    const bool base = disturbed[PAIRING_BASE], other = disturbed[PAIRING_OTHER];
    const bool both_hold =
        (sides[PAIRING_HISTORY].n >= RUN_SPREAD_LONG && disturbed[PAIRING_HISTORY]) ||
        (sides[PAIRING_BASE].n >= RUN_SPREAD_RUNS_LEAST &&
         sides[PAIRING_OTHER].n >= RUN_SPREAD_RUNS_LEAST);
    const bool holds[OUTCOMES] = {[OUTCOME_SLOWER] = base && other ? both_hold : !other,
                                  [OUTCOME_FASTER] = base && other ? both_hold : !base,
                                  [OUTCOME_SAME] = base && other ? both_hold : !base && !other};
    for (size_t i = 0; i < comparisons->n; i++) {
        struct comparison *one = &comparisons->all[i];
        bool decided = one->evidence.outcome == OUTCOME_SLOWER ||
                       one->evidence.outcome == OUTCOME_FASTER ||
                       one->evidence.outcome == OUTCOME_SAME;
        if (!decided || holds[one->evidence.outcome])
            continue;
        text_set(one->reason, "It looks %s, but %s.", finding_outcome_name(one->evidence.outcome),
                 comparisons->disturbed);
        one->evidence.outcome = OUTCOME_UNCLEAR;
    }
}
