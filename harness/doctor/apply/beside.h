/*
 * Bystanders: busy processes that a change does not target, and the CPU time that they got without
 * and with the change. Pure: works on views.
 */
#ifndef CONTEND_DOCTOR_APPLY_BESIDE_H
#define CONTEND_DOCTOR_APPLY_BESIDE_H

#include "harness/doctor/view/view.h"

enum { BESIDE_MOST = 32 };

struct beside_one {
    int pid;
    uint64_t start_ticks;
    unsigned uid;
    char name[VIEW_NAME_MAX];
    double cpus;     /* its use when it was found */
    double cpu_s[2]; /* without the change; with it */
};

struct beside {
    size_t n; /* busiest first; at most BESIDE_MOST */
    struct beside_one all[BESIDE_MOST];
    double wall_s[2];
};

/* Finds the bystanders by their CPU time in the view (reader_mark to reader_tick). `means` returns
 * true for a process that the change targets. */
void beside_find(const struct view *view,
                 bool (*means)(const void *arg, const struct view_process *process),
                 const void *arg, struct beside *beside);

/* Adds the CPU time of a block that has ended. A process that ended meanwhile adds none. */
void beside_note(struct beside *beside, const struct view *view, bool changed);

/*
 * Mean number of CPUs that process `which` used; SIZE_MAX = all of them. NaN = no such block yet.
 */
double beside_cpus(const struct beside *beside, size_t which, bool changed);

#endif
