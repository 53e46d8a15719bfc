/*
 * Who else works on this machine: busy processes that a change does not mean, whose they are, and
 * what CPU time they had without the change and with it. Pure over views.
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
    double cpus;     /* when it was found */
    double cpu_s[2]; /* without the change, and with it */
};

struct beside {
    size_t n; /* the busiest, busiest first */
    struct beside_one all[BESIDE_MOST];
    double wall_s[2];
};

/* It has the CPU time of a view (reader_mark to reader_tick). `means`: whom the change is about. */
void beside_find(const struct view *view,
                 bool (*means)(const void *arg, const struct view_process *process),
                 const void *arg, struct beside *beside);

/* A block of time has ended. One that has ended meanwhile had none. */
void beside_note(struct beside *beside, const struct view *view, bool changed);

/* CPUs that one of them had; or all, with SIZE_MAX. NaN = no such block was noted. */
double beside_cpus(const struct beside *beside, size_t which, bool changed);

#endif
