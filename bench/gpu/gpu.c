#include "bench/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int gpu_error_of(int rc, const char *name, struct err *err)
{
    const struct err why = *err;
    return rc ? err_set(err, rc, "%s: %s", name, why.msg) : 0;
}

char *gpu_name(const struct bench_machine *machine, const char *pci_bdf,
               char name[static GPU_NAME_MAX])
{
    for (unsigned i = 0; i < machine->ngpus; i++)
        if (strcmp(machine->gpus[i].pci_bdf, pci_bdf) == 0) {
            (void)snprintf(name, GPU_NAME_MAX, "GPU %u (%.28s)", i, pci_bdf);
            return name;
        }
    (void)snprintf(name, GPU_NAME_MAX, "GPU %.31s", pci_bdf[0] ? pci_bdf : "0");
    return name;
}

#ifdef CONTEND_HAVE_CUDA

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
    char name[GPU_NAME_MAX];
    const char *pci_bdf = ctx->machine->gpus[gpu].pci_bdf;
    if (gpu_check(pci_bdf, ctx->err) == 0)
        return 0;
    return gpu_error_of(-ENOTSUP, gpu_name(ctx->machine, pci_bdf, name), ctx->err);
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
