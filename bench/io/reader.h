/*
 * Reads a data set in one way: blocks of one file, or whole small files, each opened and closed.
 *
 *   struct io_reader reader;
 *   rc = io_reader_open(&reader, &plan, err);
 *   rc = io_reader_run(&reader, ns, &over, err);   // repeatable: continues where it stopped
 *   ... reader.totals.bytes / reader.totals.elapsed_ns ...
 *   rc = io_reader_verify(&reader, units, err);
 *   io_reader_close(&reader);
 */
#ifndef CONTEND_BENCH_IO_READER_H
#define CONTEND_BENCH_IO_READER_H

#include <stddef.h>
#include <stdint.h>

#include "bench/io/data.h"

/*
 * A bounded sample of times. When the array is full, every second time is dropped, and from then on
 * only every second one is kept. So the kept times are spread evenly, and their percentiles are
 * those of the whole run, not of its start.
 */

enum { TIME_SAMPLE_MOST = 1 << 16 }; /* even */

/* Zeroed: empty, without room. */
struct time_sample {
    double *value; /* [n] kept, in order, in the caller's unit */
    size_t n;
    uint64_t every, skip; /* one in `every` is kept; the next `skip` are not */
};

/* -ENOMEM; time_sample_close is not needed then. */
int time_sample_open(struct time_sample *sample);
void time_sample_add(struct time_sample *sample, double value);
void time_sample_close(struct time_sample *sample);

enum read_way {
    READ_READ,   /* read(2), from the file position on */
    READ_PREAD,  /* pread(2) */
    READ_MMAP,   /* memcpy out of a mapping */
    READ_DIRECT, /* pread(2), O_DIRECT */
    READ_WAYS
};

/* "read", "pread", "mmap"; READ_DIRECT is also "pread", after its system call. */
extern const char *const read_way_names[READ_WAYS];

struct io_reader_plan {
    const struct data *data; /* borrowed, like `order` */
    const uint32_t *order;   /* of all units; NULL = as they lie in the file */
    enum read_way way;
    size_t unit_bytes;     /* a block of data->files[0], or the size of each of several files */
    size_t nunits;         /* in the data set */
    unsigned first, every; /* reads units first, first + every, ... of the order */
    bool timed;            /* times each read; reads of warm pages are too short for that */
};

struct io_reader {
    struct io_reader_plan plan;
    size_t next; /* position in the order */
    char *buffer;
    char *map;      /* READ_MMAP: the mapping during a run */
    bool verifying; /* compares each unit with the pattern */
    struct {
        uint64_t bytes, elapsed_ns, cpu_ns; /* CPU time of the calling thread */
        struct time_sample latency_us;      /* if plan.timed: latency of each read */
    } totals;
    size_t wrong; /* units that differ from the pattern */
};

/*
 * -ENOTSUP with the reason: this way is not supported; -ENOMEM. After an error io_reader_close is
 * allowed, not needed.
 */
int io_reader_open(struct io_reader *reader, const struct io_reader_plan *plan, struct err *err);

/*
 * Reads for `ns`, at most up to the last unit; a read in progress is finished and counts. Adds to
 * `totals`. *over: the last unit was read, and the next run begins at the first unit.
 */
int io_reader_run(struct io_reader *reader, uint64_t ns, bool *over, struct err *err);

/*
 * Reads and compares `units` units, fewer at the end of the data set. Does not change `totals`.
 * -EBADMSG: a unit differs from the pattern.
 */
int io_reader_verify(struct io_reader *reader, size_t units, struct err *err);

void io_reader_close(struct io_reader *reader);

/*
 * Reads all `bytes`, and continues after short reads. offset < 0: from the file position on.
 * 0, or -errno with the reason; -EIO: end of the file.
 */
int io_reader_read_whole(int fd, char *buffer, size_t bytes, int64_t offset, struct err *err);

#endif
