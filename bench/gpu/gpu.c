#include "bench/gpu/gpu.h"

#include <errno.h>
#include <string.h>

#include "harness/lib/str.h"

int gpu_error_of(int rc, const char *name, struct err *err)
{
    const struct err why = *err;
    return rc ? err_set(err, rc, "%s: %s", name, why.msg) : 0;
}

const char *gpu_name(const struct bench_machine *machine, const char *pci_bdf)
{
    for (unsigned i = 0; i < machine->ngpus; i++)
        if (strcmp(machine->gpus[i].pci_bdf, pci_bdf) == 0)
            return str_fmt("GPU %u (%.28s)", i, pci_bdf);
    return str_fmt("GPU %.31s", pci_bdf[0] ? pci_bdf : "0");
}

#ifdef CONTEND_HAVE_CUDA

#include "harness/lib/str.h"
#include "kernels/gpu/gpu_common.h"

/* Checks that CUDA shows GPUs and the machine lists some. */
static int probe_driver(struct bench_ctx *ctx)
{
    if (gpu_count(ctx->err) == 0)
        return -ENOTSUP;
    if (ctx->machine->ngpus == 0)
        return err_set(ctx->err, -ENOTSUP, "the machine lists no GPU");
    return 0;
}

static int check_gpu(struct bench_ctx *ctx, unsigned gpu)
{
    const char *pci_bdf = ctx->machine->gpus[gpu].pci_bdf;
    if (gpu_check(pci_bdf, ctx->err) == 0)
        return 0;
    return gpu_error_of(-ENOTSUP, gpu_name(ctx->machine, pci_bdf), ctx->err);
}

int gpu_probe(struct bench_ctx *ctx)
{
    int rc = probe_driver(ctx);
    if (rc)
        return rc;
    /* Backwards: if no GPU is usable, the error is the reason of the first GPU. */
    for (unsigned i = ctx->machine->ngpus; i-- > 0;) {
        rc = check_gpu(ctx, i);
        if (!rc)
            break;
    }
    return rc;
}

#else

int gpu_probe(struct bench_ctx *ctx)
{
    return err_set(ctx->err, -ENOTSUP, "this program was built without CUDA");
}

#endif
