/*
 * Where the I/O benchmarks put their files: a directory, its file system and its free space. The
 * files have no name, so the kernel removes them however their process ends.
 */
#ifndef CONTEND_BENCH_IO_PLACE_H
#define CONTEND_BENCH_IO_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/lib/err.h"

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

/* Raises the soft limit of descriptors to the hard limit. The soft limit then, or 0: unknown. */
uint64_t place_allow_descriptors(void);

#endif
