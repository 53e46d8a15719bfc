/* Where loaders in C have their raw data from: memory, or a file of their worker's. */
#ifndef CONTEND_BENCH_LOADER_SOURCE_H
#define CONTEND_BENCH_LOADER_SOURCE_H

#include "bench/feed/batch_file.h"

enum source { SOURCE_MEMORY, SOURCE_FILE, SOURCE_TMPFS };

/* "memory", "file", "tmpfs", NULL: for options. */
extern const char *const source_names[];

/*
 * Writes the file, in the working directory or in /dev/shm, as one of so many workers. -ENOTSUP
 * with the reason: no room, or the wrong kind of file system. Then data_free is allowed, not
 * needed.
 */
int source_open(struct batch_file *file, enum source source, const struct batches *batches,
                unsigned workers, struct err *err);

/* Takes a SOURCE_FILE out of the page cache; the share of it, 0..1, that stays there all the same.
 */
double source_evict(const struct batch_file *file, enum source source);

#endif
