/*
 * Bystanders: busy processes that a change does not target, and the CPU time that they got without
 * and with the change. Pure: works on views.
 */
#ifndef CONTEND_DOCTOR_BYSTANDERS_H
#define CONTEND_DOCTOR_BYSTANDERS_H

#include "harness/doctor/reader/view.h"

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
