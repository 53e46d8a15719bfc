/*
 * A model of an all-reduce that uses no CPU: nothing moves until the last of n ranks has come, then
 * a ring takes
 *
 *   2 (n - 1) / n * bytes / rate
 *
 * and all are done at the same moment, on the clock of device_sim.c. It has no latency of its own
 * and no result. Ranks that wait for others sleep (after a few microseconds), where a GPU's driver
 * may spin.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/device/device_sim.h"
#include "bench/device/reduce.h"
#include "harness/sys/clock.h"

struct ring {
    uint64_t ring_ns;
    bool spin;
    uint64_t came_ns[]; /* of all ranks, in the latest step */
};

static int sim_open(struct reduce *reduce, const struct reduce_config *config, struct err *err)
{
    unsigned n = reduce->peers->size;
    struct ring *ring = calloc(1, sizeof(*ring) + n * sizeof(ring->came_ns[0]));
    reduce->impl = ring;
    if (!ring)
        return err_set(err, -ENOMEM, "no memory for %u ranks", n);
    double sent = 2.0 * (n - 1) / n * (double)config->bytes;
    ring->ring_ns = (uint64_t)(sent / config->sim_gbps); /* 1 GB/s = 1 byte/ns */
    ring->spin = config->spin;
    return 0;
}

static int sim_run(struct reduce *reduce, uint64_t *came_ns, struct err *err)
{
    struct ring *ring = reduce->impl;
    uint64_t last_ns = 0;
    *came_ns = clock_now_ns();
    int rc = peers_gather(reduce->peers, came_ns, ring->came_ns, sizeof(*came_ns), err);
    for (unsigned r = 0; r < reduce->peers->size; r++)
        last_ns = ring->came_ns[r] > last_ns ? ring->came_ns[r] : last_ns;
    if (!rc)
        device_sim_wait_until(last_ns + ring->ring_ns, ring->spin, NULL);
    return rc;
}

static void sim_close(struct reduce *reduce)
{
    free(reduce->impl);
}

const struct reduce_ops reduce_sim_ops = {.open = sim_open, .run = sim_run, .close = sim_close};
