/*
 * Finds the runtime that a team of threads belongs to, and the setting that the runtime reads.
 * Pure.
 *
 *   struct check_team team = check_team_of(view, process);
 *   check_team_set(process, &team, 8, &env_changes);   // OMP_NUM_THREADS=8
 */
#ifndef CONTEND_DOCTOR_CHECKS_CHECK_RUNTIME_H
#define CONTEND_DOCTOR_CHECKS_CHECK_RUNTIME_H

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/view.h"

/* A runtime, one line of a table; sources are in check_runtime.c. */
struct check_runtime {
    const char *file;          /* prefix of a path component of its code */
    const char *name;          /* as printed */
    const char *variable;      /* that it reads at start; NULL = none */
    const char *option;        /* what the variable holds before the number; NULL = nothing. As an
                                  argument, it overrules the variable. */
    const char *other_setting; /* what else sets the number of threads; NULL = nothing */
    unsigned library;          /* its enum view_library, or 0 */
    bool spins;                /* its threads spin while they wait, by default */
    bool heeds_quota;          /* without a setting, it has as many threads as its quota grants */
};

struct check_team {
    unsigned threads; /* that wanted a CPU, at least about half as much as the busiest */
    const struct check_runtime *runtime; /* NULL = unknown */
    bool is_seen; /* `from` is known; else the runtime is guessed from mapped libraries */
    char from[VIEW_FROM_MAX]; /* code where they began, "" = unknown */
    unsigned pools;           /* threads that call the runtime, each with a team of its own */
    unsigned made;            /* threads that the runtime started, and those that call it */
    unsigned cpus;            /* that the process may use; 0 = unknown */
};

struct check_team check_team_of(const struct view *view, const struct view_process *process);

/*
 * Sets `env_changes` to the variables for `threads` threads: that of the runtime, and those in the
 * process's environment that would overrule it. Leaves it empty if the runtime reads no variable.
 */
void check_team_set(const struct view_process *process, const struct check_team *team,
                    unsigned threads, struct env_changes *env_changes);

/* The threads for which the process was set at its start; 0 = by its runtime's default. */
unsigned check_team_setting(const struct view_process *process, const struct check_team *team);

/* The variables that check_team_set may set, some more than once; NULL after the last. */
const char *check_team_variable(size_t index);

/* "Their runtime is libgomp, which reads OMP_NUM_THREADS" */
const char *check_team_format(const struct check_team *team);

/* True if its threads spin while they wait, by its kind and its environment. */
bool check_team_spins(const struct view_process *process, const struct check_team *team);

/* True if its threads wait on CPUs for each other or for other processes: as sampled, or else by
 * its kind. */
bool check_team_waits(const struct view *view, const struct view_process *process);

/* Share of CPU time: spinning less than this is not worth a fix. */
extern const double check_spinning_least;

#endif
