/*
 * The data set of the I/O benchmarks: one file, or many small ones, filled with a pattern. Reads
 * and changes how much of the data set is in the page cache.
 */
#ifndef CONTEND_BENCH_IO_DATA_H
#define CONTEND_BENCH_IO_DATA_H

#include <stddef.h>

#include "bench/io/place.h"

/* O_DIRECT needs memory, offsets and lengths in multiples of the device's block, 4 KiB at most. */
enum { DATA_ALIGN = 4096 };

/* Files of one size that share one pattern: file i holds its part from i * file_bytes on. */
struct data {
    uint64_t seed, file_bytes;
    unsigned nfiles;
    struct data_file {
        int fd, direct_fd; /* direct_fd: only if nfiles is 1; < 0: -errno, or none */
        char name[32];     /* a path to open the file by: "/proc/self/fd/7" */
    } * files;
    struct err no_direct; /* why O_DIRECT is not supported; code 0: it is */
};

/*
 * Makes and writes the files, and waits until they are on the device. Errors of writes (-ENOSPC
 * ...) name how many bytes were written; -ENOTSUP: `nfiles` exceeds the limit of open files;
 * -ENOMEM. After an error data_free is allowed, not needed.
 */
int data_make(struct data *data, const struct place *place, unsigned nfiles, uint64_t file_bytes,
              uint64_t seed, struct err *err);
void data_free(struct data *data);

/* As data_make, for one file that `content` fills: `bytes` from `offset` on into `buffer`. */
typedef void data_content(const void *arg, void *buffer, size_t bytes, uint64_t offset);
int data_make_of(struct data *data, const struct place *place, uint64_t bytes,
                 data_content *content, const void *arg, struct err *err);

/* Fill with or compare with the pattern. `bytes` and `offset` (in the data set): multiples of 8. */
void data_fill(void *buffer, size_t bytes, uint64_t offset, uint64_t seed);
bool data_holds(const void *buffer, size_t bytes, uint64_t offset, uint64_t seed);

/* Drop all files from the page cache, or read them into it. 0, or -errno with the reason. */
int data_evict(const struct data *data, struct err *err);
int data_warm(const struct data *data, struct err *err);

/* The share of the data set, 0..1, that is in the page cache (mincore); NaN: unknown. */
double data_cached(const struct data *data);

/* Writes all bytes, and continues after short writes. 0, or -errno; *written: bytes written. */
int data_write(int fd, const void *buffer, size_t bytes, uint64_t offset, size_t *written);

/* Memory aligned for O_DIRECT, with its pages touched; free() it. NULL: out of memory. */
void *data_buffer(size_t bytes);

#endif
