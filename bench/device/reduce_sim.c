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
#include <errno.h>
#include <stdlib.h>

#include "bench/device/device_sim.h"
#include "bench/device/reduce.h"
#include "harness/lib/sys/clock.h"

struct ring {
    uint64_t ring_ns;
    bool spin;
    uint64_t mine_ns;      /* when this rank arrived in the latest step */
    uint64_t arrived_ns[]; /* the same of all ranks */
};

static int sim_open(struct reduce *reduce, const struct reduce_config *config,
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

static void sim_close(struct reduce *reduce)
{
    free(reduce->impl);
}

const struct reduce_ops reduce_sim_ops = {
    .open = sim_open, .start = sim_start, .finish = sim_finish, .close = sim_close};
