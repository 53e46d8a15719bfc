/*
 * Whether a running job keeps the plan of its workers (view.plan). Pure.
 *
 * A thread is outside if it may run on a CPU that its worker does not have. One on fewer CPUs is
 * not, as OpenMP binds each thread to a CPU. But a worker is narrowed if its busy threads, all
 * together, may use fewer CPUs than they are and than it has: then each of its threads with other
 * CPUs than the plan's is outside. That lasts until its threads may use all planned CPUs, so that a
 * job that rests is not reported anew.
 */
#ifndef CONTEND_DOCTOR_CHECKS_CHECK_PLAN_H
#define CONTEND_DOCTOR_CHECKS_CHECK_PLAN_H

#include "harness/doctor/checks/check.h"

/*
 * Finds the process of each worker: by pids[npids] if these are as many; by the variable of its
 * rank on this machine; or as the busy process whose CPUs have most in common with its own. *how:
 * "--pid", "LOCAL_RANK", ... -ESRCH: nothing tells.
 */
int plan_match(const struct view *view, const int *pids, size_t npids, struct view_plan *plan,
               const char **how, struct err *err);

/* Judges workers and threads after a tick. Call it once a look, before the rest. */
void plan_look(struct view *view, struct view_plan *plan);

/* The threads of a process that are outside. */
struct plan_drift {
    const struct view_process *process;
    const struct view_plan_worker *worker; /* NULL = of no worker */
    unsigned outside;
    unsigned fresh;     /* outside, but not at the last look */
    unsigned changed;   /* outside, and had another mask at the last look */
    unsigned existed;   /* threads of the process at the last look */
    unsigned returned;  /* outside at the last look only */
    int mask;           /* of all that are outside; -1 = they differ */
    struct bitset cpus; /* of all that are outside */
    double since_s;     /* the least since_s of these */
};

struct plan_drift plan_drift_of(const struct view *view, const struct view_process *process);

/* Who set the masks, in a word: outside, openmp, inherited, start, thread, unknown. *why: the
 * evidence, follows "set". */
const char *plan_find_setter(const struct view *view, const struct plan_drift *drift,
                             const char **why);

#endif
