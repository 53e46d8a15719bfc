/* The traffic over NCCL, as text and tables for people. */
#ifndef CONTEND_COMMS_TABLES_H
#define CONTEND_COMMS_TABLES_H

#include "harness/comms/view.h"
#include "harness/show/doc.h"

/* Adds "WHAT; 2 warnings" and the findings, which are borrowed. */
void comms_add_findings_to_doc(const char *what, const struct findings *findings, struct doc *doc);

/* The bytes between GPUs, the findings, and the matrix of bytes: from GPU to GPU for several
 * communicators, from rank to rank for one. Borrows the findings. */
void comms_add_verdict_to_doc(const struct comms_view *view, struct doc *doc);

/* Links, NVLink's counters, the calls of each communicator; folded, its ranks and further
 * matrices. */
void comms_add_tables_to_doc(const struct comms_view *view, struct doc *doc);

/* Calls against NVLink's counters, or why these are unknown; nothing if none were read. */
void comms_nvlink_check_add_to_doc(const struct comms_nvlink_check *nvlink_check,
                                   const struct comms_counters *counters, struct doc *doc);

#endif
