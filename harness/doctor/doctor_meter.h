/* Measures the speed of the job in a block of time, by the metrics that --verify names. */
#ifndef CONTEND_DOCTOR_DOCTOR_METER_H
#define CONTEND_DOCTOR_DOCTOR_METER_H

#include "harness/doctor/metric.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/opt.h"
#include "harness/lib/sys/signals.h"

enum { METER_MOST = 16 };

struct meter {
    size_t n;
    struct metric all[METER_MOST]; /* all of one kind: their rates are summed */
};

/*
 * Seconds at the start of a block that do not count, as earlier work still shows; shortest block.
 */
extern const double meter_settle_s, meter_shortest_s;

/* Sleeps. -EINTR: a signal asked to stop, or to pause (Ctrl-Z), which a trial must not do. */
int meter_rest(double seconds, struct signals *signals, struct err *err);

/* -EINVAL: the message says what to type. Free it, also after an error. */
int meter_open(const struct opt_texts *texts, bool starts_job, bool less_is_better,
               struct signals *signals, struct meter *meter, struct err *err);
void meter_free(struct meter *meter);

/*
 * Measures a block, which ends once enough was seen, between the two lengths. The view then covers
 * the block from its first second on. -ENODATA: too little was seen; -EINTR; errors of metric_look.
 */
int meter_measure(struct meter *meter, double least_s, double most_s, struct reader *reader,
                  struct signals *signals, double *rate, struct err *err);

/* Waits until each metric of a newly started job has news. -ETIME: `until_s` (of clock_now_ns) has
 * passed; -ECHILD: `alive` returned false; -EINTR. */
int meter_await(struct meter *meter, double until_s, bool (*alive)(void *arg), void *arg,
                struct signals *signals, struct err *err);

#endif
