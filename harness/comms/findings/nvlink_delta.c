#include "harness/comms/findings/nvlink_delta.h"

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

static void lay_rank(struct comms_nvlink_delta *nvlink_delta, const struct ras_rank *rank,
                     int64_t size, int64_t largest[static NVLINK_GPUS])
{
    if (rank->gpu < 0 || (uint64_t)rank->gpu >= nvlink_delta->n)
        return;
    struct comms_nvlink_delta_gpu *gpu = &nvlink_delta->gpu[rank->gpu];
    gpu->of_job = true;
    gpu->ranks++;
    if (size > largest[rank->gpu]) {
        largest[rank->gpu] = size;
        gpu->rank = rank->rank;
        gpu->pid = rank->pid;
    }
    nvlink_delta->by = COMMS_NVLINK_DELTA_BY_RANKS;
}

static void lay_ranks(struct comms_nvlink_delta *nvlink_delta,
                      const struct comms_nvlink_delta_job *job)
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
                lay_rank(nvlink_delta, rank, job->ras->communicator[c].size, largest);
        }
}

static bool has_one_of(const struct gpu_users *gpu, const struct comms_nvlink_delta_job *job)
{
    for (unsigned u = 0; u < gpu->n; u++)
        for (size_t p = 0; p < job->npids; p++)
            if ((long)gpu->pids[u] == job->pids[p])
                return true;
    return false;
}

static void lay_process(struct comms_nvlink_delta *nvlink_delta,
                        const struct comms_nvlink_delta_job *job)
{
    for (size_t u = 0; u < job->nusers; u++)
        for (size_t i = 0; i < nvlink_delta->n && has_one_of(&job->users[u], job); i++)
            if (!strcmp(nvlink_delta->gpu[i].counted->pci_bdf, job->users[u].pci_bdf)) {
                nvlink_delta->gpu[i].of_job = true;
                nvlink_delta->by = COMMS_NVLINK_DELTA_BY_PROCESS;
            }
}

static void note(struct comms_nvlink_delta *nvlink_delta, const struct comms_nvlink_delta_job *job)
{
    if (nvlink_delta->by == COMMS_NVLINK_DELTA_BY_PROCESS)
        (void)snprintf(nvlink_delta->note, sizeof(nvlink_delta->note),
                       "The job's are those that process %ld, or one that it has started, has open",
                       job->pids[0]);
    else if (nvlink_delta->by == COMMS_NVLINK_DELTA_BY_NOBODY)
        (void)snprintf(nvlink_delta->note, sizeof(nvlink_delta->note),
                       "The job's GPUs are not known: %s%s",
                       job->ras ? "NCCL names no rank on this machine" : "NCCL names no rank",
                       job->npids ? ", and NVML lists its process on none" : "");
}

void comms_nvlink_delta_make(const struct gpu_link *link, size_t nlinks,
                             const struct comms_nvlink_delta_job *job,
                             struct comms_nvlink_delta *nvlink_delta)
{
    const struct nvlink_counts *counts = &nvlink_delta->counted.counts;
    nvlink_delta->by = COMMS_NVLINK_DELTA_BY_NOBODY;
    nvlink_delta->n = nvlink_delta->counted.why[0] ? 0 : counts->n;
    for (size_t i = 0; i < nvlink_delta->n; i++)
        nvlink_delta->gpu[i] =
            (struct comms_nvlink_delta_gpu){.counted = &counts->gpu[i],
                                            .gbps = carries(link, nlinks, counts->gpu[i].pci_bdf),
                                            .rank = -1,
                                            .pid = -1};
    if (job->ras)
        lay_ranks(nvlink_delta, job);
    if (nvlink_delta->by == COMMS_NVLINK_DELTA_BY_NOBODY)
        lay_process(nvlink_delta, job);
    note(nvlink_delta, job);
}

/* ---- sums ---- */

static struct comms_nvlink_delta_side side_of(double bytes, double carried, double seconds)
{
    return (struct comms_nvlink_delta_side){.bytes = bytes,
                                            .rate = seconds > 0 ? bytes / seconds : NAN,
                                            .share = carried > 0 ? bytes / carried : NAN,
                                            .carried = carried};
}

static double told(int64_t bytes)
{
    return bytes < 0 ? NAN : (double)bytes;
}

struct comms_nvlink_delta_sides comms_nvlink_delta_of(const struct comms_nvlink_delta *nvlink_delta,
                                                      const struct comms_nvlink_delta_gpu *gpu)
{
    double carried = gpu->gbps > 0 ? gpu->gbps * 1e9 * nvlink_delta->seconds : NAN;
    return (struct comms_nvlink_delta_sides){
        side_of(told(gpu->counted->sent_bytes), carried, nvlink_delta->seconds),
        side_of(told(gpu->counted->received_bytes), carried, nvlink_delta->seconds)};
}

static void add(struct comms_nvlink_delta_side *sum, const struct comms_nvlink_delta_side *side)
{
    if (isnan(side->bytes))
        return;
    sum->bytes += side->bytes;
    sum->carried += side->carried; /* NaN for all, if it is for one */
}

struct comms_nvlink_delta_sides
comms_nvlink_delta_all(const struct comms_nvlink_delta *nvlink_delta, bool of_job)
{
    struct comms_nvlink_delta_sides sum = {.sent = {.bytes = 0}};
    for (size_t i = 0; i < nvlink_delta->n; i++) {
        if (of_job && !nvlink_delta->gpu[i].of_job)
            continue;
        const struct comms_nvlink_delta_sides sides =
            comms_nvlink_delta_of(nvlink_delta, &nvlink_delta->gpu[i]);
        add(&sum.sent, &sides.sent);
        add(&sum.received, &sides.received);
    }
    sum.sent = side_of(sum.sent.bytes, sum.sent.carried, nvlink_delta->seconds);
    sum.received = side_of(sum.received.bytes, sum.received.carried, nvlink_delta->seconds);
    return sum;
}
