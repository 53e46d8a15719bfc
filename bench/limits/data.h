/*
 * The file that is read under limits of memory: whole raw batches (bench/feed/batch.h) on a disk,
 * so that pages of it can be reclaimed, and without a name, so that nothing of it can stay.
 *
 *   struct limits_data data = {0};
 *   rc = limits_data_open(&data, ctx, err);
 *   limits_data_uncache(&data);           pages belong to the cgroup that reads them first
 *   ... a child reads limits_data_fd(&data) ...
 *   limits_data_close(&data);             also after a failed open; zeroed is closed
 */
#ifndef CONTEND_BENCH_LIMITS_DATA_H
#define CONTEND_BENCH_LIMITS_DATA_H

#include <stdbool.h>

#include "bench/feed/batch.h"

struct limits_data {
    bool is_open;
    int fd;
};

/* Batches in it, all four raw ones as often; and its size. */
unsigned limits_data_batches(const struct batch_params *params);
double limits_data_bytes(const struct batch_params *params);

/*
 * Writes it in TMPDIR, or else in /var/tmp, by ctx->params, a struct batch_params. -ENOTSUP where
 * there is no room or no disk.
 */
int limits_data_open(struct limits_data *data, const struct bench_ctx *ctx, struct err *why);
void limits_data_close(struct limits_data *data);

/* -1 = closed. */
int limits_data_fd(const struct limits_data *data);

void limits_data_uncache(const struct limits_data *data);

#endif
