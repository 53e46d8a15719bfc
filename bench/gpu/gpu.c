#include "bench/gpu/gpu.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "harness/lib/text.h"

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

#include "harness/lib/text.h"
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

/* The first row whose words are all in the name applies: special rows come before general rows. */
static const struct {
    const char *word, *other;    /* `other` may be NULL */
    double tflops[MATMUL_TYPES]; /* fp64, fp32, tf32, bf16, fp16, fp8, int8 */
} sheets[] = {
    {"B200", NULL, {37, 75, 1125, 2250, 2250, 4500, 4500}},
    {"H200", "NVL", {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
    {"GH200", NULL, {67, 67, 494.5, 989.5, 989.5, 1979, 1979}},
    {"H200", NULL, {67, 67, 494.5, 989.5, 989.5, 1979, 1979}},
    {"H100", "NVL", {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
    {"H100", "PCIe", {51, 51, 378, 756.5, 756.5, 1513, 1513}},
    {"H100", "HBM3", {67, 67, 494.5, 989.5, 989.5, 1979, 1979}}, /* SXM: "H100 80GB HBM3" */
    {"H20", NULL, {1, 44, 74, 148, 148, 296, 296}},
    {"A100", NULL, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {"L40S", NULL, {0, 91.6, 183, 362.05, 362.05, 733, 733}},
    {"L4", NULL, {0, 30.3, 60, 121, 121, 242.5, 242.5}},
};

/* Whole words only, also between '-': "A100-SXM4-80GB" has "A100", but "L40" has no "L4". */
static int has_word(const char *name, const char *word)
{
    static const char between[] = " -_/";
    size_t length = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || strchr(between, at[-1])) && (!at[length] || strchr(between, at[length])))
            return 1;
    return 0;
}

double gpu_peak_tflops(const char *name, enum matmul_type type)
{
    if (has_word(name, "MIG"))
        return 0;
    for (size_t i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++)
        if (has_word(name, sheets[i].word) && (!sheets[i].other || has_word(name, sheets[i].other)))
            return sheets[i].tflops[type];
    return 0;
}
