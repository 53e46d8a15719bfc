/*
 * Reads a data set in one way: blocks of one file, or small files whole, opened and closed each.
 *
 *   struct io_reader reader;
 *   rc = io_reader_open(&reader, &plan, err);
 *   rc = io_reader_run(&reader, ns, err);       // again and again, each time from where it stopped
 *   ... reader.seen.bytes / reader.seen.elapsed_ns ...
 *   rc = io_reader_verify(&reader, units, err);
 *   io_reader_close(&reader);
 */
#ifndef CONTEND_BENCH_IO_READER_H
#define CONTEND_BENCH_IO_READER_H

#include "bench/common/stamps.h"
#include "bench/io/data.h"

enum read_way {
    READ_READ,   /* read(2), from the beginning on */
    READ_PREAD,  /* pread(2) */
    READ_MMAP,   /* memcpy out of a mapping */
    READ_DIRECT, /* pread(2), O_DIRECT */
    READ_WAYS
};

/* "read", "pread", "mmap"; O_DIRECT has the name of the call, too. */
extern const char *const read_way_names[READ_WAYS];

struct io_reader_plan {
    const struct data *data; /* borrowed, as the next two */
    const uint32_t *order;   /* of all units; NULL = as they lie */
    enum read_way way;
    size_t unit_bytes;     /* a block of data->files[0], or the size of each of several files */
    size_t nunits;         /* in the data set */
    unsigned first, every; /* reads units first, first + every, ... of the order */
    bool timed;            /* stamps each read; those of warm pages are too short for that */
};

struct io_reader {
    struct io_reader_plan plan;
    size_t next; /* position in the order */
    char *buffer;
    char *map;      /* of READ_MMAP, of a run */
    bool verifying; /* checks each unit */
    struct {
        uint64_t bytes, elapsed_ns, cpu_ns; /* CPU time of the calling thread */
        struct stamps late_us;              /* where plan.timed: how long reads took */
    } seen;
    size_t wrong; /* units that did not hold what was written */
};

/* -ENOTSUP with the reason where this way cannot be had. Then io_reader_close is allowed, not
 * needed. */
int io_reader_open(struct io_reader *reader, const struct io_reader_plan *plan, struct err *err);

/*
 * Reads for `ns`, at most up to the last unit; what is in flight is waited for and counts. Adds to
 * `seen`. True in *over: the last unit was read, and the next run begins anew.
 */
int io_reader_run(struct io_reader *reader, uint64_t ns, bool *over, struct err *err);

/* Reads so many units, more or less, and compares them; -EBADMSG where one is wrong. */
int io_reader_verify(struct io_reader *reader, size_t units, struct err *err);

void io_reader_close(struct io_reader *reader);

/* Reads all of `bytes`: short reads are gone on with. offset < 0: from where the file stands. */
int io_reader_read_whole(int fd, char *buffer, size_t bytes, int64_t offset, struct err *err);

#endif
