/*
 * The speed of running workers without a user's word: the lines per second of the files that they
 * print to. CPU time is no speed: threads that spin use more of it the less they get done.
 */
#ifndef CONTEND_DOCTOR_DOCTOR_WATCH_H
#define CONTEND_DOCTOR_DOCTOR_WATCH_H

#include "harness/doctor/doctor_change.h"
#include "harness/doctor/doctor_meter.h"

struct doctor_watch {
    struct meter meter;  /* meter.n = 0: no log of theirs is known, or it hardly grows */
    double before, with; /* lines/s without and with the change; NaN = unknown */
};

/* Finds their logs. Free it. */
void doctor_watch_open(const struct doctor_change *change, struct doctor_watch *watch);
void doctor_watch_free(struct doctor_watch *watch);

/*
 * Measures a block of some seconds, if there is a log. The view of `reader` then covers the block.
 * A log that grows too little is given up. -EINTR, and errors of the reader.
 */
int doctor_watch_measure(struct doctor_watch *watch, bool changed, struct reader *reader,
                         struct signals *signals, struct err *err);

/* True if both speeds are known, and the change made the logs slower than 0.95x. */
bool doctor_watch_fell(const struct doctor_watch *watch);

#endif
