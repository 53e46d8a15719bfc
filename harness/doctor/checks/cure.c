#include "harness/doctor/checks/cure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

bool cure_names(const struct found *found, int pid)
{
    for (unsigned i = 0; i < found->npids; i++)
        if (found->pids[i] == pid)
            return true;
    return found->npids == FOUND_PIDS_MAX; /* it names more than it lists */
}

static bool is_bound(const struct check_binds *binds, const struct check_bind *bind)
{
    for (size_t i = 0; i < binds->n; i++)
        if (binds->all[i].pid == bind->pid)
            return true;
    return false;
}

/* True if an error or warning about one of its processes says that a binding does not help. */
static bool is_in_vain(const struct diagnosis *diagnosis, const struct found *found)
{
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct found *other = &diagnosis->all[i];
        if (other->cure < CURE_RESTART || other->finding.severity == FINDING_NOTE)
            continue;
        for (size_t b = 0; b < found->binds.n; b++)
            if (cure_names(other, found->binds.all[b].pid))
                return true;
    }
    return false;
}

static bool may_bind(const struct diagnosis *diagnosis, const struct found *found,
                     const struct check_binds *before)
{
    if (found->cure != CURE_BIND || !found->binds.n || is_in_vain(diagnosis, found))
        return false;
    for (size_t b = 0; b < found->binds.n; b++)
        if (is_bound(before, &found->binds.all[b]))
            return false;
    return true;
}

static int add_binds(const struct check_binds *more, struct check_binds *binds, struct err *err)
{
    for (size_t b = 0; b < more->n; b++) {
        struct check_bind *added = array_add(binds->all, binds->n, binds->capacity);
        if (!added)
            return err_set(err, -ENOMEM, "out of memory for %zu bindings", binds->n + 1);
        *added = more->all[b];
    }
    return 0;
}

int cure_decide(const struct diagnosis *diagnosis, bool tries, struct cure_plan *plan,
                struct err *err)
{
    int rc = 0;
    *plan = (struct cure_plan){.other = calloc(diagnosis->n + 1, sizeof(const void *))};
    if (!plan->other)
        return err_set(err, -ENOMEM, "out of memory for %zu findings", diagnosis->n);
    for (size_t i = 0; i < diagnosis->n && !rc; i++) {
        const struct found *found = &diagnosis->all[i];
        const bool is_unsure = found->finding.severity == FINDING_NOTE || isnan(found->gain.times);
        const bool may = may_bind(diagnosis, found, &plan->binds);
        plan->is_unsure |= may && is_unsure && !tries;
        if (may && (tries || !is_unsure))
            rc = add_binds(&found->binds, &plan->binds, err);
        else if (found->finding.severity == FINDING_BAD && found->npids)
            plan->other[plan->nother++] = found;
    }
    return rc;
}

void cure_free(struct cure_plan *plan)
{
    free(plan->binds.all);
    free(plan->other);
    *plan = (struct cure_plan){0};
}

const char *cure_format_other(const struct found *found)
{
    static const char *const kinds[] = {
        [CURE_BY_HAND] = "no binding",    [CURE_BIND] = "left for the next look",
        [CURE_SETTING] = "another start", [CURE_RESTART] = "a start with fewer threads",
        [CURE_FEWER] = "fewer processes", [CURE_ADMIN] = "a higher limit"};
    if (found->env_changes.n)
        return str_fmt("a start with '%s'", env_changes_format(&found->env_changes));
    return found->cure == CURE_BY_HAND && found->finding.command[0] ? "the command above"
           : found->cure == CURE_BIND && isnan(found->gain.times)   ? "of unknown gain"
                                                                    : kinds[found->cure];
}
