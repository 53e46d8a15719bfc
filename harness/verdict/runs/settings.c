#include "harness/verdict/runs/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/verdict/advice.h"

enum { HALF = -1 }; /* of the placement's threads */

struct counts {
    size_t n;
    int64_t count[SETTINGS_COUNTS];
};

/* The settings to try: all meaningful combinations of these values. */
struct space {
    const struct topo *topo;
    const struct arms_request *request;
    const struct settings_tried *tried;
    struct counts threads, reserve, wait;
    bool many_counts; /* of workers */
    size_t n, nleft;  /* candidates; nleft: further ones without room */
    struct setting *candidates;
};

size_t settings_parse_counts(const char *text, int64_t least, int64_t most, int64_t *counts,
                             size_t room)
{
    size_t n = 0;
    for (const char *at = text; n < room; at++) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || value < least || value > most)
            break;
        counts[n++] = value;
        if (!*end)
            return n;
        if (*end != ',')
            break;
        at = end;
    }
    return 0;
}

static int parse_counts(const char *name, const char *text, int64_t least, struct counts *counts,
                        struct err *err)
{
    counts->n = settings_parse_counts(text, least, 4096, counts->count, SETTINGS_COUNTS);
    return counts->n ? 0
                     : err_set(err, -EINVAL,
                               "%s '%.60s' is not a list of up to %d numbers %lld to "
                               "4096",
                               name, text, SETTINGS_COUNTS, (long long)least);
}

static int parse_waits(const char *text, struct counts *counts, struct err *err)
{
    size_t length = 0;
    for (int64_t wait = 0; plan_wait_choices[wait]; wait++)
        if (text_has_word(text, ',', plan_wait_choices[wait])) {
            counts->count[counts->n++] = wait;
            length += strlen(plan_wait_choices[wait]) + 1;
        }
    return length == strlen(text) + 1
               ? 0
               : err_set(err, -EINVAL, "wait '%.60s' is not a list of auto and passive", text);
}

static int read_lists(const struct settings_tried *lists, struct space *space, struct err *err)
{
    const unsigned cores = space->topo->ncores;
    space->threads = (struct counts){2, {0, HALF}};
    space->reserve = (struct counts){cores >= 32 ? 3 : 2, {0, 1, cores / 16}};
    space->wait = (struct counts){2, {0, 1}};
    int rc = lists->threads ? parse_counts("threads", lists->threads, 1, &space->threads, err) : 0;
    if (!rc && lists->reserve)
        rc = parse_counts("reserve", lists->reserve, 0, &space->reserve, err);
    if (rc || !lists->wait)
        return rc;
    space->wait.n = 0;
    return parse_waits(lists->wait, &space->wait, err);
}

/* A worker's threads if only the placement sets them; 0 = not possible. */
static int64_t usual_threads(const struct space *space, const struct setting *setting)
{
    struct plan_options plan_options = setting->variant.plan;
    struct plan plan;
    struct plan_request request = space->request->plan;
    int64_t threads = 0;
    plan_options.threads = 0;
    request.placement = setting->placement;
    request.workers = setting->workers;
    int rc = plan_options_apply(&plan_options, &request, NULL);
    if (rc)
        return 0;
    if (!plan_make_or_skip(space->topo, &request, &plan, NULL) && plan.status == PLAN_OK)
        threads = plan.workers[0].threads;
    plan_free(&plan);
    return threads;
}

static unsigned doublings(int64_t from, int64_t to)
{
    unsigned n = 0;
    for (; from < to; from *= 2)
        n++;
    return n;
}

static unsigned count_doublings(int64_t threads, int64_t usual)
{
    if (!threads || !usual)
        return 0;
    return threads > usual ? doublings(usual, threads) : doublings(threads, usual / 2);
}

static void add_candidate(struct space *space, enum placement placement, unsigned workers,
                          const int64_t change[3])
{
    struct setting setting = {
        .placement = placement, .workers = workers, .variant.plan = space->tried->common};
    struct plan_options *plan = &setting.variant.plan;
    if (space->n == SETTINGS_MOST) {
        space->nleft++;
        return;
    }
    plan->reserve = change[1];
    plan->wait = (int)change[2];
    int64_t usual = change[0] ? usual_threads(space, &setting) : 0;
    plan->threads = change[0] == HALF ? usual / 2 : change[0];
    if (change[0] == HALF && !plan->threads)
        return;
    setting.team_doublings = count_doublings(plan->threads, usual);
    variant_put_name(&setting.variant, placement, space->many_counts ? workers : 0);
    setting.effort = recommend_effort(placement, &setting.variant);
    space->candidates[space->n++] = setting;
}

static void add_changes(struct space *space, enum placement placement, unsigned workers)
{
    if (!advice_may_advise(placement)) /* only unchanged */
        return;
    for (size_t t = 0; t < space->threads.n; t++)
        for (size_t r = 0; r < space->reserve.n; r++)
            for (size_t w = 0; w < space->wait.n; w++) {
                const int64_t change[3] = {space->threads.count[t], space->reserve.count[r],
                                           space->wait.count[w]};
                /* Passive with fewer threads is the same as `sized` with waiting asleep. */
                bool is_other = placement == PLACE_PASSIVE && (change[0] || change[2]);
                if (!is_other && (change[0] || change[1] || change[2]))
                    add_candidate(space, placement, workers, change);
            }
}

static int by_order(const void *a, const void *b)
{
    const struct setting *one = a, *other = b;
    if (one->team_doublings != other->team_doublings)
        return one->team_doublings < other->team_doublings ? -1 : 1;
    if (one->effort != other->effort)
        return one->effort < other->effort ? -1 : 1;
    if (one->placement != other->placement)
        return one->placement < other->placement ? -1 : 1;
    return strcmp(one->variant.name, other->variant.name);
}

