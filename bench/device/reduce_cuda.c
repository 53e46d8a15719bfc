/* NCCL's all-reduce behind reduce.h: kernels/collective/gpu_collective.h with the harness's errors.
 */
#include "bench/device/reduce.h"

#include <errno.h>

#ifdef CONTEND_HAVE_CUDA

#include <stdlib.h>

#include "bench/collective/collective_nccl.h"
#include "bench/gpu/gpu.h"
#include "harness/sys/clock.h"
#include "kernels/collective/gpu_collective.h"

static int cuda_probe(const struct bench_ctx *ctx)
{
    if (ctx->machine->ngpus < ctx->slots)
        return err_set(ctx->err, -ENOTSUP,
                       "an all-reduce among %u workers needs a GPU for each; %u visible",
                       ctx->slots, ctx->machine->ngpus);
    return nccl_team_load(ctx);
}

/* Rank 0 makes the id under which all join, and everyone gets it. */
static int spread_id(struct peers *peers, struct nccl_id *id, struct err *err)
{
    char msg[GPU_MSG] = "";
    struct nccl_id *all = calloc(peers->size, sizeof(*all));
    int rc = all ? 0 : err_set(err, -ENOMEM, "no memory for %u ranks", peers->size);
    if (!rc && peers->rank == 0)
        rc = gpu_error(gpu_collective_make_id(id, msg, sizeof(msg)), msg, err);
    if (!rc)
        rc = peers_gather(peers, id, all, sizeof(*id), err);
    if (!rc)
        *id = all[0];
    free(all);
    return rc;
}

struct cuda_reduce {
    struct gpu_collective *gc;
    char name[GPU_NAME_MAX];
};

/* Joins, and gets ready to sum: out of place, so that the same numbers are summed in every step. */
static int start(const struct cuda_reduce *cuda, const struct nccl_id *id, size_t bytes,
                 struct err *err)
{
    char msg[GPU_MSG] = "";
    const struct collective_call call = {.op = COLLECTIVE_ALLREDUCE,
                                         .type = COLLECTIVE_FLOAT,
                                         .count = bytes / sizeof(float),
                                         .bytes = bytes};
    int rc = gpu_collective_join(cuda->gc, id, msg, sizeof(msg));
    if (!rc)
        rc = gpu_collective_allocate(cuda->gc, bytes, msg, sizeof(msg));
    if (!rc)
        rc = gpu_collective_prepare(cuda->gc, &call, msg, sizeof(msg));
    if (!rc)
        rc = gpu_collective_fill(cuda->gc, 0, msg, sizeof(msg));
    return gpu_error_of(rc, cuda->name, msg, err);
}

static int cuda_open(struct reduce *reduce, const struct reduce_config *config, struct err *err)
{
    char msg[GPU_MSG] = "";
    struct nccl_id id = {0};
    struct cuda_reduce *cuda = calloc(1, sizeof(*cuda));
    const struct gpu_collective_config team = {.ranks = reduce->peers->size,
                                               .first = reduce->peers->rank,
                                               .local = 1,
                                               .pci_bdf = &config->pci_bdf};
    reduce->impl = cuda;
    if (!cuda)
        return err_set(err, -ENOMEM, "cannot allocate the state of an all-reduce");
    (void)gpu_name(config->machine, config->pci_bdf, cuda->name);
    int rc =
        gpu_error_of(gpu_collective_open(&team, &cuda->gc, msg, sizeof(msg)), cuda->name, msg, err);
    if (!rc)
        rc = spread_id(reduce->peers, &id, err);
    return rc ? rc : start(cuda, &id, config->bytes, err);
}

static int cuda_run(struct reduce *reduce, uint64_t *came_ns, struct err *err)
{
    const struct cuda_reduce *cuda = reduce->impl;
    char msg[GPU_MSG] = "";
    *came_ns = clock_now_ns();
    int rc = gpu_collective_enqueue(cuda->gc, 1, msg, sizeof(msg));
    if (!rc)
        rc = gpu_collective_wait(cuda->gc, msg, sizeof(msg));
    return gpu_error_of(rc, cuda->name, msg, err);
}

/* Other numbers than the steps had, over poison. */
static int cuda_check(struct reduce *reduce, struct err *err)
{
    const struct cuda_reduce *cuda = reduce->impl;
    char msg[GPU_MSG] = "";
    uint64_t came_ns;
    struct gpu_collective_verdict verdict = {0};
    int rc = gpu_error_of(gpu_collective_fill(cuda->gc, 1, msg, sizeof(msg)), cuda->name, msg, err);
    if (!rc)
        rc = cuda_run(reduce, &came_ns, err);
    if (!rc)
        rc = gpu_error_of(gpu_collective_compare(cuda->gc, 1, &verdict, msg, sizeof(msg)),
                          cuda->name, msg, err);
    if (!rc && verdict.wrong)
        rc = err_set(err, -EBADMSG, "%s: reduced gradient[%llu] is %g, not %g; %llu wrong in all",
                     cuda->name, (unsigned long long)verdict.index, verdict.got, verdict.want,
                     (unsigned long long)verdict.wrong);
    return rc;
}

static void cuda_close(struct reduce *reduce)
{
    struct cuda_reduce *cuda = reduce->impl;
    if (cuda)
        gpu_collective_close(cuda->gc);
    free(cuda);
}

const struct reduce_ops reduce_cuda_ops = {
    .probe = cuda_probe,
    .open = cuda_open,
    .run = cuda_run,
    .check = cuda_check,
    .close = cuda_close,
};

#else

static int cuda_absent(const struct bench_ctx *ctx)
{
    return err_set(ctx->err, -ENOTSUP, "device cuda: this program was built without CUDA");
}

static int cuda_open(struct reduce *reduce, const struct reduce_config *config, struct err *err)
{
    (void)reduce;
    (void)config;
    return err_set(err, -ENOTSUP, "device cuda: this program was built without CUDA");
}

static void cuda_close(struct reduce *reduce)
{
    (void)reduce;
}

const struct reduce_ops reduce_cuda_ops = {
    .probe = cuda_absent, .open = cuda_open, .close = cuda_close};

#endif
