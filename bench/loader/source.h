/* Where loaders in C read raw data: from memory, or from a file of their worker. */
#ifndef CONTEND_BENCH_LOADER_SOURCE_H
#define CONTEND_BENCH_LOADER_SOURCE_H

#include "bench/feed/batch_file.h"

enum source { SOURCE_MEMORY, SOURCE_FILE, SOURCE_TMPFS };

/* "memory", "file", "tmpfs", NULL: for options. */
extern const char *const source_names[];

/*
 * Writes this worker's file, in the working directory or in /dev/shm; `workers` workers do so.
 * -ENOTSUP with the reason: no room, or the wrong kind of file system. data_free is then allowed,
 * not needed.
 */
int source_open(struct batch_file *file, enum source source, const struct batches *batches,
                unsigned workers, struct err *err);

/* Evicts a SOURCE_FILE from the page cache. Returns the share, 0..1, that stays there anyway. */
double source_evict(const struct batch_file *file, enum source source);

#endif
