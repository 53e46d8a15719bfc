/* Everything that is derived from a directory of logs, for tables, files, figures and pages. */
#ifndef CONTEND_COMMS_VIEW_H
#define CONTEND_COMMS_VIEW_H

#include "harness/comms/links.h"
#include "harness/comms/nvlink_check.h"
#include "harness/comms/plugin/counters.h"
#include "harness/comms/total.h"
#include "harness/lib/finding.h"

struct comms_view {
    struct comms_logs logs;
    struct comms comms;
    struct comms_total total;       /* empty if total_note says why */
    char total_note[96];            /* "" = there is a total */
    struct comms_counters counters; /* of NVLink; none if they were not read */
    struct comms_nvlink_check nvlink_check;
    struct comms_timeline timeline;
    struct comms_ports ports; /* from links.csv; none without that file */
    struct comms_links links;
    struct comms_unread unread; /* files that were left out; findings name them */
    struct findings findings;
};

/*
 * Free with comms_view_free, also after an error. A directory without logs is no error:
 * view->logs.n is 0. Files that cannot be read are left out, unless no log remains. Errors:
 * -ENOMEM, -EOVERFLOW; with *refused, the reason why no log can be read.
 */
int comms_view_read(const char *directory, struct comms_view *view, bool *refused, struct err *err);

/* Fills the rest of a view that has its logs, ports and counters. `directory` has the orders of
 * rings; NULL: without them. Errors: -ENOMEM, -EOVERFLOW. */
int comms_view_make(const char *directory, struct comms_view *view, struct err *err);
void comms_view_free(struct comms_view *view);

#endif