static void add_unchanged(struct space *space, enum placement placement, unsigned workers)
{
    static const int64_t none[3] = {0};
    add_candidate(space, placement, workers, none);
}

/* For each worker count `none`, then the requested placements that may be recommended. */
static void add_each(struct space *space, void (*add)(struct space *, enum placement, unsigned))
{
    const struct arms_request *request = space->request;
    for (size_t w = 0; w < request->nworkers; w++) {
        add(space, PLACE_NONE, request->workers[w]);
        for (size_t p = 0; p < request->nplacements; p++)
            if (advice_may_advise(request->placements[p]))
                add(space, request->placements[p], request->workers[w]);
    }
}

/* Unchanged settings come first: if there are too many, changed ones are left out. */
static void find_candidates(struct space *space)
{
    add_each(space, add_unchanged);
    add_each(space, add_changes);
    qsort(space->candidates, space->n, sizeof(*space->candidates), by_order);
}

void settings_remove(struct settings *settings, size_t at, struct result *result)
{
    struct setting *gone = &settings->all[at];
    struct arm *arm = &result->arms[gone->arm];
    size_t behind = --result->narms - gone->arm;
    plan_free(&arm->plan);
    memmove(arm, arm + 1, behind * sizeof(*arm));
    memmove(gone, gone + 1, (--settings->n - at) * sizeof(*gone));
    for (size_t i = at; i < settings->n; i++) /* arms borrow their variants */
        result->arms[--settings->all[i].arm].variant = &settings->all[i].variant;
}

static int count_changes(const struct setting *setting)
{
    return (setting->variant.plan.threads != 0) + (setting->variant.plan.reserve != 0) +
           (setting->variant.plan.wait != 0);
}

bool settings_is_changed(const struct setting *setting)
{
    return count_changes(setting) > 0;
}

/* True for half the threads, too, if the reserve has already reduced them: threads count as one
 * change. */
bool settings_adds_to(const struct setting *setting, const struct setting *other)
{
    const struct plan_options *plan = &setting->variant.plan, *less = &other->variant.plan;
    int differ = (!plan->threads != !less->threads) + (plan->reserve != less->reserve) +
                 (plan->wait != less->wait);
    return setting->placement == other->placement && setting->workers == other->workers &&
           differ == 1 && count_changes(setting) == count_changes(other) + 1;
}

/* Same plan as a simpler setting; or changed, and not possible. */
static bool is_superfluous(const struct setting *setting, const struct result *result)
{
    const struct arm *arm = &result->arms[setting->arm];
    if (arm->plan.status != PLAN_OK)
        return settings_is_changed(setting);
    for (size_t i = 0; i < setting->arm; i++)
        if (arm_same_plan(&result->arms[i], arm))
            return true;
    return false;
}

int settings_add_one(const struct topo *topo, const struct arms_request *request,
                     const struct setting *setting, struct settings *settings,
                     struct result *result, struct err *err)
{
    struct setting *added = &settings->all[settings->n];
    bool optional = true;
    if (settings->n == SETTINGS_MOST)
        return err_set(err, -E2BIG, "more than %d settings", SETTINGS_MOST);
    *added = *setting;
    added->arm = result->narms;
    struct arms_request one = *request;
    one.variant = &added->variant;
    one.placements = &added->placement;
    one.nplacements = 1;
    one.workers = &added->workers;
    one.nworkers = 1;
    one.optional = &optional;
    int rc = plan_options_apply(&added->variant.plan, &one.plan, err);
    if (!rc)
        rc = arms_add(topo, &one, result, err);
    settings->n += !rc;
    return rc;
}

/* Adds a candidate if it is possible and its plan differs from any simpler one. */
static int try_candidate(const struct space *space, const struct setting *candidate,
                         struct settings *settings, struct result *result, struct err *err)
{
    struct err why;
    int rc = settings_add_one(space->topo, space->request, candidate, settings, result, &why);
    if (!rc && is_superfluous(&settings->all[settings->n - 1], result))
        settings_remove(settings, settings->n - 1, result);
    if (rc == -EINVAL && settings_is_changed(candidate)) /* the reserve leaves no cores */
        return 0;
    return rc ? err_set(err, rc, "%s", why.msg) : 0;
}

static int try_all(struct space *space, struct settings *settings, struct result *result,
                   struct err *err)
{
    int rc = 0;
    find_candidates(space);
    size_t i = 0;
    for (; i < space->n && settings->n < space->tried->most && !rc; i++)
        rc = try_candidate(space, &space->candidates[i], settings, result, err);
    settings->nleft = space->nleft + space->n - i;
    return rc;
}

int settings_add(const struct topo *topo, const struct arms_request *request,
                 const struct settings_tried *tried, struct settings *settings,
                 struct result *result, struct err *err)
{
    struct space space = {
        .topo = topo, .request = request, .tried = tried, .many_counts = request->nworkers > 1};
    int rc = read_lists(tried, &space, err);
    if (rc)
        return rc;
    settings->all = calloc(SETTINGS_MOST, sizeof(*settings->all));
    space.candidates = calloc(SETTINGS_MOST, sizeof(*space.candidates));
    rc = settings->all && space.candidates
             ? try_all(&space, settings, result, err)
             : err_set(err, -ENOMEM, "no memory for %d settings", SETTINGS_MOST);
    free(space.candidates);
    return rc;
}

void settings_free(struct settings *settings)
{
    free(settings->all);
    *settings = (struct settings){0};
}
