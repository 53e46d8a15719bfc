#include "bench/gpu/gpu.h"

#include <errno.h>

int gpu_error(int rc, const char *msg, struct err *err)
{
    return rc ? err_set(err, rc, "%s", msg) : 0;
}

#ifdef CONTEND_HAVE_CUDA

#include "kernels/gpu/gpu_common.h"

int gpu_probe(struct bench_ctx *ctx)
{
    char msg[GPU_MSG] = "";
    if (gpu_count(msg, sizeof(msg)) == 0)
        return err_set(ctx->err, -ENOTSUP, "%s", msg);
    if (ctx->machine->ngpus == 0)
        return err_set(ctx->err, -ENOTSUP, "the machine lists no GPU");
    for (unsigned i = 0; i < ctx->machine->ngpus; i++)
        if (gpu_check_mode(ctx->machine->gpus[i].pci_bdf, msg, sizeof(msg)))
            return err_set(ctx->err, -ENOTSUP, "%s", msg);
    return 0;
}

#else

int gpu_probe(struct bench_ctx *ctx)
{
    return err_set(ctx->err, -ENOTSUP, "this program was built without CUDA");
}

#endif
