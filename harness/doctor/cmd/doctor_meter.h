/* How fast the job is in a block of time: the metrics that --verify names, looked at until it ends.
 */
#ifndef CONTEND_DOCTOR_CMD_DOCTOR_METER_H
#define CONTEND_DOCTOR_CMD_DOCTOR_METER_H

#include "harness/doctor/apply/metric.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/base/opt.h"
#include "harness/lib/sys/signals.h"

enum { METER_MOST = 16 };

struct meter {
    size_t n;
    struct metric all[METER_MOST]; /* of one kind: their rates are summed */
};

/* Seconds of a block that are left out: what ran before still shows. And no block is shorter. */
extern const double meter_settle_s, meter_shortest_s;

/* Sleeps; -EINTR where a signal asked to stop, or to pause (Ctrl-Z), which a trial cannot. */
int meter_rest(double seconds, struct signals *signals, struct err *err);

/* -EINVAL says what to type. Free it, also then. */
int meter_open(const struct opt_texts *texts, bool starts_job, bool less_is_better,
               struct meter *meter, struct err *err);
void meter_free(struct meter *meter);

/*
 * A block: it ends once enough was seen, between the two lengths. The view has then what happened
 * behind its first second. -ENODATA: too little was seen; what a metric fails with; -EINTR.
 */
int meter_measure(struct meter *meter, double least_s, double most_s, struct reader *reader,
                  struct signals *signals, double *rate, struct err *err);

/* The job has just been started: waits until each metric has news, up to a time of clock_now_ns.
 * `alive` ends the wait. -ETIME. */
int meter_await(struct meter *meter, double until_s, bool (*alive)(void *arg), void *arg,
                struct signals *signals, struct err *err);

#endif
