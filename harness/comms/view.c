#include "harness/comms/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/comms/findings.h"
#include "harness/comms/order.h"

static int make_total(struct comms_view *view, struct err *err)
{
    int rc = comms_total_make(&view->comms, &view->total, err);
    if (rc == -E2BIG)
        (void)snprintf(view->total_note, sizeof(view->total_note), "%.90s", err->msg);
    return rc == -E2BIG ? 0 : rc;
}

/* A damaged file, such as a node leaves that loses power, does not hide the other files. */
static int judge_unread(const struct comms_unread *unread, struct findings *findings,
                        struct err *err)
{
    enum { NAMED = 8 };
    struct findings_about about = {findings, err, "left out"};
    for (size_t i = 0; i < unread->n && i < NAMED; i++)
        if (i == NAMED - 1 && unread->n > NAMED)
            findings_report(&about, "comms_unreadable", FINDING_DOUBT,
                            "%zu more files, the first one: %s", unread->n - i, unread->why[i].msg);
        else
            findings_report(&about, "comms_unreadable", FINDING_DOUBT, "%s", unread->why[i].msg);
    return about.rc;
}

/* Takes the file of exactly this name, without which links are unknown. */
static int take_ports(void *into, const char *name, char *text, size_t size, struct err *err)
{
    return strcmp(basename(name), COMMS_PORTS_NAME) ? 0 : comms_ports_parse(text, size, into, err);
}

static int read_ports(const char *directory, struct comms_view *view, struct err *err)
{
    enum { BYTES_MOST = 1 << 20 };
    return comms_folder_read(directory, COMMS_PORTS_NAME, BYTES_MOST, take_ports, &view->ports,
                             &view->unread, err);
}

int comms_view_make(const char *directory, struct comms_view *view, struct err *err)
{
    const struct comms_hosts hosts = {&view->logs, &view->counters, &view->ports};
    int rc = comms_hosts_settle(&hosts, &view->findings, err);
    rc = rc ? rc : comms_merge(&view->logs, &view->comms, err);
    if (!rc && directory)
        comms_orders_read(directory, &view->counters, &view->comms);
    for (size_t i = 0; i < view->comms.n && !rc; i++)
        rc = comms_measure(&view->comms.communicator[i], err);
    rc = rc ? rc : make_total(view, err);
    rc = rc ? rc : comms_timeline_make(&view->logs, &view->comms, &view->timeline, err);
    if (!rc && !view->total_note[0])
        rc = comms_links_make(&view->total, &view->ports, &view->timeline, &view->links, err);
    if (!rc && !view->total_note[0])
        rc = comms_nvlink_check_make(&view->total, &view->counters, &view->nvlink_check, err);
    rc = rc ? rc : judge_unread(&view->unread, &view->findings, err);
    rc = rc ? rc : comms_judge(&view->logs, &view->comms, &view->findings, err);
    rc = rc ? rc : comms_nvlink_check_judge(&view->nvlink_check, &view->findings, err);
    return rc ? rc : comms_usage_judge(&view->comms, &view->timeline, &view->findings, err);
}

int comms_view_read(const char *directory, struct comms_view *view, bool *refused, struct err *err)
{
    *view = (struct comms_view){0};
    int rc = comms_logs_read(directory, &view->logs, &view->unread, err);
    if (!rc && view->unread.n && !view->logs.n) {
        *err = view->unread.why[0];
        rc = err->code;
    }
    rc = rc ? rc : read_ports(directory, view, err);
    rc = rc ? rc : comms_counters_read(directory, &view->counters, &view->unread, err);
    *refused = rc && rc != -ENOMEM;
    return rc ? rc : comms_view_make(directory, view, err);
}

void comms_view_free(struct comms_view *view)
{
    findings_free(&view->findings);
    comms_unread_free(&view->unread);
    comms_links_free(&view->links);
    comms_ports_free(&view->ports);
    comms_timeline_free(&view->timeline);
    comms_nvlink_check_free(&view->nvlink_check);
    comms_counters_free(&view->counters);
    comms_total_free(&view->total);
    comms_free(&view->comms);
    comms_logs_free(&view->logs);
}
