#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/runs/compare.h"

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
