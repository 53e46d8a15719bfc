/* Of the page of `contend comms`: what was measured, on the GPUs and on NVLink. */
#ifndef CONTEND_COMMS_PAGE_HTML_COMMS_MEASURED_H
#define CONTEND_COMMS_PAGE_HTML_COMMS_MEASURED_H

#include <stdio.h>

#include "harness/comms/findings/view.h"
#include "harness/comms/view/lines.h"

/* How long the collectives of a communicator took, and who came late; nothing where none was timed,
 * or where ranks cannot be compared. -ENOMEM only. */
int html_comms_times(const struct comms_communicator *communicator, const struct comms_lines *lines,
                     FILE *out, struct err *err);

/* A section: the matrices against NVLink's counters; nothing where there are none. */
void html_comms_truth(const struct comms_view *view, FILE *out);

/* What was copied; nothing where nobody counted. */
void html_comms_copies(const struct comms_view *view, FILE *out);

#endif
