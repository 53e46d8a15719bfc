/* NCCL for device.h: kernels/collective/gpu_collective.h with the harness's errors. */
#include "bench/device/device.h"

#include <errno.h>

#ifdef CONTEND_HAVE_CUDA

#include "bench/collective/collective_nccl.h"
#include "bench/gpu/gpu.h"
#include "harness/lib/sys/clock.h"
#include "kernels/collective/gpu_collective.h"

static int cuda_probe(const struct bench_ctx *ctx)
{
    if (ctx->machine->ngpus < ctx->planned_workers)
        return err_set(ctx->err, -ENOTSUP,
                       "an all-reduce among %u workers needs a GPU for each; %u visible",
                       ctx->planned_workers, ctx->machine->ngpus);
    return nccl_team_load(ctx);
}

static size_t largest(const struct reduce_config *config)
{
    size_t most = 0;
    for (size_t i = 0; i < config->ncalls; i++)
        most = config->calls[i].bytes > most ? config->calls[i].bytes : most;
    return most;
}

static int prepare(struct reduce *reduce, size_t call, struct err *err)
{
    return gpu_collective_prepare(reduce->impl, &reduce->calls[call], err);
}

/* Out of place, so that every step sums the same numbers. */
static int cuda_open(struct reduce *reduce, const struct reduce_config *config,
                     struct bench_ctx *ctx)
{
    struct gpu_collective *gc = NULL;
    size_t bytes = largest(config);
    int rc = nccl_team_open(ctx, 1, 0, &gc);
    reduce->impl = gc;
    if (!rc)
        rc = nccl_team_allocate(ctx, gc, false, &bytes);
    if (!rc && bytes < largest(config))
        rc = err_set(ctx->err, -ENOMEM, "a GPU has no room for collectives of %zu bytes",
                     largest(config));
    if (!rc)
        rc = prepare(reduce, 0, ctx->err);
    return rc ? rc : gpu_collective_fill(gc, 0, ctx->err);
}

static int launch(struct reduce *reduce, size_t call, struct err *err)
{
    int rc = prepare(reduce, call, err);
    return rc ? rc : gpu_collective_enqueue(reduce->impl, 1, err);
}

/* A rank arrives when its launch returns: it may be preempted inside the call, too. */
static int cuda_start(struct reduce *reduce, uint64_t *arrived_ns, struct err *err)
{
    int rc = launch(reduce, 0, err);
    *arrived_ns = clock_now_ns();
    for (size_t i = 1; i < reduce->ncalls && !rc; i++)
        rc = launch(reduce, i, err);
    return rc;
}

static int cuda_finish(struct reduce *reduce, struct err *err)
{
    return gpu_collective_wait(reduce->impl, err);
}

/* Uses other numbers than the steps, over poisoned results. */
static int check_call(struct reduce *reduce, size_t call, struct err *err)
{
    struct gpu_collective_verdict verdict = {0};
    int rc = prepare(reduce, call, err);
    if (!rc)
        rc = gpu_collective_fill(reduce->impl, 1, err);
    if (!rc)
        rc = launch(reduce, call, err);
    if (!rc)
        rc = cuda_finish(reduce, err);
    if (!rc)
        rc = gpu_collective_compare(reduce->impl, 1, 1, &verdict, err);
    if (!rc && verdict.wrong)
        rc = err_set(err, -EBADMSG,
                     "rank %u, %s: %s of %zu bytes: element %llu is %g, not %g; %llu wrong in all",
                     verdict.rank, verdict.gpu, collective_func_name(reduce->calls[call].op),
                     reduce->calls[call].bytes, (unsigned long long)verdict.index, verdict.got,
                     verdict.want, (unsigned long long)verdict.wrong);
    return rc;
}

/* Checks one call of each kind and size. */
static int cuda_check(struct reduce *reduce, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < reduce->ncalls && !rc; i++) {
        size_t first = 0;
        while (reduce->calls[first].op != reduce->calls[i].op ||
               reduce->calls[first].bytes != reduce->calls[i].bytes)
            first++;
        if (first == i)
            rc = check_call(reduce, i, err);
    }
    return rc;
}

static void cuda_close(struct reduce *reduce)
{
    gpu_collective_close(reduce->impl);
}

const struct reduce_ops reduce_cuda_ops = {
    .probe = cuda_probe,
    .open = cuda_open,
    .start = cuda_start,
    .finish = cuda_finish,
    .check = cuda_check,
    .close = cuda_close,
};

#else

static int cuda_absent(const struct bench_ctx *ctx)
{
    return err_set(ctx->err, -ENOTSUP, "device cuda: this program was built without CUDA");
}

const struct reduce_ops reduce_cuda_ops = {.probe = cuda_absent};

#endif
