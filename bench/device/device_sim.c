#include "bench/device/device_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "harness/lib/sys/clock.h"

/*
 * A model of a GPU that uses no CPU, so that starvation by CPU contention shows without a GPU: one
 * copy engine and one compute engine, each in order of submission. A batch submitted at `now` ends
 * at
 *
 *   t_copy = max(now, link_free) + bytes / rate
 *   t_work = max(t_copy, engine_free) + sim_prep_us + work * sim_work_us
 *
 * sim_prep_us counts only with preprocessing. With in_order, link_free is at least engine_free.
 * Nothing happens in between: wait sleeps, or spins, until t_work on the clock. The model computes
 * no result. A pageable buffer costs as much as with a real driver: the CPU copies the batch in
 * chunks through a small staging buffer, while the link carries the chunk before. So t_copy is then
 * at least the end of that copying.
 */

/* Size of the page-locked staging buffer; drivers use a few MiB. */
enum { STAGING_BYTES = 4 << 20, BUFFER_ALIGN = 4096 };

struct sim {
    size_t bytes;                           /* of a batch */
    uint64_t transfer_ns, prep_ns, work_ns; /* of a batch */
    uint64_t link_free_ns, engine_free_ns;  /* when each engine ends its queued work */
    bool spin, in_order;
    struct device_sleep slept;
    char *staging;      /* NULL with pinned buffers */
    uint64_t done_ns[]; /* by slot */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int sim_open(struct device_queue *queue, const struct device_config *config, struct err *err)
{
    size_t bytes = config->rows * config->cols * sizeof(float);
    struct sim *sim = calloc(1, sizeof(*sim) + config->slots * sizeof(sim->done_ns[0]));
    if (sim && !config->pinned)
        sim->staging = aligned_alloc(BUFFER_ALIGN, STAGING_BYTES);
    if (!sim || (!config->pinned && !sim->staging)) {
        free(sim);
        return err_set(err, -ENOMEM, "cannot allocate the model of a GPU");
    }
    sim->bytes = bytes;
    sim->transfer_ns = (uint64_t)((double)bytes / config->sim_gbps); /* 1 GB/s = 1 byte/ns */
    sim->work_ns = (uint64_t)(config->sim_work_us * 1e3 * config->work);
    sim->prep_ns = config->prep ? (uint64_t)(config->sim_prep_us * 1e3) : 0;
    sim->spin = config->spin;
    sim->in_order = config->in_order;
    queue->impl = sim;
    return 0;
}

/* As a driver does with memory that the GPU cannot access. */
static void stage(struct sim *sim, const float *batch)
{
    const char *from = (const char *)batch;
    for (size_t at = 0; at < sim->bytes; at += STAGING_BYTES) {
        size_t left = sim->bytes - at;
        memcpy(sim->staging, from + at, left < STAGING_BYTES ? left : STAGING_BYTES);
        /* Keeps the compiler from dropping copies that nothing reads. */
        __asm__ volatile("" : : "r"(sim->staging) : "memory");
    }
}

static int sim_submit(struct device_queue *queue, unsigned slot, struct err *err)
{
    (void)err;
    struct sim *sim = queue->impl;
    uint64_t free_ns =
        sim->in_order ? later(sim->engine_free_ns, sim->link_free_ns) : sim->link_free_ns;
    uint64_t copied_ns = later(clock_now_ns(), free_ns) + sim->transfer_ns;
    if (sim->staging) {
        stage(sim, host_buffers_at(&queue->host, slot));
        copied_ns = later(copied_ns, clock_now_ns());
    }
    sim->link_free_ns = copied_ns;
    sim->engine_free_ns = later(copied_ns, sim->engine_free_ns) + sim->prep_ns + sim->work_ns;
    sim->done_ns[slot] = sim->engine_free_ns;
    return 0;
}

/*
 * Sleeps until the harness clock reaches `until_ns`. No call sleeps on that clock
 * (CLOCK_MONOTONIC_RAW), so the end is converted to CLOCK_MONOTONIC. The rates of the clocks differ
 * by some 100 ppm at most, and the loop sleeps again for the remainder.
 */
static void sleep_until(uint64_t until_ns, struct device_sleep *slept)
{
    uint64_t start_ns = clock_now_ns(), now_ns = start_ns;
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* a thread's default of 50 us would delay the model */
    for (; now_ns < until_ns; now_ns = clock_now_ns()) {
        struct timespec end;
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        uint64_t end_ns = (uint64_t)end.tv_nsec + (until_ns - now_ns);
        end.tv_sec += (time_t)(end_ns / 1000000000u);
        end.tv_nsec = (long)(end_ns % 1000000000u);
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    }
    (void)prctl(PR_SET_TIMERSLACK, 0UL); /* back to the thread's default */
    if (slept && start_ns < until_ns) {
        slept->asked_ns += until_ns - start_ns;
        slept->over_ns += now_ns - until_ns;
    }
}

void device_sim_wait_until(uint64_t until_ns, bool spin, struct device_sleep *slept)
{
    if (!spin)
        sleep_until(until_ns, slept);
    while (clock_now_ns() < until_ns)
        ;
}

static int sim_wait(struct device_queue *queue, unsigned slot, struct device_took *took,
                    struct err *err)
{
    (void)err;
    struct sim *sim = queue->impl;
    device_sim_wait_until(sim->done_ns[slot], sim->spin, &sim->slept);
    *took = (struct device_took){
        .copy_ns = sim->transfer_ns, .prep_ns = sim->prep_ns, .work_ns = sim->work_ns};
    return 0;
}

static struct device_sleep sim_slept(const struct device_queue *queue)
{
    const struct sim *sim = queue->impl;
    return sim->slept;
}

/* No work is in flight, so there is nothing to wait for. */
static void sim_close(struct device_queue *queue)
{
    struct sim *sim = queue->impl;
    free(sim->staging);
    free(sim);
}

const struct device_ops device_sim_ops = {
    .open = sim_open,
    .submit = sim_submit,
    .wait = sim_wait,
    .slept = sim_slept,
    .close = sim_close,
    .reduce = &reduce_sim_ops,
};

/*
 * A model of collectives that uses no CPU. Nothing moves until the last of n ranks arrives. Then
 * the rings run one after the other; each, of S bytes, takes
 *
 *   2 (n - 1) / n * S / rate     all-reduce
 *     (n - 1) / n * S / rate     reduce-scatter, all-gather
 *
 * and all ranks end at the same moment, on the clock of device_sim.c. The model has no latency and
 * no result, and a modelled GPU's computing does not slow it down. Waiting ranks sleep (after a few
 * microseconds), where a GPU's driver may spin.
 */

struct ring {
    uint64_t ring_ns;
    bool spin;
    uint64_t mine_ns;      /* when this rank arrived in the latest step */
    uint64_t arrived_ns[]; /* the same of all ranks */
};

static int reduce_sim_open(struct reduce *reduce, const struct reduce_config *config,
                           struct bench_ctx *ctx)
{
    unsigned n = reduce->peers->size;
    struct ring *ring = calloc(1, sizeof(*ring) + n * sizeof(ring->arrived_ns[0]));
    reduce->impl = ring;
    if (!ring)
        return err_set(ctx->err, -ENOMEM, "no memory for %u ranks", n);
    double sent = 0;
    for (size_t i = 0; i < config->ncalls; i++) {
        double times = config->calls[i].op == COLLECTIVE_ALLREDUCE ? 2 : 1;
        sent += times * (n - 1) / n * (double)config->calls[i].bytes;
    }
    ring->ring_ns = (uint64_t)(sent / config->sim_gbps); /* 1 GB/s = 1 byte/ns */
    ring->spin = config->spin;
    return 0;
}

static int sim_start(struct reduce *reduce, uint64_t *arrived_ns, struct err *err)
{
    struct ring *ring = reduce->impl;
    (void)err;
    ring->mine_ns = *arrived_ns = clock_now_ns();
    return 0;
}

static int sim_finish(struct reduce *reduce, struct err *err)
{
    struct ring *ring = reduce->impl;
    uint64_t last_ns = 0;
    int rc =
        peers_gather(reduce->peers, &ring->mine_ns, ring->arrived_ns, sizeof(ring->mine_ns), err);
    for (unsigned r = 0; r < reduce->peers->size; r++)
        last_ns = ring->arrived_ns[r] > last_ns ? ring->arrived_ns[r] : last_ns;
    if (!rc)
        device_sim_wait_until(last_ns + ring->ring_ns, ring->spin, NULL);
    return rc;
}

static void reduce_sim_close(struct reduce *reduce)
{
    free(reduce->impl);
}

const struct reduce_ops reduce_sim_ops = {
    .open = reduce_sim_open, .start = sim_start, .finish = sim_finish, .close = reduce_sim_close};
