#include "bench/loader/load.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/feed/batch_file.h"
#include "harness/lib/sys/affinity.h"

const char *const load_mode_titles[LOAD_MODES] = {
    [LOAD_PROCESS] = "processes in C",
    [LOAD_THREAD] = "threads in C",
    [LOAD_PYTHON_PROCESS] = "processes in Python",
    [LOAD_PYTHON_THREAD] = "threads in Python",
    [LOAD_PYTHON_FREE] = "threads in Python without its lock",
    [LOAD_PYTORCH] = "workers of PyTorch",
};

int load_bind(const struct bitset *cpus)
{
    struct bitset now;
    if (!cpus)
        return 0;
    int rc = affinity_set(0, cpus);
    rc = rc ? rc : affinity_get(0, &now);
    return rc || bitset_equal(&now, cpus) ? rc : -EXDEV;
}

/*
 * Drops what it read from the page cache: a data set larger than memory is not in the page cache
 * either when its next epoch begins.
 */
static int prepare(const struct load *load, const struct batches *mine, struct token token)
{
    struct sample sample = {0};
    uint64_t source = token.batch;
    if (load->file) {
        int rc = batch_file_read(load->file, token.batch, mine->sources, NULL);
        if (rc)
            return rc;
        batch_file_drop(load->file, token.batch);
        queue_add_read(load->queue, load->file->batch_bytes);
        source = 0;
    }
    (load->raw ? batches_copy : batches_prepare)(mine, source, queue_slot(load->queue, token.slot),
                                                 &sample);
    return 0;
}

int load_serve(const struct load *load)
{
    struct batches mine;
    struct token token;
    float *raw = NULL; /* a batch of the file, instead of the raw batches in memory */
    int rc = load_bind(load->cpus);
    if (rc)
        return rc;
    rc = batches_open_borrower(&mine, load->batches, NULL);
    if (!rc && load->file)
        rc = batches_allocate(&raw, mine.cells, NULL);
    if (raw)
        mine.sources = raw;
    while (!rc && queue_await(load->queue, &token)) {
        rc = prepare(load, &mine, token);
        if (!rc)
            rc = queue_put(load->queue, token);
    }
    batches_close_borrower(&mine);
    free(raw);
    return rc;
}
