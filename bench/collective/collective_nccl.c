/* NCCL behind collective.h: adds errors and peers to kernels/collective/gpu_collective.h. */
#include "bench/collective/collective_nccl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/collective/collective.h"
#include "bench/collective/collective_scan.h"

#ifdef CONTEND_HAVE_CUDA

#include <stdlib.h>

#include "bench/gpu/gpu.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"
#include "kernels/collective/gpu_collective.h"
#include "kernels/collective/nccl_api.h"

enum { GPUS_MAX = 64 };

int nccl_team_load(const struct bench_ctx *ctx)
{
    char text[32];
    int version;
    int rc = gpu_collective_load(&version, ctx->err);
    if (!rc)
        bench_library(ctx, "NCCL", nccl_api_version(version, text, sizeof(text)));
    return rc;
}

/* With CUDA_LAUNCH_BLOCKING nothing queues, so that times would mean something else. */
static int check_blocking(const struct bench_ctx *ctx)
{
    const char *set = getenv("CUDA_LAUNCH_BLOCKING");
    if (!set || !set[0] || strcmp(set, "0") == 0)
        return 0;
    return err_set(ctx->err, -ENOTSUP,
                   "CUDA_LAUNCH_BLOCKING=%.16s: operations do not queue, and ranks of one process "
                   "wait for each other without end; unset it",
                   set);
}

int nccl_team_probe(struct bench_ctx *ctx, unsigned *local)
{
    const struct bench_machine *machine = ctx->machine;
    *local = ctx->peers->size > 1 ? 1 : machine->ngpus;
    if (ctx->device != DEVICE_NCCL)
        return err_set(ctx->err, -ENOTSUP, "no GPU that NCCL could use answers here");
    if (ctx->peers->size == 1 && machine->ngpus == 1)
        return err_set(ctx->err, -ENOTSUP,
                       "one GPU only: a collective needs two or more, and n = 1 has no bus "
                       "bandwidth");
    if (*local == 0)
        return err_set(ctx->err, -ENOTSUP, "CUDA shows this process no GPU");
    if (ctx->peers->size > 1 && !ctx->pci_bdf[0])
        return err_set(ctx->err, -ENOTSUP, "no GPU for worker %u: %u workers, %u GPUs", ctx->worker,
                       ctx->workers, machine->ngpus);
    int rc = check_blocking(ctx);
    return rc ? rc : nccl_team_load(ctx);
}

/* Identifies a rank's GPU. Containers on one machine share the boot id. */
struct rank_gpu {
    char boot_id[40], pci_bdf[PCI_BDF_MAX];
};

/* Refuses two ranks on one GPU: NCCL's own error does not name them. */
static int check_rank_gpus(struct bench_ctx *ctx)
{
    unsigned size = ctx->peers->size;
    struct rank_gpu mine = {.boot_id = "", .pci_bdf = ""}, *all = calloc(size, sizeof(*all));
    (void)PROC_TEXT("", mine.boot_id, "/proc/sys/kernel/random/boot_id");
    memcpy(mine.pci_bdf, ctx->pci_bdf, sizeof(mine.pci_bdf));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "cannot allocate a list of %u ranks", size);
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    for (unsigned b = 0; b < size && !rc; b++)
        for (unsigned a = 0; a < b && !rc; a++)
            if (memcmp(&all[a], &all[b], sizeof(all[a])) == 0)
                rc = err_set(ctx->err, -ENOTSUP,
                             "two ranks on one GPU: %u and %u have %s, which NCCL refuses; use at "
                             "most one worker a GPU (%u visible here)",
                             a, b, all[b].pci_bdf, ctx->machine->ngpus);
    free(all);
    return rc;
}

