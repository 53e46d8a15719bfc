/* What is to be said of the logs of a command: what is missing, uneven, not told or not known. */
#ifndef CONTEND_COMMS_FINDINGS_FINDINGS_H
#define CONTEND_COMMS_FINDINGS_FINDINGS_H

#include "harness/comms/view/merge.h"
#include "harness/contract/finding.h"

/* -ENOMEM only. */
int comms_judge(const struct comms_logs *logs, const struct comms *comms, struct findings *findings,
                struct err *err);

/* "communicator 2 (\"dp\", 1a2b)": how it is called everywhere; `at` from 0. Returns buf. */
char *comms_call_communicator(const struct comms_communicator *communicator, size_t at, char *buf,
                              size_t size);

#endif
