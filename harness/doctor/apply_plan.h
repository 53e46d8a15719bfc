/*
 * Finds the workers among the processes of a view, and plans CPUs for them. Pure, except for what
 * plan_make needs and the mask that this process was started with.
 */
#ifndef CONTEND_DOCTOR_APPLY_PLAN_H
#define CONTEND_DOCTOR_APPLY_PLAN_H

#include <limits.h>

#include "harness/doctor/reader/view.h"
#include "harness/lib/err.h"
#include "harness/plan/plan.h"

/* Writes the leads to leads[view->nprocesses] and returns their number. A lead is a busy process
 * that is not a helper of another busy one (view_lead). */
size_t apply_find_leads(const struct view *view, const struct view_process **leads);

/* The index of the lead that is the process or an ancestor of it; `n` = none. The process need not
 * be busy: one that waits now may work later. */
size_t apply_worker_of(const struct view *view, const struct view_process *process,
                       const struct view_process *const *leads, size_t n);

/* -EINVAL for an unknown placement, and for one that binds nothing. */
int apply_parse_placement(const char *name, enum placement *placement, struct err *err);

/*
 * Plans one slice of CPUs for each lead. Sorts `leads` by the GPUs that they use, in topology
 * order, because slices are assigned in that order. -EINVAL: the placement binds nothing, is not
 * possible here, or no CPU is allowed to all leads. Free the plan, also after an error.
 */
int apply_plan(const struct view *view, const struct topo *topo, const struct view_process **leads,
               size_t n, const char *placement, struct plan *plan, struct err *err);

/*
 * One contend at a time changes masks and keeps them in a state file. Without this, two that apply
 * or verify at once each take the other's masks for the original ones.
 *
 * The lock is a file beside the state file, with the pid of its holder. The guard of a trial
 * inherits it, so it also lasts until the guard of a killed contend has undone the trial.
 */
struct apply_lock {
    int fd; /* 0 = not held */
    char path[PATH_MAX];
};

/* -EBUSY: the message names the holder. -ENOENT: no such folder. -EPERM: a file of another user. */
int apply_lock_take(const char *state_path, struct apply_lock *lock, struct err *err);
void apply_lock_release(struct apply_lock *lock);

/*
 * Bystanders: busy processes that a change does not target, and the CPU time that they got without
 * and with the change. Pure: works on views.
 */
enum { BYSTANDERS_MOST = 32 };

struct bystander {
    int pid;
    uint64_t start_ticks;
    unsigned uid;
    char name[VIEW_NAME_MAX];
    double cpus;     /* its use when it was found */
    double cpu_s[2]; /* without the change; with it */
};

struct bystanders {
    size_t n; /* busiest first; at most BYSTANDERS_MOST */
    struct bystander all[BYSTANDERS_MOST];
    double wall_s[2];
};

/* Finds the bystanders by their CPU time in the view (reader_mark to reader_tick). `is_target`
 * returns true for a process that the change targets. */
void bystanders_find(const struct view *view,
                     bool (*is_target)(const void *arg, const struct view_process *process),
                     const void *arg, struct bystanders *bystanders);

/* Adds the CPU time of a block that has ended. A process that ended meanwhile adds none. */
void bystanders_add_block(struct bystanders *bystanders, const struct view *view, bool changed);

/*
 * Mean number of CPUs that process `which` used; SIZE_MAX = all of them. NaN = no such block yet.
 */
double bystanders_cpus(const struct bystanders *bystanders, size_t which, bool changed);

#endif
