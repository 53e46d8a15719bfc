/* Who sent how much to whom, as blocks that a person reads. */
#ifndef CONTEND_COMMS_TABLES_COMMS_H
#define CONTEND_COMMS_TABLES_COMMS_H

#include "harness/comms/findings/view.h"
#include "harness/show/doc/doc.h"

/* "WHAT; 2 warnings", and the findings, which are borrowed. */
void comms_add_findings_to_doc(const char *what, const struct findings *findings, struct doc *doc);

/* How much went between GPUs, what was found, and the matrix of bytes: of several communicators
 * from GPU to GPU, of one from rank to rank. Borrows the findings. */
void comms_add_verdict_to_doc(const struct comms_view *view, struct doc *doc);

/* Links, NVLink's counters, the calls of each communicator; folded, its ranks and further
 * matrices. */
void comms_add_tables_to_doc(const struct comms_view *view, struct doc *doc);

/* Nothing where nothing was counted, or why it could not. */
void comms_nvlink_check_add_to_doc(const struct comms_nvlink_check *nvlink_check,
                                   const struct comms_counters *counters, struct doc *doc);

#endif
