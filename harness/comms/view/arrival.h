/*
 * Who came late to a communicator's collectives: each call has a number that is the same at all
 * ranks, and its time of being enqueued is of one clock on one machine (CLOCK_MONOTONIC). Of the
 * last events alone (record.h), without the first call, which sets up connections. Pure.
 *
 * What was timed on the GPU tells who waited: a collective ends at about the same time at all
 * ranks, so that the one which is there longest waited longest for the last one, which waits for
 * nobody: waited = its time less the shortest time of the same call.
 */
#ifndef CONTEND_COMMS_VIEW_ARRIVAL_H
#define CONTEND_COMMS_VIEW_ARRIVAL_H

#include "harness/comms/logs/read.h"
#include "harness/contract/finding.h"

struct comms_communicator;

struct comms_arrival_rank {
    uint32_t rank;
    uint64_t last;                /* calls for which it came last */
    uint64_t late_ns;             /* together, behind the first one of each call */
    uint64_t timed_ns, waited_ns; /* on its GPU, of the calls that all ranks timed */
};

/* Zeroed = nothing to compare. */
struct comms_arrival {
    size_t n;
    struct comms_arrival_rank *rank; /* owned; ranks that are present, in their order */
    uint64_t calls;                  /* that all of them have; 0 also of several machines */
    uint64_t span_ns;                /* from the first one's first to the last one's last */
    uint64_t timed;                  /* calls that all of them timed */
    bool one_process;                /* has all ranks */
};

/* -ENOMEM only. */
int comms_arrival_make(const struct comms_communicator *communicator, struct comms_arrival *arrival,
                       struct err *err);
void comms_arrival_free(struct comms_arrival *arrival);

/* The share of its time on the GPU that all ranks together waited for the slowest; NaN: not timed.
 */
double comms_arrival_waited(const struct comms_arrival *arrival);

/* A rank's figures for people: its share of calls that it came last to, how late it was on average,
 * and its share of time on the GPU that it waited; "-": not timed. Of an arrival with calls. */
struct comms_arrival_said {
    char last[16], late[24], waited[16];
};
void comms_arrival_report(const struct comms_arrival *arrival,
                          const struct comms_arrival_rank *rank, struct comms_arrival_said *said);

/*
 * comms_late: a rank that came last for 80% of at least 20 calls, by more than 1% of the time from
 * one call to the next, unless what was timed says that the others did not wait: by less than 1%.
 * comms_in_turn in its place where one process has all ranks and one of them is last each time:
 * so does a thread that enqueues them one after the other.
 */
void comms_arrival_judge(const struct comms_arrival *arrival, struct findings_about *about);

#endif
