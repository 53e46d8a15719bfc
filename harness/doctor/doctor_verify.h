/*
 * contend doctor --verify: tries the fix on the job, in alternating blocks without and with it, and
 * reports the gain. Without --restart, the fix is that of --apply, and is undone. With --restart,
 * it is the settings that findings name for the next start, tried on copies of the job that are
 * started for this.
 */
#ifndef CONTEND_DOCTOR_DOCTOR_VERIFY_H
#define CONTEND_DOCTOR_DOCTOR_VERIFY_H

#include "harness/doctor/checks/check.h"
#include "harness/doctor/doctor_apply.h"
#include "harness/doctor/doctor_change.h"
#include "harness/doctor/doctor_meter.h"
#include "harness/doctor/metric.h"
#include "harness/lib/opt.h"

struct doctor_verify_options {
    struct opt_texts metrics; /* metric.h */
    bool less_is_better, keep;
    double block_s, max_time_s;
    const char *restart; /* a shell line that starts the job; NULL = the job runs already */
};

/* A verification: its options, state and result. */
struct doctor_verify {
    const struct doctor_verify_options *options;
    const struct doctor_apply_options *apply;
    struct signals *signals;
    FILE *out; /* text output: stderr if stdout has JSON */
    struct meter meter;
    char state_option[1040];     /* " --state FILE" for printed commands; "" = the usual path */
    double end_s;                /* time limit, of clock_now_ns: no change after this */
    struct doctor_change change; /* without --restart */
    bool is_bound;
    struct doctor_launch job; /* with --restart; zeroed = none runs */
    bool is_fresh;            /* the running job was not measured yet */
    double change_s;          /* longest time that a change took */
    int output_fd;            /* output of the job */

    struct env_changes env_changes; /* settings for the next start that the findings name */
    struct trial trial;
};

/* -EINVAL: the message says what to type. Free it, also after an error. */
int doctor_verify_open(const struct doctor_verify_options *options,
                       const struct doctor_apply_options *apply, struct signals *signals, FILE *out,
                       struct doctor_verify *verify, struct err *err);
void doctor_verify_free(struct doctor_verify *verify);

/* Comes first with --restart: asks, starts the job, and waits until it reports its speed. *pid: the
 * parent of the job. *wanted: false if the user declined. */
int doctor_verify_start(struct doctor_verify *verify, struct reader *reader, pid_t *pid,
                        bool *wanted, struct err *err);

/*
 * Runs after the diagnosis. Prints the verdict, also stored in verify->trial; undoes all unless it
 * is kept. -ENODATA: the metric reports too little; -EINTR; -EINVAL: there is no terminal to ask
 * on. *done: false if the user declined, or there is nothing to try.
 */
int doctor_verify_run(struct doctor_verify *verify, struct reader *reader,
                      const struct diagnosis *diagnosis, bool *done, struct err *err);

/* Parts of it. doctor_verify_pairs measures pairs of blocks until time is up. `set` switches to
 * with or without the change; the first block is without. */
typedef int doctor_set(struct doctor_verify *verify, bool changed, struct err *err);
int doctor_verify_pairs(struct doctor_verify *verify, struct reader *reader, doctor_set *set,
                        struct err *err);
int doctor_verify_restart(struct doctor_verify *verify, struct reader *reader, struct err *err);
/* Checks a block that ended with rc: -ECHILD if the job that was started has ended (with rc -ESRCH,
 * it has), else rc. */
int doctor_verify_check_job(const struct doctor_verify *verify, int rc, struct err *err);

#endif
