/*
 * Raw batches in a file without a name, for workers that read batches from a file.
 *
 *   struct batch_file file = {0};
 *   rc = batch_file_make(&file, &place, &batches, users, err);
 *   rc = batch_file_read(&file, i, target, err);      target: cells floats; also in a child
 *   data_evict(&file.data, err);                      out of the page cache, see bench/io/data.h
 *   data_free(&file.data);                            also after a failed make; zeroed is closed
 *
 * The file repeats the four raw batches: its batch i is raw batch i % 4, as in batch.h.
 */
#ifndef CONTEND_BENCH_FEED_BATCH_FILE_H
#define CONTEND_BENCH_FEED_BATCH_FILE_H

#include "bench/feed/batch.h"
#include "bench/io/data.h"

struct batch_file {
    struct data data;
    size_t batch_bytes; /* 0 = there is no file */
};

/* Size of a file in bytes: at least 12 batches and 16 MiB, a multiple of four batches. */
double batch_file_bytes(size_t cells);

/* Makes the file; `users` workers make one each. -ENOTSUP without room; else as data_make. */
int batch_file_make(struct batch_file *file, const struct place *place,
                    const struct batches *batches, unsigned users, struct err *err);

/* Reads batch `index` modulo the batches of the file into `target`; 0 or -errno. */
int batch_file_read(const struct batch_file *file, uint64_t index, float *target, struct err *err);

/* Drops that batch from the page cache, so that its next read comes from the device, too. */
void batch_file_drop(const struct batch_file *file, uint64_t index);

#endif
