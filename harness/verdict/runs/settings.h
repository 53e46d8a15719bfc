/*
 * Settings: the ways to run the workers from which a search chooses, and the arms that measure
 * them. Pure apart from allocation.
 *
 * A setting is a placement with changes of its plan (engine/result.h).
 */
#ifndef CONTEND_VERDICT_RUNS_SETTINGS_H
#define CONTEND_VERDICT_RUNS_SETTINGS_H

#include <stddef.h>

#include "harness/engine/arms.h"
#include "harness/plan/options.h"

enum { SETTINGS_MOST = 256, SETTINGS_COUNTS = 16 };

struct setting {
    struct variant variant; /* of its arm: the plan, and the name */
    enum placement placement;
    unsigned workers;
    unsigned effort;         /* recommend_effort */
    unsigned team_doublings; /* doublings by which teams are larger than the placement's, or smaller
                     than half of it: such a setting is rarely the best */
    size_t arm;              /* index in result->arms */
};

/*
 * What is tried in addition to the placements, as lists. NULL: threads of the placement and half of
 * that; a reserve of 0, 1 and, from 32 cores on, a sixteenth of the cores; the usual waiting, and
 * waiting asleep.
 */
struct settings_tried {
    const char *threads, *reserve, *wait;
    struct plan_options common; /* of all plans */
    size_t most;                /* the most settings, taken in the order of struct settings */
};

/* Each setting has an arm. Ordered by `team_doublings`, then by effort. Zeroed = none. */
struct settings {
    size_t n, nleft;     /* nleft: further candidates without room, even if not possible */
    struct setting *all; /* owned, SETTINGS_MOST of them: arms borrow their variants */
};

/*
 * Adds settings that are possible, and whose plan differs from any simpler one, to `settings`, and
 * their arms to the result. An unchanged `none` for every worker count is always among them, as the
 * reference. If a placement of the request is not possible, its arm is skipped. -EINVAL: a list is
 * invalid; else the errors of plan_make.
 */
int settings_add(const struct topo *topo, const struct arms_request *request,
                 const struct settings_tried *tried, struct settings *settings,
                 struct result *result, struct err *err);

/* Adds one more setting without checking its plan. 0; -E2BIG: more than SETTINGS_MOST; or the
 * errors of plan_make, except -ENOSPC, where the arm is skipped. */
int settings_add_one(const struct topo *topo, const struct arms_request *request,
                     const struct setting *setting, struct settings *settings,
                     struct result *result, struct err *err);

/* True if the setting changes its placement; true if it has the changes of `other` and one more. */
bool settings_is_changed(const struct setting *setting);
bool settings_adds_to(const struct setting *setting, const struct setting *other);

/* "1,2,4": the number of counts in the list; 0 = not a list, out of range, or more than `room`. */
size_t settings_parse_counts(const char *text, int64_t least, int64_t most, int64_t *counts,
                             size_t room);

/* Removes a setting and its arm, which must have no observations. Later indices move. */
void settings_remove(struct settings *settings, size_t at, struct result *result);

void settings_free(struct settings *settings);

#endif
