/*
 * What NVLink's counters of this machine's GPUs did between two moments beside a job that runs, and
 * which of these GPUs the job uses. Counters are of all processes together. Pure.
 *
 * The job's GPUs are those of its ranks (ras.h), which are known by NVML's numbers as the ranks'
 * processes see them; where no rank is known to be here, those that a process of the job has open.
 */
#ifndef CONTEND_COMMS_FINDINGS_NVLINK_DELTA_H
#define CONTEND_COMMS_FINDINGS_NVLINK_DELTA_H

#include "harness/comms/logs/counters.h"
#include "harness/comms/logs/ras.h"
#include "harness/machine/gpu/links.h"
#include "harness/machine/gpu/processes.h"

/* How the job's GPUs are known. */
enum comms_nvlink_delta_by {
    COMMS_NVLINK_DELTA_BY_NOBODY,
    COMMS_NVLINK_DELTA_BY_RANKS,
    COMMS_NVLINK_DELTA_BY_PROCESS
};

struct comms_nvlink_delta_gpu {
    const struct nvlink_gpu *counted; /* borrowed */
    double gbps;       /* of all its NVLinks in one direction, as specified; 0 = unknown */
    bool of_job;       /* never, by nobody */
    size_t ranks;      /* of all communicators */
    int64_t rank, pid; /* of the largest communicator; -1 = none */
};

/* Zeroed = nothing was counted. */
struct comms_nvlink_delta {
    struct comms_counted counted; /* with why it was not */
    double seconds;               /* between the two moments */
    enum comms_nvlink_delta_by by;
    char note[200]; /* in words, unless it is by ranks */
    size_t n;
    struct comms_nvlink_delta_gpu gpu[NVLINK_GPUS];
};

/* The job's processes and GPUs, as far as they are known. */
struct comms_nvlink_delta_job {
    const struct ras *ras; /* NULL: nothing is told */
    bool (*is_here)(const char *host);
    size_t nusers; /* GPUs, and who has them open */
    const struct gpu_users *users;
    size_t npids; /* a process of the job, and those that it has started; 0 = not known */
    const long *pids;
};

/*
 * moved->counted and moved->seconds are given; sets the rest, unless there is a reason why nothing
 * was counted. A *moved that was copied is of no use.
 */
void comms_nvlink_delta_make(const struct gpu_link *link, size_t nlinks,
                             const struct comms_nvlink_delta_job *job,
                             struct comms_nvlink_delta *nvlink_delta);

/* One direction of one GPU, or of several together. */
struct comms_nvlink_delta_side {
    double bytes;   /* NaN = not told */
    double rate;    /* bytes a second */
    double share;   /* of what its links can carry; NaN = unknown */
    double carried; /* bytes that they could have carried meanwhile; NaN = unknown */
};
struct comms_nvlink_delta_sides {
    struct comms_nvlink_delta_side sent, received;
};
struct comms_nvlink_delta_sides comms_nvlink_delta_of(const struct comms_nvlink_delta *nvlink_delta,
                                                      const struct comms_nvlink_delta_gpu *gpu);

/* Sums over GPUs with counters: all, or the job's. */
struct comms_nvlink_delta_sides
comms_nvlink_delta_all(const struct comms_nvlink_delta *nvlink_delta, bool of_job);

#endif
