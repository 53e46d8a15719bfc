/*
 * How long a Python thread that launches work is blocked by a thread that unmaps memory, or that
 * pickles a checkpoint.
 *
 * Both threads run in one interpreter, in interpreter_lock.py. The first thread launches every ms,
 * which is a little work in Python. The second thread maps shared memory with all its pages and
 * unmaps it, again and again: as the destructors of tensors do with loaders' batches in a trainer.
 * munmap keeps the interpreter's lock (ctypes.PyDLL) or releases it (ctypes.CDLL), as `unmap` says;
 * all other calls release it. `save` has a checkpoint of 50,000 objects pickled again and again, by
 * a thread, which holds the lock for each, or by a process of its own.
 *
 * **Measures** on perf_counter of Python: `launch_gap_p99` and `launch_gap_max` of the times from
 * one launch to the next; `launches` a second; `unmap_time` = median time of a munmap;
 * `saves` = checkpoints pickled a second.
 * **Source** https://github.com/pytorch/pytorch/issues/77139, where a thread that pins memory
 * blocked the thread that launches kernels; the fix is pytorch#83623.
 * **Limits** A munmap holds the lock throughout, so `size` sets the longest gap. It also sets the
 * number of such gaps: with 256M a second has too few of them to show in a p99.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/memory.h"
#include "bench/loader/python.h"
#include "bench/registry.h"

static const char *const unmap_names[] = {"held", "released", "none", NULL};
static const char *const save_names[] = {"none", "thread", "process", NULL};

struct interpreter_lock_params {
    int unmap, save;
    uint64_t size;
};

static const struct opt interpreter_lock_opts[] = {
    OPT_CHOICE("unmap", interpreter_lock_params, unmap, "held", unmap_names, "HOW",
               "memory is unmapped with the interpreter's lock, without it, or not at all"),
    OPT_SIZE("size", interpreter_lock_params, size, "64M", 1 << 20, 1ull << 30, "BYTES",
             "of each map"),
    OPT_CHOICE("save", interpreter_lock_params, save, "none", save_names, "WHO",
               "a checkpoint is pickled again and again, by a thread or by another process"),
    {.name = NULL},
};

/* In the order in which interpreter_lock.py prints them. */
enum { GAP_P99, GAP_MAX, LAUNCHES, UNMAP_TIME, SAVES, METRICS };
static const struct bench_metric interpreter_lock_metrics[] = {
    [GAP_P99] = {"launch_gap_p99", "ms", "lower", .gating = true},
    [GAP_MAX] = {"launch_gap_max", "ms", "lower"},
    [LAUNCHES] = {"launches", "1/s", "higher"},
    [UNMAP_TIME] = {"unmap_time", "ms", "none"},
    [SAVES] = {"saves", "1/s", "higher", .hide_zeros = true},
    {.name = NULL},
};

static int interpreter_lock_setup(struct bench_ctx *ctx)
{
    const struct interpreter_lock_params *params = ctx->params;
    struct python *python = ctx->state;
    if (ctx->machine->ncpus < 2)
        return err_set(ctx->err, -ENOTSUP, "two threads need two CPUs; the worker has one");
    int rc = memory_check_fits(params->size, "interpreter_lock", ctx->err);
    if (!rc)
        rc = python_find("python3", python, ctx->err);
    if (!rc && !python->has_lock)
        rc = err_set(ctx->err, -ENOTSUP, "this python3 has no interpreter's lock");
    return rc;
}

static bool read_numbers(const char *text, double numbers[METRICS])
{
    char *end = NULL;
    for (size_t i = 0; i < METRICS; i++, text = end) {
        numbers[i] = strtod(text, &end);
        if (end == text)
            return false;
    }
    return true;
}

static int interpreter_lock_scan(struct bench_ctx *ctx)
{
    const struct interpreter_lock_params *params = ctx->params;
    const struct python *python = ctx->state;
    char size[24], seconds[24], answer[128];
    double numbers[METRICS] = {0};
    (void)snprintf(size, sizeof(size), "%" PRIu64, params->size);
    (void)snprintf(seconds, sizeof(seconds), "%.9g", ctx->budget_s);
    const char *const unmap = unmap_names[params->unmap], *const save = save_names[params->save];
    const char *const words[] = {python->path, "-IS", "-c", loader_interpreter_lock_py, unmap, size,
                                 seconds,      save,  NULL};
    int rc = python_run(words, ctx->budget_s, answer, sizeof(answer), ctx->err);
    if (!rc && !read_numbers(answer, numbers))
        rc = err_set(ctx->err, -EIO, "python3 says '%.40s' of its launches", answer);
    for (unsigned metric = 0; metric < METRICS && !rc; metric++)
        bench_emit(ctx, metric, numbers[metric], NO_DIMS);
    return rc;
}

const struct bench bench_interpreter_lock = {
    .name = "interpreter_lock",
    .summary = "how long a Python thread that launches waits for one that unmaps or pickles",
    .opts = interpreter_lock_opts,
    .params_size = sizeof(struct interpreter_lock_params),
    .state_size = sizeof(struct python),
    .metrics = interpreter_lock_metrics,
    .setup = interpreter_lock_setup,
    .scan = interpreter_lock_scan,
};
