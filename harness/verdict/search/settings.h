/*
 * Settings: the ways to run the workers among which a search chooses, and the arms that measure
 * them. Pure apart from allocation.
 *
 * A setting is a placement and what is changed about it: "partition+4t+r2+passive" has teams of 4
 * threads, keeps 2 cores free, and its threads wait asleep; "+3w" where worker counts differ.
 */
#ifndef CONTEND_VERDICT_SEARCH_SETTINGS_H
#define CONTEND_VERDICT_SEARCH_SETTINGS_H

#include <stddef.h>

#include "harness/engine/arms/arms.h"
#include "harness/plan/placement/options.h"

enum { SETTINGS_MOST = 256, SETTINGS_COUNTS = 16 };

struct setting {
    struct variant variant; /* its name, for arms and rows; it changes nothing else */
    enum placement placement;
    unsigned workers;
    struct plan_options plan; /* what is common to all, and what this one changes */
    unsigned effort;          /* recommend_effort */
    unsigned far; /* doublings by which its teams are larger than the placement's, or smaller than
                     half of those: the best is rarely there */
    size_t arm;   /* index in result->arms */
};

/*
 * What is tried beside the placements, as lists. NULL: threads as the placement has them and half
 * of that; a reserve of none, 1 and, of 32 cores and more, a sixteenth; waiting as ever, and
 * asleep.
 */
struct settings_tried {
    const char *threads, *reserve, *wait;
    struct plan_options common; /* of all plans */
    size_t most;                /* at most so many settings, the first of the order below */
};

/* Each with an arm of its own; the nearest first, and of equals the simplest. Zeroed = none. */
struct settings {
    size_t n, nleft;     /* nleft: more, for which there is no room, possible or not */
    struct setting *all; /* owned, SETTINGS_MOST of them: arms borrow their variants */
};

/*
 * Adds the settings that are possible and not the same plan as a simpler one to `settings`, and
 * their arms to the result. `none` is among them for every worker
 * count, unchanged: what others are held against. A placement of the request that cannot be had is
 * a skipped arm. -EINVAL: a list that cannot be read; else the errors of plan_make.
 */
int settings_add(const struct topo *topo, const struct arms_request *request,
                 const struct settings_tried *tried, struct settings *settings,
                 struct result *result, struct err *err);

/* One more, whose plan is not looked at. 0, or the errors of plan_make; of -ENOSPC it is none. */
int settings_add_one(const struct topo *topo, const struct arms_request *request,
                     const struct setting *setting, struct settings *settings,
                     struct result *result, struct err *err);

/* Something is changed about its placement; the same as of the other one, and one thing more. */
bool settings_is_changed(const struct setting *setting);
bool settings_adds_to(const struct setting *setting, const struct setting *other);

/* "1,2,4": how many numbers of that range; 0 = it is no list of them, or of more than `room`. */
size_t settings_parse_counts(const char *text, int64_t least, int64_t most, int64_t *counts,
                             size_t room);

/* Takes one back, with its arm, which nothing was observed of. Indices behind both move. */
void settings_remove(struct settings *settings, size_t at, struct result *result);

void settings_free(struct settings *settings);

/* "contend place --workers 2 --placement partition --reserve 2": what applies it. Returns buf. */
char *settings_command(const struct result *result, const struct setting *setting, char *buf,
                       size_t size);

#endif
