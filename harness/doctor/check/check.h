/*
 * Judges a view: a table of checks, each of which looks for one thing that costs. Pure.
 *
 *   struct diagnosis diagnosis = {0};
 *   int rc = diagnosis_make(&view, &diagnosis, &err);
 *   if (!rc)
 *       rc = diagnosis_findings(&diagnosis, &findings, &err);   // for the printers
 *   diagnosis_free(&diagnosis);
 *
 * A new check is a function and a line in check.c's table. It looks at checker->view and calls
 * checker_report for each thing it finds. It needs evidence that something is lost (waited,
 * throttled, refused): what is only unusual is no finding, so that a machine where all is well has
 * none.
 */
#ifndef CONTEND_DOCTOR_CHECK_CHECK_H
#define CONTEND_DOCTOR_CHECK_CHECK_H

#include "harness/contract/finding.h"
#include "harness/doctor/check/cure.h"
#include "harness/doctor/view/view.h"

struct checker;

struct check {
    unsigned number;
    const char *id;    /* of its findings */
    const char *looks; /* for what, in a few words; NULL ends the table */
    const char *reads; /* where it sees it */
    void (*look)(struct checker *checker);
};
extern const struct check checks[];

enum { FOUND_PIDS_MAX = 64, COMMAND_MAX = sizeof(((struct finding *)0)->command) };

/* By which a command multiplies the rate of those it names. */
struct check_gain {
    double times;         /* NaN = not known; 0 = it is no matter of a rate */
    const char *at_least; /* why it may be more; NULL = it is about that */
};

struct found {
    const struct check *check;
    double cost; /* share of the time of those it names that is lost, 0 to 1; NaN = not known */
    struct check_gain gain;
    unsigned npids;
    int pids[FOUND_PIDS_MAX];
    struct cure cure; /* of the next start; the command may have it, too */
    struct finding finding;
};

/* The most expensive finding comes first; those of unknown cost come last. Zeroed = none. */
struct diagnosis {
    size_t n, capacity;
    struct found *all; /* owned */
};

/* -ENOMEM only. Free with diagnosis_free, also then. */
int diagnosis_make(const struct view *view, struct diagnosis *diagnosis, struct err *err);
void diagnosis_free(struct diagnosis *diagnosis);
int diagnosis_findings(const struct diagnosis *diagnosis, struct findings *findings,
                       struct err *err);
/* The changes for the next start from all findings, the most expensive first. */
struct cure diagnosis_cure(const struct diagnosis *diagnosis);
/* One of them is bad. */
bool diagnosis_is_bad(const struct diagnosis *diagnosis);

/*
 * Processes that work together: a busy one and its busy descendants, such as a worker and those
 * that load its data. People call that a worker.
 */
struct check_group {
    const struct view_process *lead;
    unsigned nprocesses;
    double oncpu_s, wait_s;
    unsigned nrunnable; /* of its tasks, those that wanted a CPU at least half of the time */
    struct bitset cpus; /* that its busy tasks may use */
};

struct checker {
    const struct view *view;
    struct diagnosis *diagnosis;
    const struct check *check;
    size_t ngroups;
    struct check_group *groups;
    int *group_of;       /* of each process of the view, -1 = none */
    bool *explained;     /* of each group: a finding says why it waits */
    struct bitset given; /* CPUs that commands have given away, see cpu_allocator.h */
    struct err *err;
    int rc;
};

/* The groups of a view; free with checker_close, also after an error: -ENOMEM only. */
int checker_open(const struct view *view, struct checker *checker, struct err *err);
void checker_close(struct checker *checker);

/* Because of whom a group waits in the run queue: "itself", "4711 nvtop", "its quota". */
void check_format_cause(const struct checker *checker, size_t group, char *buf, size_t size);

/* The parts of a finding beside its sentence. */
struct said {
    enum finding_severity severity;
    double cost;
    struct check_gain gain;                /* told behind the sentence */
    const char *tail;                      /* behind that, with its blank; NULL = nothing */
    const struct view_process *const *who; /* named as its subject */
    size_t nwho;
    const char *id;      /* another than the check's; NULL = its */
    const char *subject; /* instead, of what is no process */
    const char *evidence, *command;
    const struct cure *cure; /* NULL = none */
};
/* A bad finding about those processes, at that cost. */
struct said said_bad(double cost, const struct view_process *const *who, size_t nwho,
                     const char *evidence, const char *command);
