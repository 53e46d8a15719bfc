/*
 * The data set of benchmarks of I/O: one file, or many small ones, that hold a pattern; what of it
 * is in the page cache, and how it gets out of there.
 */
#ifndef CONTEND_BENCH_IO_DATA_H
#define CONTEND_BENCH_IO_DATA_H

#include <stddef.h>

#include "bench/io/place.h"

/* O_DIRECT wants memory, offsets and lengths in multiples of the device's blocks, 4 KiB at most. */
enum { DATA_ALIGN = 4096 };

/* Files of the same size, which hold one pattern together: file i begins at i * file_bytes. */
struct data {
    uint64_t seed, file_bytes;
    unsigned nfiles;
    struct data_file {
        int fd, direct_fd; /* of one file alone: direct_fd < 0 is -errno */
        char name[32];     /* by which it can be opened: "/proc/self/fd/7" */
    } * files;
    struct err no_direct; /* why there is no direct_fd */
};

/*
 * Makes and writes the files, and waits until they are on the device. -ENOSPC and the like with how
 * far it came, -ENOTSUP where so many files cannot be open. Then data_free is allowed, not needed.
 */
int data_make(struct data *data, const struct place *place, unsigned nfiles, uint64_t file_bytes,
              uint64_t seed, struct err *err);
void data_free(struct data *data);

/* The same of one file whose content is the caller's: `bytes` of it, from `offset` on. */
typedef void data_content(const void *arg, void *buffer, size_t bytes, uint64_t offset);
int data_make_of(struct data *data, const struct place *place, uint64_t bytes,
                 data_content *content, const void *arg, struct err *err);

/* `bytes` and `offset`, of the data set, are multiples of 8. */
void data_fill(void *buffer, size_t bytes, uint64_t offset, uint64_t seed);
bool data_holds(const void *buffer, size_t bytes, uint64_t offset, uint64_t seed);

/* All of it out of the page cache, or into it. -errno with the reason. */
int data_evict(const struct data *data, struct err *err);
int data_warm(const struct data *data, struct err *err);

/* The share of it, 0..1, that is in the page cache (mincore); NaN where nobody tells. */
double data_cached(const struct data *data);

/* Writes all, short writes gone on with. 0, or -errno; *written is how far it came. */
int data_write(int fd, const void *buffer, size_t bytes, uint64_t offset, size_t *written);

/* Memory for O_DIRECT, touched; free() it. NULL: none. */
void *data_buffer(size_t bytes);

#endif
