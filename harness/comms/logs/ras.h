/*
 * A running job as NCCL's RAS service tells it (2.24 and later): its communicators, their ranks,
 * and how many collectives each rank has launched. Sends and receives are not counted by NCCL,
 * bytes of calls neither.
 *
 * The service is a thread in each process of a job; the first process on a machine listens at
 * NCCL_RAS_ADDR, or at localhost:28028, and answers for all of the job. Source: NVIDIA, NCCL user
 * guide, "RAS", and src/ras/client.cc (protocol) and client_support.cc (JSON, from 2.28.7 on).
 */
#ifndef CONTEND_COMMS_LOGS_RAS_H
#define CONTEND_COMMS_LOGS_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/finding.h"

enum {
    RAS_FUNCS = 16,
    RAS_NAME_MAX = 32,
    RAS_HOST_MAX = 64,
    RAS_COMMUNICATORS_MOST = 4096,
    RAS_RANKS_MOST = 65536 /* of one communicator */
};

struct ras_rank {
    int64_t rank, pid, gpu; /* gpu: NVML's number; -1 = not told */
    char host[RAS_HOST_MAX];
    int64_t init_state, async_error; /* ncclResult_t */
    bool leaves;                     /* it was finalized, destroyed or aborted */
    bool missing;                    /* nothing was told of it but this and .. */
    bool unresponsive, dead;
    uint64_t counts[RAS_FUNCS]; /* launched, by ras.func */
};

struct ras_communicator {
    char hash[RAS_NAME_MAX], second[2 * RAS_NAME_MAX]; /* which one it is */
    int64_t size;
    size_t nranks;
    struct ras_rank *rank; /* owned; those that are missing behind the others */
};

/* Zeroed = none. All texts are of one line, fit for a terminal. */
struct ras {
    char version[RAS_NAME_MAX]; /* of NCCL */
    int64_t timeouts;           /* of the service among its processes */
    size_t nfuncs;
    char func[RAS_FUNCS][RAS_NAME_MAX];
    size_t n;
    struct ras_communicator *communicator; /* owned */
};

void ras_free(struct ras *ras);

/* By hash; NULL where there is none. */
const struct ras_communicator *ras_find(const struct ras *ras, const struct ras_communicator *like);

/* A function by name; ras->nfuncs: there is none. */
size_t ras_find_func(const struct ras *ras, const char *name);
/* Whether a process is in a communicator. */
bool ras_has_process(const struct ras *ras, int64_t pid);

/*
 * What is wrong, of two looks at a job `seconds` apart:
 *   ras_missing  ranks of which nothing is told, and why
 *   ras_error    a rank reports an error
 *   ras_stuck    ranks have launched fewer collectives than others, and none was launched meanwhile
 *   ras_behind   the same, but some were: a note, unless it may be by asking one after the other
 *   ras_silent   nothing was launched, by nobody
 *   ras_timeouts the answer may lack processes
 * -ENOMEM only. Pure.
 */
int ras_judge(const struct ras *before, const struct ras *now, double seconds,
              struct findings *findings, struct err *err);

#endif
