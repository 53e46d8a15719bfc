#include "harness/comms/cmd/comms_beside.h"

#include <errno.h>
#include <stdio.h>

#include "harness/comms/logs/host.h"
#include "harness/lib/sys/address.h"
#include "harness/lib/sys/tree.h"

/* Sets *why, where there are no counters. */
static struct comms_driver *ask(struct err *why)
{
    struct comms_driver *driver = comms_driver_ask(true, why);
    if (driver && driver->why.code)
        *why = driver->why;
    return driver;
}

bool comms_beside_begin(struct comms_beside *beside)
{
    *beside = (struct comms_beside){.first = NULL};
    beside->first = ask(&beside->why);
    if (beside->why.code)
        return false;
    const struct comms_counted counted = {.counts = beside->first->counts};
    const char *why = comms_counted_why(&counted);
    if (why[0])
        (void)err_set(&beside->why, -ENOTSUP, "%s", why);
    return !beside->why.code;
}

void comms_beside_end(struct comms_beside *beside)
{
    if (!beside->why.code)
        beside->second = ask(&beside->why);
    if (!beside->why.code)
        nvlink_since(&beside->first->counts, &beside->second->counts);
}

/* The process, and what it has started: a launcher has no GPU open. */
static size_t list_pids(long pid, long pids[static TREE_PROCESSES + 1])
{
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list((pid_t)pid, below, TREE_PROCESSES);
    pids[0] = pid;
    for (unsigned i = 0; i < n; i++)
        pids[i + 1] = below[i].pid;
    return n + 1;
}

void comms_beside_tell(const struct comms_beside *beside, const struct ras *ras, long pid,
                       struct comms_nvlink_delta *nvlink_delta)
{
    const struct comms_driver *first = beside->first, *second = beside->second;
    struct comms_nvlink_delta_job job = {.ras = ras, .is_here = address_is_own};
    long pids[TREE_PROCESSES + 1];
    *nvlink_delta = (struct comms_nvlink_delta){.seconds = 0};
    comms_host_find(nvlink_delta->counted.host);
    if (beside->why.code || !second) {
        (void)snprintf(nvlink_delta->counted.why, sizeof(nvlink_delta->counted.why), "%.159s",
                       beside->why.code ? beside->why.msg : "nobody looked");
        return;
    }
    nvlink_delta->counted.counts = second->counts;
    nvlink_delta->seconds = (double)(second->counted_ns - first->counted_ns) * 1e-9;
    job.users = second->users;
    job.nusers = second->nusers;
    job.npids = pid ? list_pids(pid, pids) : 0;
    job.pids = pids;
    comms_nvlink_delta_make(second->link, second->nlinks, &job, nvlink_delta);
}

void comms_beside_free(struct comms_beside *beside)
{
    comms_driver_free(beside->first);
    comms_driver_free(beside->second);
    *beside = (struct comms_beside){.first = NULL};
}
