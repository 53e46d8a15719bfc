#include "bench/gpu/gpu_matmul_slice.h"

#ifdef CONTEND_HAVE_CUBLASLT

#include <time.h>

#include "bench/gpu/gpu.h"
#include "harness/lib/sys/clock.h"

static const double batch_s = 0.02;
static const uint64_t reading_ns = 5000000;

static struct matmul_result *result_of(struct matmul *t, unsigned gpu)
{
    return &t->gpus[gpu].result[t->type][t->group.all];
}

/* Reads one GPU at a time: reading many GPUs would take longer than the queued work. */
static void read_sensors(struct matmul *t, uint64_t now_ns)
{
    struct gpu_reading reading;
    unsigned n = t->group.end - t->group.first, gpu = t->group.first + t->next_read++ % n;
    t->read_ns = now_ns + reading_ns / n;
    if (!gpu_set_has(&t->set, gpu) || !t->gpus[gpu].of[t->type])
        return;
    gpu_sensors_read(&t->gpus[gpu].sensors, &reading);
    gpu_average_add(&result_of(t, gpu)->average, &reading);
}

static void slice_idle(void *arg, bool counts)
{
    const struct timespec nap = {.tv_nsec = 500000};
    struct matmul *t = arg;
    uint64_t now_ns = clock_now_ns();
    if (counts && now_ns >= t->read_ns)
        read_sensors(t, now_ns);
    else
        (void)nanosleep(&nap, NULL);
}

static int slice_queue(void *arg, unsigned gpu, unsigned slot)
{
    struct matmul *t = arg;
    return gpu_set_drop(
        &t->set, gpu,
        gpu_matmul_queue(t->gpus[gpu].of[t->type], slot, t->gpus[gpu].count, &t->set.why));
}

static int slice_done(void *arg, unsigned gpu, unsigned slot, bool *done)
{
    struct matmul *t = arg;
    return gpu_set_drop(&t->set, gpu,
                        gpu_matmul_done(t->gpus[gpu].of[t->type], slot, done, &t->set.why));
}

static int slice_take(void *arg, unsigned gpu, unsigned slot, bool counts)
{
    struct matmul *t = arg;
    struct matmul_result *result = result_of(t, gpu);
    double seconds = 0;
    int rc = gpu_matmul_wait(t->gpus[gpu].of[t->type], slot, &seconds, &t->set.why);
    if (rc)
        return gpu_set_drop(&t->set, gpu, rc);
    if (!counts)
        return 0;
    result->products += t->gpus[gpu].count;
    result->seconds += seconds;
    return 0;
}

static const struct gpu_overlap_ops slice_ops = {
    .queue = slice_queue, .done = slice_done, .take = slice_take, .idle = slice_idle};

/* Sets the products of a batch: about batch_s, at most a 12th of the slice. Returns its seconds. */
static double choose_count(const struct matmul *t, struct matmul_gpu *gpu, double slice_s)
{
    double once_s = gpu_matmul_estimate_s(gpu->of[t->type]);
    double count = (batch_s < slice_s / 12 ? batch_s : slice_s / 12) / once_s;
    gpu->count = count < 1 ? 1 : count > 10000 ? 10000 : (unsigned)count;
    return gpu->count * once_s;
}

static bool takes_part(const struct matmul *t, unsigned gpu)
{
    return gpu_set_has(&t->set, gpu) && t->gpus[gpu].of[t->type];
}

static void poison(struct matmul *t, unsigned gpu)
{
    (void)gpu_set_drop(&t->set, gpu, gpu_matmul_poison(t->gpus[gpu].of[t->type], &t->set.why));
}

/* Checks the output of the last timed product. */
static void check(struct matmul *t, unsigned gpu)
{
    (void)gpu_set_drop(&t->set, gpu, gpu_matmul_check(t->gpus[gpu].of[t->type], &t->set.why));
}

void matmul_slice_run(struct matmul *t, enum matmul_type type, unsigned group, double slice_s)
{
    struct gpu_overlap overlap = {.settle_s = gpu_settle_s(slice_s), .ops = &slice_ops, .arg = t};
    double longest_s = 0;
    t->type = type;
    t->group = gpu_group_at(t->set.n, group);
    t->read_ns = 0;
    for (unsigned i = t->group.first; i < t->group.end; i++) {
        if (takes_part(t, i))
            poison(t, i);
        if (!takes_part(t, i))
            continue;
        double took_s = choose_count(t, &t->gpus[i], slice_s);
        longest_s = took_s > longest_s ? took_s : longest_s;
        *result_of(t, i) = (struct matmul_result){0};
        overlap.gpu[overlap.ngpus++] = i;
    }
    /* If one batch fills the slice, a second batch would only double the time. */
    overlap.depth = longest_s < slice_s ? GPU_MATMUL_SLOTS : 1;
    /* The one to two batches that are queued at the end fill the rest of the slice. */
    overlap.count_s = slice_s * 2 / 3 - 1.5 * longest_s;
    (void)gpu_overlap_run(&overlap);
    for (unsigned i = t->group.first; i < t->group.end; i++)
        if (takes_part(t, i))
            check(t, i);
}

#endif
