/* The traffic over NCCL, as text and tables for people. */
#ifndef CONTEND_COMMS_TABLES_H
#define CONTEND_COMMS_TABLES_H

#include "harness/comms/view.h"
#include "harness/show/doc.h"

/* The bytes between GPUs, the findings, and the matrix of bytes: from GPU to GPU for several
 * communicators, from rank to rank for one. Borrows the findings. */
void comms_add_verdict_to_doc(const struct comms_view *view, struct doc *doc);

/* Links, NVLink's counters, the calls of each communicator; folded, its ranks and further
 * matrices. */
void comms_add_tables_to_doc(const struct comms_view *view, struct doc *doc);

#endif
