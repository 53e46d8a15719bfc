/*
 * The data set of the I/O benchmarks: one file, or many small ones, filled with a pattern. Reads
 * and changes how much of the data set is in the page cache.
 */
#ifndef CONTEND_BENCH_IO_DATA_H
#define CONTEND_BENCH_IO_DATA_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/*
 * Where the I/O benchmarks put their files: a directory, its file system and its free space. The
 * files have no name, so the kernel removes them however their process ends.
 */

/* The working directory, where results go too; or $TMPDIR, and /tmp if that is unset. */
enum place_where { PLACE_HERE, PLACE_TMP };

/* Choices of an option: "here", "tmp", NULL. */
extern const char *const place_names[];

struct place {
    char directory[PATH_MAX];
    char file_system[24]; /* "ext4", "tmpfs"; its magic number if unknown, "0x1a2b" */
    bool memory;          /* files exist only in memory: no device to read them from */
    uint64_t free_bytes;  /* available to this user */
};

/* 0, or -ENOTSUP with the reason: read-only, no permission, no such directory. */
int place_open(struct place *place, enum place_where where, struct err *err);

/* The same for the directory `directory`; `err` may be NULL. */
int place_open_directory(struct place *place, const char *directory, struct err *err);

/* All benchmarks that run at once take at most 1 / PLACE_SHARE of the free space together. */
enum { PLACE_SHARE = 4 };

/*
 * *bytes: room for one of `users` that write at once, at most `most` bytes, in whole `unit`s.
 * -ENOTSUP, with the free space and `least`, if less than `least` bytes fit.
 */
int place_fit(const struct place *place, uint64_t least, uint64_t most, uint64_t unit,
              unsigned users, uint64_t *bytes, struct err *err);

/* Makes a file without a name, for reading and writing. A descriptor, or -errno with the reason. */
int place_make_file(const struct place *place, struct err *err);

/* Opens the file of `fd` again, with `flags` of open(2). Returns as place_make_file. */
int place_open_again(int fd, int flags, struct err *err);

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