static int open_gpus(struct bench_ctx *ctx, unsigned local, unsigned times,
                     struct gpu_collective **gc)
{
    const char *pci_bdf[GPUS_MAX] = {ctx->pci_bdf};
    if (local > GPUS_MAX)
        return err_set(ctx->err, -EINVAL, "%u GPUs in one process, at most %d", local, GPUS_MAX);
    bool has_all = ctx->peers->size == 1;
    for (unsigned k = 0; k < local && has_all; k++)
        pci_bdf[k] = ctx->machine->gpus[k].pci_bdf;
    const struct gpu_collective_config config = {
        .ranks = has_all ? local : ctx->peers->size,
        .first = has_all ? 0 : ctx->peers->rank,
        .local = local,
        .pci_bdf = pci_bdf,
        .times_most = times,
    };
    return gpu_collective_open(&config, gc, ctx->err);
}

/* Passes rank 0's id to all ranks, and joins them. */
static int join(struct bench_ctx *ctx, struct gpu_collective *gc)
{
    struct nccl_id mine = {.bytes = {0}}, *all = calloc(ctx->peers->size, sizeof(*all));
    int rc = 0;
    if (!all)
        rc = err_set(ctx->err, -ENOMEM, "cannot allocate the ids of %u ranks", ctx->peers->size);
    else if (ctx->peers->rank == 0)
        rc = gpu_collective_make_id(gc, &mine, ctx->err);
    rc = collective_agree(ctx->peers, rc, ctx->err);
    if (!rc)
        rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    if (!rc)
        rc = gpu_collective_join(gc, &all[0], ctx->err);
    free(all);
    return rc;
}

/*
 * No collective_agree after join: if one rank fails to join, the other ranks wait for it inside
 * NCCL. The failed rank returns its own message, and the harness ends the other ranks.
 */
int nccl_team_open(struct bench_ctx *ctx, unsigned local, unsigned times,
                   struct gpu_collective **gc)
{
    *gc = NULL;
    int rc = check_rank_gpus(ctx);
    if (rc)
        return rc;
    rc = collective_agree(ctx->peers, open_gpus(ctx, local, times, gc), ctx->err);
    return rc ? rc : join(ctx, *gc);
}

int nccl_team_allocate(struct bench_ctx *ctx, struct gpu_collective *gc, bool registered,
                       size_t *bytes)
{
    size_t room = 0, *all = calloc(ctx->peers->size, sizeof(*all));
    int rc = all ? 0 : err_set(ctx->err, -ENOMEM, "cannot allocate a list of ranks");
    if (!rc)
        rc = gpu_collective_room(gc, &room, ctx->err);
    rc = collective_agree(ctx->peers, rc, ctx->err);
    if (!rc)
        rc = peers_gather(ctx->peers, &room, all, sizeof(room), ctx->err);
    for (unsigned r = 0; r < ctx->peers->size && !rc; r++)
        *bytes = all[r] < *bytes ? all[r] : *bytes;
    free(all);
    if (!rc)
        rc = gpu_collective_allocate(gc, *bytes, registered, ctx->err);
    return collective_agree(ctx->peers, rc, ctx->err);
}

/* The engine's state. */
struct nccl_team {
    struct gpu_collective *gc;
    float *busy_us, *period_us; /* [local * COLLECTIVE_TIMES_MAX] */
};

static void nccl_close(struct collective *team)
{
    struct nccl_team *t = team->impl;
    team->impl = NULL;
    if (!t)
        return;
    gpu_collective_close(t->gc);
    free(t->period_us);
    free(t->busy_us);
    free(t);
}

