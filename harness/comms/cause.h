/*
 * What the host did to a rank: how it spent the time between its first and its last look
 * (plugin/record.h) at the calls that are compared, and why a rank is late. Pure.
 *
 * A rank that waits for a late one does so on a CPU or asleep, and both have the same time from one
 * call to the next. So the late rank's time is compared with that of the earliest rank, part by
 * part. What it has more is its extra time; the largest part of that is the cause. If there is no
 * extra time though it is late, the cause looks like the earliest rank's wait: work on a CPU beside
 * a rank that spins, or sleep beside one that sleeps. The cause is then the part that has over 80%
 * of the late rank's time; without one it is unknown.
 */
#ifndef CONTEND_COMMS_CAUSE_H
#define CONTEND_COMMS_CAUSE_H

#include "harness/comms/plugin/read.h"
#include "harness/lib/finding.h"

/* Parts of the time between looks. They exclude each other. */
enum comms_part { COMMS_ON_CPU, COMMS_IN_QUEUE, COMMS_THROTTLED, COMMS_ASLEEP, COMMS_PARTS };

/* Zeroed = not known: the logs have too few looks. */
struct comms_spent {
    double seconds;                  /* between the first and the last look */
    double share[COMMS_PARTS];       /* of that time */
    double cpus_used;                /* by the whole process */
    double major_faults, read_bytes; /* a second */
    unsigned cpus;                   /* that the thread may run on; 0 = unknown */
};

/* Of the thread that enqueues most calls of this member of the log, by CLOCK_MONOTONIC. */
struct comms_spent comms_spent_find(const struct comms_log *log, uint32_t member, uint64_t begin_ns,
                                    uint64_t end_ns);

struct comms_cause {
    enum comms_part part; /* COMMS_PARTS = unknown */
    double of_extra;      /* its share of the extra time; NaN: there is none, see above */
};
/* `behind`: the share of the time for which the earliest rank was ahead of the late one. */
struct comms_cause comms_cause_find(const struct comms_spent *late, const struct comms_spent *first,
                                    double behind);

/* "run_queue", "throttled", "sleep", "cpu"; "" = unknown. */
const char *comms_cause_name(enum comms_part part);

/* "waits in the run queue for 41% of its time, rank 0 for 2.0%; ..." */
const char *comms_cause_text(const struct comms_cause *cause, const struct comms_spent *late,
                             const struct comms_spent *first, uint32_t first_rank);

#endif
