/*
 * Raw batches in a file without a name: for those who read them from there, and not from memory.
 *
 *   struct batch_file file = {0};
 *   rc = batch_file_make(&file, &place, &batches, users, err);
 *   rc = batch_file_read(&file, i, target, err);      target: cells floats; also in a child
 *   data_evict(&file.data, err);                      out of the page cache, as bench/io/data.h has
 * it data_free(&file.data);                            also after a failed make; zeroed is closed
 *
 * The file has more batches than there are raw ones: its batch i is raw batch i % 4, as everywhere.
 */
#ifndef CONTEND_BENCH_FEED_BATCH_FILE_H
#define CONTEND_BENCH_FEED_BATCH_FILE_H

#include "bench/feed/batch.h"
#include "bench/io/data.h"

struct batch_file {
    struct data data;
    size_t batch_bytes; /* 0 = there is none */
};

/* At least 12 batches and 16 MiB. */
double batch_file_bytes(size_t cells);

/* One of so many files on the machine. -ENOTSUP where there is no room; else as data_make. */
int batch_file_make(struct batch_file *file, const struct place *place,
                    const struct batches *batches, unsigned users, struct err *err);

/* Batch `index`, in turn; -errno. */
int batch_file_read(const struct batch_file *file, uint64_t index, float *target, struct err *err);

/* Takes that one out of the page cache, so that it is read from the device in the next turn, too.
 */
void batch_file_drop(const struct batch_file *file, uint64_t index);

#endif
