/* Writes a checkpoint: a new file, from memory, that is on the device once fsync returns. */
#ifndef CONTEND_BENCH_IO_WRITER_H
#define CONTEND_BENCH_IO_WRITER_H

#include "bench/io/data.h"

enum write_way {
    WRITE_WRITE,  /* write(2) into the page cache, fsync */
    WRITE_DIRECT, /* O_DIRECT, one block at a time, fsync */
    WRITE_WAYS
};

/* "write", "direct". */
extern const char *const write_way_names[WRITE_WAYS];

struct writer_plan {
    const struct place *place; /* borrowed, like `content` */
    const void *content;       /* of data_fill, from offset 0 */
    enum write_way way;
    uint64_t bytes, seed;
    size_t block_bytes;
};

/* Sums over runs. Times cover only the writes and fsync. */
struct written {
    uint64_t bytes, elapsed_ns, fsync_ns, cpu_ns; /* cpu_ns: of the whole process */
};

/*
 * Writes one checkpoint, checks samples of it and drops the file. Adds to *written. -ENOTSUP with
 * the reason: this way is not supported; errors of writes (-ENOSPC ...) name how many bytes were
 * written; -EBADMSG: the file does not hold `content`.
 */
int writer_run(const struct writer_plan *plan, struct written *written, struct err *err);

#endif
