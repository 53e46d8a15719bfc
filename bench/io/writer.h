/* A checkpoint: a new file that is written from memory and is on the device when fsync returns. */
#ifndef CONTEND_BENCH_IO_WRITER_H
#define CONTEND_BENCH_IO_WRITER_H

#include "bench/io/data.h"

enum write_way {
    WRITE_WRITE,  /* write(2) into the page cache, fsync */
    WRITE_DIRECT, /* O_DIRECT, one after the other, fsync */
    WRITE_WAYS
};

/* "write", "direct". */
extern const char *const write_way_names[WRITE_WAYS];

struct writer_plan {
    const struct place *place; /* borrowed, as the next */
    const void *content;       /* data_fill from offset 0 */
    enum write_way way;
    uint64_t bytes, seed;
    size_t block_bytes;
};

/* Adds to it; all times are of the writes and fsync alone. */
struct written {
    uint64_t bytes, elapsed_ns, fsync_ns, cpu_ns; /* cpu_ns: of the process */
};

/*
 * Writes one, and drops it. -ENOTSUP with the reason where this way cannot be had, -ENOSPC and the
 * like with how far it came, -EBADMSG where the file then holds something else.
 */
int writer_run(const struct writer_plan *plan, struct written *written, struct err *err);

#endif
