/* For targets that read the files of `contend comms`: well-formed logs, and everything that uses
 * them. */
#ifndef CONTEND_TESTS_FUZZ_MADE_LOG_H
#define CONTEND_TESTS_FUZZ_MADE_LOG_H

#include "harness/comms/view.h"

/*
 * The bytes of a log, COMMS_FILE_SIZE of them; the caller owns them. It has three ranks of a
 * communicator on one node, on GPUs 0000:01:00.0 to 0000:03:00.0 of host "a"; one rank of a
 * communicator of unknown size; and rank `part` of a communicator with ranks in two processes on
 * two hosts.
 */
unsigned char *made_log(uint32_t part);

/* The parsed log of made_log(part). */
struct comms_log made_log_read(uint32_t part);

/*
 * Makes, prints and frees all that follows from a view with logs, ports and counters. Nothing may
 * fail except sums that overflow 64 bits, and no output may contain control characters. Large views
 * are not written as JSON, which takes seconds. Does not free the logs.
 */
void use_view(struct comms_view *view);

/* Checks text for people: aborts if it contains a control character. */
void check_printed(const char *text, size_t size);

#endif
