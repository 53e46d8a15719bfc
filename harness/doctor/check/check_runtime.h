/*
 * Which runtime a team of threads belongs to, and the setting that this one reads. Pure.
 *
 *   struct check_team team = check_team_of(view, process);
 *   check_team_set(process, &team, 8, &cure);   // OMP_NUM_THREADS=8
 */
#ifndef CONTEND_DOCTOR_CHECK_CHECK_RUNTIME_H
#define CONTEND_DOCTOR_CHECK_CHECK_RUNTIME_H

#include "harness/doctor/check/cure.h"
#include "harness/doctor/view/view.h"

/* A runtime, as a line of a table: sources are in check_runtime.c. */
struct check_runtime {
    const char *file;      /* what a part of the path of its code begins with */
    const char *name;      /* for people */
    const char *variable;  /* that it reads when it starts; NULL = none */
    const char *otherwise; /* what sets it besides, or where it has no variable; NULL = nothing */
    unsigned library;      /* enum view_library of it, or 0 */
    bool spins;            /* its threads wait on their CPU unless they are told not to */
};

struct check_team {
    unsigned threads;                    /* that wanted a CPU, about as much as the busiest one */
    const struct check_runtime *runtime; /* NULL = not known */
    bool is_seen;                        /* by whose code its threads began in: else by what is
                                            mapped alone */
    char from[VIEW_FROM_MAX];            /* where they began, "" = not known */
};

struct check_team check_team_of(const struct view *view, const struct view_process *process);

/*
 * Settings for so many threads: that of its runtime, and those that it was started with and that
 * would overrule it. Nothing where it reads none.
 */
void check_team_set(const struct view_process *process, const struct check_team *team,
                    unsigned threads, struct cure *cure);

/* "Their runtime is libgomp, which reads OMP_NUM_THREADS" */
void check_team_format(const struct check_team *team, char *buf, size_t size);

/* It lets its threads spin while they wait: by its kind, and by what it was started with. */
bool check_team_spins(const struct view_process *process, const struct check_team *team);

/* Its threads wait for each other on CPUs: seen, or, where nobody could look, by its kind. */
bool check_team_waits(const struct view *view, const struct view_process *process);

/* Share of their time on CPUs: with less spinning there is little to gain. */
extern const double check_spinning_least;

#endif
