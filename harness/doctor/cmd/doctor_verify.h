/*
 * contend doctor --verify: the cure is tried on the job, without it and with it in alternation, and
 * what it gained is said. Live: own CPUs for each worker, as --apply has it, and undone. With
 * --restart: the settings that the findings name for the next start, on copies of the job that are
 * started for it.
 */
#ifndef CONTEND_DOCTOR_CMD_DOCTOR_VERIFY_H
#define CONTEND_DOCTOR_CMD_DOCTOR_VERIFY_H

#include "harness/doctor/apply/trial.h"
#include "harness/doctor/check/check.h"
#include "harness/doctor/check/cure.h"
#include "harness/doctor/cmd/doctor_apply.h"
#include "harness/doctor/cmd/doctor_launch.h"
#include "harness/doctor/cmd/doctor_meter.h"
#include "harness/lib/base/opt.h"

struct doctor_verify_options {
    struct opt_texts metrics; /* metric.h */
    bool less_is_better, keep;
    double block_s, max_time_s;
    const char *restart; /* a shell line that starts the job; NULL = it runs */
};

/* A verification, from its options to what it found. */
struct doctor_verify {
    const struct doctor_verify_options *options;
    const struct doctor_apply_options *apply;
    struct signals *signals;
    FILE *out; /* for people: stderr where stdout has JSON */
    struct meter meter;
    char state_option[1040];     /* " --state FILE", for what is to be typed; "" = the usual one */
    double end_s;                /* of clock_now_ns: nothing is changed any more */
    struct doctor_change change; /* live */
    bool is_bound;
    struct doctor_launch job; /* of --restart; zeroed = none runs */
    bool is_fresh;            /* it was not measured yet */
    double change_s;          /* what a change took, at the most */
    int output_fd;            /* what it prints */

    struct cure cure; /* of the next start: what the findings name */
    struct trial trial;
};

/* -EINVAL says what to type. Free it, also then. */
int doctor_verify_open(const struct doctor_verify_options *options,
                       const struct doctor_apply_options *apply, struct signals *signals, FILE *out,
                       struct doctor_verify *verify, struct err *err);
void doctor_verify_free(struct doctor_verify *verify);

/* With --restart, first: asks, starts the job and waits until it tells how fast it is. *pid: what
 * it is below. *wanted: false where it is not to be started. */
int doctor_verify_start(struct doctor_verify *verify, struct reader *reader, pid_t *pid,
                        bool *wanted, struct err *err);

/*
 * Behind the diagnosis. Prints the verdict, which stands in verify, too; all is undone, unless it
 * is kept. -ENODATA: the metric tells too little; -EINTR; -EINVAL nobody can be asked.
 * *done: false where it was not wanted, or there is nothing to try.
 */
int doctor_verify_run(struct doctor_verify *verify, struct reader *reader,
                      const struct diagnosis *diagnosis, bool *done, struct err *err);

/* The parts. Pairs of blocks, as long as there is time; `set` changes to with or without, and the
 * first is without. */
typedef int doctor_set(struct doctor_verify *verify, bool changed, struct err *err);
int doctor_verify_pairs(struct doctor_verify *verify, struct reader *reader, doctor_set *set,
                        struct err *err);
int doctor_verify_restart(struct doctor_verify *verify, struct reader *reader, struct err *err);
/* Checks a block that ended with rc: -ECHILD where the job that was started has ended. */
int doctor_verify_check_job(const struct doctor_verify *verify, int rc, struct err *err);

#endif
