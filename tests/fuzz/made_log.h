/* For targets that read what `contend comms` writes: logs that are well-formed, and all their use.
 */
#ifndef CONTEND_TESTS_FUZZ_MADE_LOG_H
#define CONTEND_TESTS_FUZZ_MADE_LOG_H

#include "harness/comms/findings/view.h"

/*
 * The bytes of a log, COMMS_FILE_SIZE of them; the caller owns them. Three ranks of a communicator
 * of one node, on GPUs 0000:01:00.0 to 0000:03:00.0 of the host "a"; one of a communicator whose
 * size is not told, and rank `part` of one with ranks in two processes, which are of two hosts.
 */
unsigned char *made_log(uint32_t part);

/* made_log(part), read. */
struct comms_log made_log_read(uint32_t part);

/*
 * What a view with logs, ports and counters comes to, made, told and freed: none of it may fail but
 * for sums that 64 bits do not hold, and nothing that it prints moves a terminal's cursor. Large
 * ones are not written as JSON, which takes seconds. The logs are not freed.
 */
void use_view(struct comms_view *view);

/* What is written for a person: ends the process where a byte in it is a control character. */
void check_printed(const char *text, size_t size);

#endif
