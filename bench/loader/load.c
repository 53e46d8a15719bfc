#include "bench/loader/load.h"

#include "harness/lib/sys/affinity.h"

int load_serve(const struct load *load)
{
    struct batches mine;
    struct token token;
    struct sample sample = {0};
    int rc = load->cpus ? affinity_set(0, load->cpus) : 0;
    if (rc)
        return rc;
    rc = batches_open_beside(&mine, load->batches, NULL);
    while (!rc && queue_await(load->queue, &token)) {
        batches_prepare(&mine, token.batch, queue_slot(load->queue, token.slot), &sample);
        rc = queue_put(load->queue, token);
    }
    batches_close_beside(&mine);
    return rc;
}
