#include "harness/comms/view.h"

#include <errno.h>
#include <stdio.h>

#include "harness/comms/findings.h"
#include "harness/comms/order.h"

static int make_total(struct comms_view *view, struct err *err)
{
    int rc = comms_total_make(&view->comms, &view->total, err);
    if (rc == -E2BIG)
        (void)snprintf(view->total_note, sizeof(view->total_note), "%.90s", err->msg);
    return rc == -E2BIG ? 0 : rc;
}

int comms_view_read(const char *directory, struct comms_view *view, bool *refused, struct err *err)
{
    *view = (struct comms_view){0};
    int rc = comms_logs_read(directory, &view->logs, err);
    rc = rc ? rc : comms_counters_read(directory, &view->counters, err);
    *refused = rc && rc != -ENOMEM;
    rc = rc ? rc : comms_merge(&view->logs, &view->comms, err);
    if (!rc)
        comms_orders_read(directory, &view->counters, &view->comms);
    rc = rc ? rc : make_total(view, err);
    rc = rc ? rc : comms_truth_make(&view->comms, &view->counters, &view->truth, err);
    rc = rc ? rc : comms_judge(&view->logs, &view->comms, &view->findings, err);
    return rc ? rc : comms_truth_judge(&view->truth, &view->findings, err);
}

void comms_view_free(struct comms_view *view)
{
    findings_free(&view->findings);
    comms_truth_free(&view->truth);
    comms_counters_free(&view->counters);
    comms_total_free(&view->total);
    comms_free(&view->comms);
    comms_logs_free(&view->logs);
}