void checker_report(struct checker *checker, const struct said *said, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds to a text of that size what still fits; false: it did not. */
bool check_append(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Waiting, as a share of waiting and running; 0 of neither. */
double check_wait_share(double oncpu_s, double wait_s);

/* Waiting of that share, and of so many CPUs' time, is worth a word. */
bool check_waits(const struct view *view, double oncpu_s, double wait_s);

/* "sudo " before a command on a process of another user, "" before one on our own. */
const char *check_sudo(const struct view *view, const struct view_process *process);

/*
 * Whether a command may touch one that is not of the job: it is of the user who looks, or that is
 * root. Adds to `footnote` whose it is, where it is another's.
 */
bool check_may_touch(const struct view *view, const struct view_process *process, char *told,
                     size_t size);

/* "sudo " before what root alone may do; "" for root, who may have no sudo, as in containers. */
const char *check_root(const struct view *view);

/*
 * "taskset -acp CPUS PID", with sudo where that is needed, behind what `command` has; `tid`: of
 * that thread alone, 0 = of all. False: it does not fit.
 */
bool check_append_bind(const struct view *view, const struct view_process *process, int tid,
                       const struct bitset *cpus, char *command, size_t size);

/* That for the processes of the group. */
bool check_append_taskset(const struct checker *checker, size_t group, const struct bitset *cpus,
                          char *command, size_t size);

/*
 * Marks in `in` the groups that share CPUs with `first`, directly or by way of others, and `first`;
 * returns how many. `in`: of all groups.
 */
size_t check_find_overlapping(const struct checker *checker, size_t first, bool *in);

/* Whether the threads of one of these groups wait for each other on CPUs (check_runtime.h). */
bool check_teams_wait(const struct checker *checker, const bool *in);

/*
 * CPUs that these groups could get: all that they may have near what they use, less those that
 * other busy groups use and those given away. Returns how many CPUs all of them may have.
 */
unsigned check_find_pool(const struct checker *checker, const bool *in, struct bitset *pool);

/* CPUs that all of them may have, near what they use, are of no other group, and idled. */
void check_find_idle(const struct checker *checker, const bool *in, struct bitset *idle);

/*
 * The groups get a slice of the pool each: slices[i] is that of group groups[i]; returns how many,
 * 0 = there are no such slices. Both have room for ALLOCATE_MOST.
 */
size_t check_allocate(struct checker *checker, const bool *in, const struct bitset *pool,
                      size_t *groups, struct bitset *slices);
/* That as a command; false: there is none, or it does not fit. */
bool check_write_slices(struct checker *checker, const size_t *groups, size_t n,
                        const struct bitset *slices, char *command, size_t size);

/*
 * The gain of groups that had oncpu_s, if they get `more_s` beside it. A team whose threads wait
 * for each other gains more, as its spinning is lost now: how much more, nobody knows.
 */
struct check_gain check_gain_of_more(double oncpu_s, double more_s, bool is_team_waiting);

/* If the time that they waited they ran on these CPUs, as far as these idle. Not known: none does,
 * and who would give way nobody knows. */
struct check_gain check_gain_of_idle(const struct view *view, const struct bitset *cpus,
                                     double oncpu_s, double wait_s, bool is_team_waiting);

/* The gain of threads that stop spinning, which they do for that share; NaN = unknown. */
struct check_gain check_gain_of_spin(double share);

/* The checks, by what they look at. */
void check_overlap(struct checker *checker);
void check_queue(struct checker *checker);
void check_idle_beside(struct checker *checker);
void check_inherited_mask(struct checker *checker);
void check_narrowed_children(struct checker *checker);
void check_leader_alone(struct checker *checker);
void check_crowd(struct checker *checker);
void check_narrow(struct checker *checker);
void check_team_over_quota(struct checker *checker);
void check_throttled(struct checker *checker);
void check_far_from_gpu(struct checker *checker);
void check_shut_out_of_gpu(struct checker *checker);
void check_far_pages(struct checker *checker);
void check_openmp_settings(struct checker *checker);
void check_spin_wait(struct checker *checker);
void check_debugging(struct checker *checker);

#endif
