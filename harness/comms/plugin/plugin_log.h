/*
 * The writer of a log (record.h), inside somebody else's process: it never fails the caller, keeps
 * errno, takes no lock to count, and says in one line on stderr why it is off, if it is. Off it
 * does nothing. A process has one log, which it keeps to its end; a child that was forked has none.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_LOG_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_LOG_H

#include <stdbool.h>

#include "harness/comms/logs/record.h"

/*
 * Opens the log in CONTEND_COMMS_DIR, at the first call. False: it is off, from now on.
 * `interface`: of ncclProfiler_vN.
 */
bool plugin_log_open(unsigned interface);

/* The argument of plugin_timing_set, for the log. */
void plugin_log_report_timing(uint64_t every);

/* A rank of a communicator, from now on. Returns its number for keys; -1: the log is off or full.
 */
int plugin_log_join(const struct comms_member *told);

/* NCCL has just written the graph of this member's communicator: takes its file, where it is ours.
 */
void plugin_log_take_graph(int member);

/* Fills in what the communicator did not report when it joined. */
void plugin_log_learn(int member, uint64_t id, int rank);

void plugin_log_leave(int member);

/* Where a call was counted. */
struct plugin_counted {
    struct comms_counter *counter; /* NULL = nowhere */
    uint64_t bytes;
    uint64_t stamp; /* of its event; 0 = none */
};

/* Counts one call. The bucket of the key is set here. All but COMMS_CALLED also go into the ring,
 * with `sequence` as in struct comms_event. */
struct plugin_counted plugin_log_count(struct comms_key *key, uint64_t bytes, uint64_t sequence);

/* How long a call took that was counted; and that one could not be timed. */
void plugin_log_time(const struct plugin_counted *counted, uint64_t ns);
void plugin_log_untimed(void);

void plugin_log_unknown(void);

#endif