static int nccl_open(struct collective *team, struct bench_ctx *ctx, size_t most_bytes)
{
    const struct collective_params *params = ctx->params;
    unsigned local;
    int rc = nccl_team_probe(ctx, &local);
    if (rc)
        return rc;
    struct nccl_team *t = calloc(1, sizeof(*t));
    team->impl = t;
    if (t) {
        t->busy_us = calloc((size_t)local * COLLECTIVE_TIMES_MAX, sizeof(*t->busy_us));
        t->period_us = calloc((size_t)local * COLLECTIVE_TIMES_MAX, sizeof(*t->period_us));
    }
    if (!t || !t->busy_us || !t->period_us)
        rc = err_set(ctx->err, -ENOMEM, "cannot allocate the times of %u ranks", local);
    rc = collective_agree(ctx->peers, rc, ctx->err);
    if (!rc)
        rc = nccl_team_open(ctx, local, COLLECTIVE_TIMES_MAX, &t->gc);
    team->most_bytes = most_bytes;
    if (!rc)
        rc = nccl_team_allocate(ctx, t->gc, params->registered, &team->most_bytes);
    bool has_all = ctx->peers->size == 1;
    team->ranks = has_all ? local : ctx->peers->size;
    team->first = has_all ? 0 : ctx->peers->rank;
    team->local = local;
    return rc;
}

static int nccl_prepare(struct collective *team, const struct collective_call *call,
                        struct err *err)
{
    struct nccl_team *t = team->impl;
    int rc = gpu_collective_prepare(t->gc, call, err);
    team->batch = gpu_collective_batch(t->gc);
    return rc;
}

static int do_one(struct nccl_team *t, struct err *err)
{
    int rc = gpu_collective_enqueue(t->gc, 1, err);
    if (!rc)
        rc = gpu_collective_wait(t->gc, err);
    return rc;
}

static int nccl_run(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err)
{
    struct nccl_team *t = team->impl;
    int rc = do_one(t, err);
    if (rc)
        return rc;
    uint64_t start_ns = clock_now_ns();
    rc = gpu_collective_enqueue(t->gc, iters, err);
    if (!rc)
        rc = gpu_collective_wait(t->gc, err);
    *elapsed_ns = clock_now_ns() - start_ns;
    return rc;
}

static int nccl_time_each(struct collective *team, unsigned iters, struct collective_time *times,
                          struct err *err)
{
    struct nccl_team *t = team->impl;
    int rc = do_one(t, err);
    if (!rc)
        rc = gpu_collective_time_each(t->gc, iters, t->busy_us, t->period_us, err);
    for (size_t i = 0; i < (size_t)team->local * iters && !rc; i++)
        times[i] = (struct collective_time){t->busy_us[i], t->period_us[i]};
    return rc;
}

static int check_operations(const struct nccl_team *t, unsigned operations, unsigned repetition,
                            struct collective_verdict *verdict, struct err *err)
{
    struct gpu_collective_verdict found = {0};
    int rc = gpu_collective_fill(t->gc, repetition, err);
    if (!rc)
        rc = gpu_collective_enqueue(t->gc, operations, err);
    if (!rc)
        rc = gpu_collective_compare(t->gc, operations, repetition, &found, err);
    *verdict = (struct collective_verdict){.wrong = found.wrong,
                                           .rank = found.rank,
                                           .index = found.index,
                                           .got = found.got,
                                           .want = found.want};
    (void)snprintf(verdict->on, sizeof(verdict->on), "%s", found.gpu);
    return rc;
}

/* Checks both graphs that are timed: that of a single operation, and that of the batch. */
static int nccl_check(struct collective *team, unsigned repetition,
                      struct collective_verdict *verdict, struct err *err)
{
    const struct nccl_team *t = team->impl;
    int rc = check_operations(t, 1, repetition, verdict, err);
    if (!rc && !verdict->wrong && team->batch > 1)
        rc = check_operations(t, team->batch, repetition, verdict, err);
    return rc;
}

#else

int nccl_team_probe(struct bench_ctx *ctx, unsigned *local)
{
    *local = 1;
    return err_set(ctx->err, -ENOTSUP, "device nccl: this program was built without CUDA");
}

#endif

const struct collective_ops collective_nccl_ops = {
    .name = "nccl",
    .probe = nccl_team_probe,
#ifdef CONTEND_HAVE_CUDA
    .open = nccl_open,
    .prepare = nccl_prepare,
    .run = nccl_run,
    .time_each = nccl_time_each,
    .check = nccl_check,
    .close = nccl_close,
#endif
};
