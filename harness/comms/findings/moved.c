#include "harness/comms/findings/moved.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which GPUs are the job's ---- */

static double carries(const struct gpu_link *link, size_t n, const char *pci)
{
    double gbps = 0;
    for (size_t i = 0; i < n; i++) {
        if (link[i].way == GPU_WAY_PCIE || strcmp(link[i].pci, pci) != 0)
            continue;
        if (!(link[i].gbps > 0))
            return 0;
        gbps += link[i].gbps;
    }
    return gbps;
}

/* One that has gone uses none. */
static bool is_there(const struct ras_rank *rank)
{
    return !rank->missing || (rank->unresponsive && !rank->dead);
}

static void lay_rank(struct comms_moved *moved, const struct ras_rank *rank, int64_t size,
                     int64_t largest[static NVLINK_GPUS])
{
    if (rank->gpu < 0 || (uint64_t)rank->gpu >= moved->n)
        return;
    struct comms_moved_gpu *gpu = &moved->gpu[rank->gpu];
    gpu->of_job = true;
    gpu->ranks++;
    if (size > largest[rank->gpu]) {
        largest[rank->gpu] = size;
        gpu->rank = rank->rank;
        gpu->pid = rank->pid;
    }
    moved->by = COMMS_MOVED_BY_RANKS;
}

static void lay_ranks(struct comms_moved *moved, const struct comms_moved_job *job)
{
    int64_t largest[NVLINK_GPUS] = {0};
    const char *last = NULL; /* a question for each rank would take long */
    bool here = false;
    for (size_t c = 0; c < job->ras->n; c++)
        for (size_t r = 0; r < job->ras->communicator[c].nranks; r++) {
            const struct ras_rank *rank = &job->ras->communicator[c].rank[r];
            if (!is_there(rank))
                continue;
            if (!last || strcmp(last, rank->host) != 0)
                here = job->is_here(rank->host);
            last = rank->host;
            if (here)
                lay_rank(moved, rank, job->ras->communicator[c].size, largest);
        }
}

static bool has_one_of(const struct gpu_users *gpu, const struct comms_moved_job *job)
{
    for (unsigned u = 0; u < gpu->n; u++)
        for (size_t p = 0; p < job->npids; p++)
            if ((long)gpu->pids[u] == job->pids[p])
                return true;
    return false;
}

static void lay_process(struct comms_moved *moved, const struct comms_moved_job *job)
{
    for (size_t u = 0; u < job->nusers; u++)
        for (size_t i = 0; i < moved->n && has_one_of(&job->users[u], job); i++)
            if (!strcmp(moved->gpu[i].counted->pci_bdf, job->users[u].pci_bdf)) {
                moved->gpu[i].of_job = true;
                moved->by = COMMS_MOVED_BY_PROCESS;
            }
}

static void note(struct comms_moved *moved, const struct comms_moved_job *job)
{
    if (moved->by == COMMS_MOVED_BY_PROCESS)
        (void)snprintf(moved->note, sizeof(moved->note),
                       "The job's are those that process %ld, or one that it has started, has open",
                       job->pids[0]);
    else if (moved->by == COMMS_MOVED_BY_NOBODY)
        (void)snprintf(moved->note, sizeof(moved->note),
                       "Which of these GPUs the job uses is not known: %s%s",
                       job->ras ? "no rank is told to be on this machine" : "no rank is told",
                       job->npids ? ", and NVML lists its process on none" : "");
}

void comms_moved_make(const struct gpu_link *link, size_t nlinks, const struct comms_moved_job *job,
                      struct comms_moved *moved)
{
    const struct nvlink_counts *counts = &moved->counted.counts;
    moved->by = COMMS_MOVED_BY_NOBODY;
    moved->n = moved->counted.why[0] ? 0 : counts->n;
    for (size_t i = 0; i < moved->n; i++)
        moved->gpu[i] =
            (struct comms_moved_gpu){.counted = &counts->gpu[i],
                                     .gbps = carries(link, nlinks, counts->gpu[i].pci_bdf),
                                     .rank = -1,
                                     .pid = -1};
    if (job->ras)
        lay_ranks(moved, job);
    if (moved->by == COMMS_MOVED_BY_NOBODY)
        lay_process(moved, job);
    note(moved, job);
}

/* ---- sums ---- */

static struct comms_moved_side side_of(double bytes, double carried, double seconds)
{
    return (struct comms_moved_side){.bytes = bytes,
                                     .rate = seconds > 0 ? bytes / seconds : NAN,
                                     .share = carried > 0 ? bytes / carried : NAN,
                                     .carried = carried};
}

static double told(int64_t bytes)
{
    return bytes < 0 ? NAN : (double)bytes;
}

struct comms_moved_sides comms_moved_of(const struct comms_moved *moved,
                                        const struct comms_moved_gpu *gpu)
{
    double carried = gpu->gbps > 0 ? gpu->gbps * 1e9 * moved->seconds : NAN;
    return (struct comms_moved_sides){
        side_of(told(gpu->counted->sent_bytes), carried, moved->seconds),
        side_of(told(gpu->counted->received_bytes), carried, moved->seconds)};
}

static void add(struct comms_moved_side *sum, const struct comms_moved_side *side)
{
    if (isnan(side->bytes))
        return;
    sum->bytes += side->bytes;
    sum->carried += side->carried; /* NaN for all, if it is for one */
}

struct comms_moved_sides comms_moved_all(const struct comms_moved *moved, bool of_job)
{
    struct comms_moved_sides sum = {.sent = {.bytes = 0}};
    for (size_t i = 0; i < moved->n; i++) {
        if (of_job && !moved->gpu[i].of_job)
            continue;
        const struct comms_moved_sides sides = comms_moved_of(moved, &moved->gpu[i]);
        add(&sum.sent, &sides.sent);
        add(&sum.received, &sides.received);
    }
    sum.sent = side_of(sum.sent.bytes, sum.sent.carried, moved->seconds);
    sum.received = side_of(sum.received.bytes, sum.received.carried, moved->seconds);
    return sum;
}
