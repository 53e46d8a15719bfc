/*
 * Where benchmarks of I/O put their files: a directory, its file system, what it has to give. Files
 * have no name, so that nothing is left of them whatever ends their owner.
 */
#ifndef CONTEND_BENCH_IO_PLACE_H
#define CONTEND_BENCH_IO_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/* The working directory, below which results go; or $TMPDIR, without one /tmp. */
enum place_where { PLACE_HERE, PLACE_TMP };

/* "here", "tmp", NULL: for options. */
extern const char *const place_names[];

struct place {
    char directory[PATH_MAX];
    char file_system[24]; /* "ext4", "tmpfs"; the number of one that is not known, "0x1a2b" */
    bool memory;          /* its files are in memory alone: there is nothing to read them from */
    uint64_t free_bytes;  /* that this user may take */
};

/* -ENOTSUP with the reason where no file can be written: read-only, not ours, no such directory. */
int place_open(struct place *place, enum place_where where, struct err *err);

/* The same of a directory that is named. */
int place_open_directory(struct place *place, const char *directory, struct err *err);

/* One of so many benchmarks at once takes at most a fourth of the free space in all. */
enum { PLACE_SHARE = 4 };

/*
 * How much of `most` bytes there is room for, in whole `unit`s, as one of `users` at the same time:
 * at most `most`. Where not even `least` fit, -ENOTSUP with both figures.
 */
int place_fit(const struct place *place, uint64_t least, uint64_t most, uint64_t unit,
              unsigned users, uint64_t *bytes, struct err *err);

/* A new file without a name, for reading and writing. Its descriptor, or -errno with the reason. */
int place_make_file(const struct place *place, struct err *err);

/* The same file once more, with these flags of open(2): O_RDONLY | O_DIRECT. As above. */
int place_open_again(int fd, int flags, struct err *err);

/* As many descriptors as the hard limit has; how many that are. */
uint64_t place_allow_descriptors(void);

#endif
