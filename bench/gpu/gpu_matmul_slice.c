#include "bench/gpu/gpu_matmul_slice.h"

#ifdef CONTEND_HAVE_CUDA

#include <time.h>

#include "bench/gpu/gpu.h"
#include "harness/sys/clock.h"

enum { SETTLE_SHARE = 3 };

static const double batch_s = 0.02;
static const uint64_t reading_ns = 10000000;

bool matmul_takes_part(const struct matmul *t, unsigned gpu)
{
    return t->gpus[gpu].of[t->type] != NULL;
}

/* One GPU at a time: readings of many would last longer than what is queued. */
static void read_sensors(struct matmul *t, uint64_t now_ns)
{
    struct gpu_reading reading;
    unsigned gpu = t->first + t->next_read++ % (t->end - t->first);
    t->read_ns = now_ns + reading_ns / (t->end - t->first);
    if (!matmul_takes_part(t, gpu))
        return;
    gpu_sensors_read(&t->gpus[gpu].sensors, &reading);
    gpu_average_add(&t->gpus[gpu].average, &reading);
}

/* Until a slot is done, with readings once they count. */
static int await_slot(struct matmul *t, struct gpu_matmul *gpu, unsigned slot, double *seconds,
                      struct err *err)
{
    const struct timespec nap = {.tv_nsec = 500000};
    char msg[GPU_MSG] = "";
    bool done = false;
    int rc = gpu_matmul_done(gpu, slot, &done, msg, sizeof(msg));
    while (!rc && !done) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= t->count_ns && now_ns >= t->read_ns)
            read_sensors(t, now_ns);
        else
            (void)nanosleep(&nap, NULL);
        rc = gpu_matmul_done(gpu, slot, &done, msg, sizeof(msg));
    }
    if (!rc)
        rc = gpu_matmul_wait(gpu, slot, seconds, msg, sizeof(msg));
    return gpu_error(rc, msg, err);
}

static int queue_slot(struct matmul *t, unsigned slot, struct err *err)
{
    char msg[GPU_MSG] = "";
    int rc = 0;
    for (unsigned i = t->first; i < t->end && !rc; i++)
        if (matmul_takes_part(t, i))
            rc = gpu_matmul_queue(t->gpus[i].of[t->type], slot, t->gpus[i].count, msg, sizeof(msg));
    return gpu_error(rc, msg, err);
}

/* Batches that end before count_ns warm up; a slice without any other counts its last. */
static int finish_slot(struct matmul *t, unsigned slot, bool last, struct err *err)
{
    int rc = 0;
    for (unsigned i = t->first; i < t->end && !rc; i++) {
        struct matmul_gpu *gpu = &t->gpus[i];
        double seconds = 0;
        if (!matmul_takes_part(t, i))
            continue;
        rc = await_slot(t, gpu->of[t->type], slot, &seconds, err);
        if (rc || (clock_now_ns() < t->count_ns && !(last && gpu->products == 0)))
            continue;
        gpu->products += gpu->count;
        gpu->seconds += seconds;
    }
    return rc;
}

/* False where one batch fills the slice: a second one would only take as long again. */
static bool start_slice(struct matmul *t, double slice_s)
{
    double longest_s = 0;
    for (unsigned i = t->first; i < t->end; i++) {
        struct matmul_gpu *gpu = &t->gpus[i];
        if (!matmul_takes_part(t, i))
            continue;
        double wish_s = batch_s < slice_s / 6 ? batch_s : slice_s / 6;
        double count = wish_s / gpu_matmul_guess(gpu->of[t->type]);
        gpu->count = count < 1 ? 1 : count > 10000 ? 10000 : (unsigned)count;
        double took_s = gpu->count * gpu_matmul_guess(gpu->of[t->type]);
        longest_s = took_s > longest_s ? took_s : longest_s;
        gpu->products = gpu->seconds = 0;
        gpu->average = (struct gpu_average){0};
    }
    uint64_t now_ns = clock_now_ns();
    t->read_ns = 0;
    t->count_ns = now_ns + (uint64_t)(slice_s * 1e9 / SETTLE_SHARE);
    /* What is queued by then, one to two batches, fills the slice. */
    double queue_s = slice_s - 1.5 * longest_s;
    t->end_ns = now_ns + (uint64_t)(queue_s > 0 ? queue_s * 1e9 : 0);
    return longest_s < slice_s;
}

/* A slot is queued anew as soon as it is done, behind the other one. */
int matmul_slice_run(struct matmul *t, double slice_s, struct err *err)
{
    unsigned slot = 0;
    bool both = start_slice(t, slice_s);
    int rc = queue_slot(t, 0, err);
    if (!rc && !both)
        return finish_slot(t, 0, true, err);
    if (!rc)
        rc = queue_slot(t, 1, err);
    for (; !rc && clock_now_ns() < t->end_ns; slot = !slot) {
        rc = finish_slot(t, slot, false, err);
        if (!rc)
            rc = queue_slot(t, slot, err);
    }
    if (!rc)
        rc = finish_slot(t, slot, false, err);
    return rc ? rc : finish_slot(t, !slot, true, err);
}

#endif
