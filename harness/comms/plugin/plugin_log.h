/*
 * Writes a log (record.h) inside the process of another program. It never fails the caller, keeps
 * errno, and counts without a lock. If it is off, it reports why in one line on stderr, and does
 * nothing. A process has one log, which it keeps to its end; a forked child has none.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_LOG_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_LOG_H

#include <stdbool.h>

#include "harness/comms/plugin/record.h"

/*
 * Opens the log in CONTEND_COMMS_DIR, at the first call. False: it is off, from now on.
 * `interface`: N of ncclProfiler_vN.
 */
bool plugin_log_open(unsigned interface);

/* Records the argument of plugin_timing_set in the log. */
void plugin_log_report_timing(uint64_t every);

/* Adds a rank of a communicator. Returns its number for keys; -1: the log is off or full. */
int plugin_log_join(const struct comms_member *reported);

/* Called when NCCL has just written the graph of this member's communicator: renames its file for
 * the log, if the user has not set another name. */
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

/* Counts one call, and sets the bucket of the key. All calls but COMMS_CALLED also go into the
 * ring, with `sequence` as in struct comms_event. */
struct plugin_counted plugin_log_count(struct comms_key *key, uint64_t bytes, uint64_t sequence);

/* Records the time of a counted call; and that a call could not be timed. */
void plugin_log_time(const struct plugin_counted *counted, uint64_t ns);
void plugin_log_untimed(void);

void plugin_log_unknown(void);

#endif
