/*
 * The reads of a reader by io_uring: always as many in flight as are asked for. They are submitted
 * in a few parts, so that the device has the first ones while the others are made ready; the last
 * part in the call that also waits.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/io/reader.h"
#include "bench/io/ring.h"
#include "harness/lib/sys/clock.h"

#ifdef CONTEND_HAVE_URING

/* One round in so many is done in two calls, to see how many reads are in flight in between. */
enum { LOOK_EACH = 8, REAPED = 64, BATCHES = 8 };

static const uint64_t NOTHING = UINT64_MAX; /* user data of what is no read */

struct slot {
    size_t unit;
    int fd; /* of one of several files; -1 = none of its own */
    uint64_t start_ns;
};

struct io_ring {
    struct io_uring ring;
    pid_t thread; /* that has opened it, and that alone may submit; 0 = none */
    unsigned flying, nfree;
    unsigned batch; /* reads that are submitted at once */
    uint64_t at_ns; /* of the clock's last look */
    unsigned *free_slots;
    struct slot *slots; /* [depth] */
};

static bool is_fixed(const struct io_reader *reader)
{
    return reader->plan.way >= READ_URING_FIXED;
}

/* Memory that is registered counts against RLIMIT_MEMLOCK, for who has no CAP_IPC_LOCK. */
static int register_all(struct io_reader *reader, struct io_ring *own, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    struct iovec *parts = calloc(plan->depth, sizeof(*parts));
    if (!parts)
        return err_set(err, -ENOMEM, "cannot allocate the state of a reader");
    for (unsigned i = 0; i < plan->depth; i++)
        parts[i] = (struct iovec){reader->buffers + (size_t)i * plan->unit_bytes, plan->unit_bytes};
    int rc = io_uring_register_buffers(&own->ring, parts, plan->depth);
    if (!rc)
        rc = io_uring_register_files(&own->ring, &plan->data->files[0].direct_fd, 1);
    free(parts);
    if (!rc)
        return 0;
    (void)err_sys(err, rc, "io_uring does not register %zu bytes of buffers (ulimit -l)",
                  plan->unit_bytes * plan->depth);
    return err->code = -ENOTSUP;
}

static void close_ring(struct io_ring *own)
{
    if (own->thread)
        io_uring_queue_exit(&own->ring);
    own->thread = 0;
}

/* As the calling thread's. */
static int open_ring(struct io_reader *reader, struct io_ring *own, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    bool sqpoll = plan->way == READ_URING_SQPOLL;
    close_ring(own);
    int rc = ring_open(&own->ring, plan->depth, sqpoll ? plan->sqpoll_cpu : -1, err);
    if (rc)
        return rc;
    own->thread = gettid();
    return is_fixed(reader) ? register_all(reader, own, err) : 0;
}

int io_reader_ring_open(struct io_reader *reader, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    struct io_ring *own = reader->ring = calloc(1, sizeof(*own));
    if (!own)
        return err_set(err, -ENOMEM, "cannot allocate the state of a reader");
    own->batch = plan->depth / BATCHES ? plan->depth / BATCHES : 1;
    own->free_slots = calloc(plan->depth, sizeof(*own->free_slots));
    own->slots = calloc(plan->depth, sizeof(*own->slots));
    if (!own->free_slots || !own->slots)
        return err_set(err, -ENOMEM, "cannot allocate the state of a reader");
    while (own->nfree < plan->depth) {
        own->free_slots[own->nfree] = own->nfree;
        own->nfree++;
    }
    return open_ring(reader, own, err);
}

/* Behind an error: what is in flight writes into our buffers, whoever has them by then. */
static void drain(struct io_ring *own)
{
    struct io_uring_cqe *cqe;
    while (own->flying) {
        int rc = io_uring_submit_and_wait(&own->ring, 1);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
            return;
        while (!io_uring_peek_cqe(&own->ring, &cqe)) {
            own->flying -= io_uring_cqe_get_data64(cqe) != NOTHING;
            io_uring_cqe_seen(&own->ring, cqe);
        }
    }
}

void io_reader_ring_close(struct io_reader *reader)
{
    struct io_ring *own = reader->ring;
    if (!own)
        return;
    close_ring(own);
    for (unsigned i = 0; own->slots && i < reader->plan.depth; i++)
        if (own->slots[i].fd > 0)
            (void)close(own->slots[i].fd);
    free(own->slots);
    free(own->free_slots);
    free(own);
    reader->ring = NULL;
}

static int prepare(struct io_reader *reader, struct io_ring *own, struct io_uring_sqe *sqe,
                   struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    unsigned which = own->free_slots[own->nfree - 1];
    struct slot *slot = &own->slots[which];
    char *buffer = reader->buffers + (size_t)which * plan->unit_bytes;
    unsigned bytes = (unsigned)plan->unit_bytes;
    *slot = (struct slot){io_reader_unit(reader, reader->next), -1, own->at_ns};
    const uint64_t offset = (uint64_t)slot->unit * bytes;
    if (plan->data->nfiles > 1) {
        slot->fd = io_reader_open_unit(reader, slot->unit, err);
        if (slot->fd < 0)
            return slot->fd;
        io_uring_prep_read(sqe, slot->fd, buffer, bytes, 0);
    } else if (is_fixed(reader)) {
        io_uring_prep_read_fixed(sqe, 0, buffer, bytes, offset, (int)which);
        sqe->flags |= IOSQE_FIXED_FILE;
    } else {
        const struct data_file *file = &plan->data->files[0];
        int fd = plan->way == READ_URING ? file->fd : file->direct_fd;
        io_uring_prep_read(sqe, fd, buffer, bytes, offset);
    }
    io_uring_sqe_set_data64(sqe, which);
    own->nfree--;
    own->flying++;
    reader->next += plan->every;
    return 0;
}

static int fill(struct io_reader *reader, struct io_ring *own, struct err *err)
{
    int rc = 0;
    while (!rc && own->nfree && reader->next < reader->plan.nunits) {
        if (io_uring_sq_ready(&own->ring) >= own->batch)
            (void)io_uring_submit(&own->ring);
        struct io_uring_sqe *sqe = io_uring_get_sqe(&own->ring);
        if (!sqe) /* with SQPOLL, others are not taken yet */
            break;
        rc = prepare(reader, own, sqe, err);
        if (rc) { /* the entry is ours already, and must be something */
            io_uring_prep_nop(sqe);
            io_uring_sqe_set_data64(sqe, NOTHING);
        }
    }
    return rc;
}

/* Handed to the kernel, which with SQPOLL is at once, and not done. */
static double in_flight(const struct io_reader *reader, const struct io_ring *own)
{
    bool sqpoll = reader->plan.way == READ_URING_SQPOLL;
    unsigned waiting = io_uring_cq_ready(&own->ring);
    waiting += sqpoll ? 0 : io_uring_sq_ready(&own->ring);
    return own->flying > waiting ? (double)(own->flying - waiting) : 0;
}

/*
 * Reads that end during submission, as those from the page cache do, run one after the other: one
 * is in flight meanwhile. The wait ends with the first that is done; until then all of them are.
 */
static int submit_and_look(struct io_reader *reader, struct io_ring *own)
{
    double before = in_flight(reader, own);
    uint64_t start_ns = clock_now_ns();
    int rc = ring_submit(&own->ring);
    uint64_t submitted_ns = clock_now_ns();
    double flying = in_flight(reader, own);
    if (rc >= 0)
        rc = io_uring_submit_and_wait(&own->ring, 1);
    uint64_t waited_ns = clock_now_ns();
    reader->seen.in_flight_ns +=
        fmax((before + flying) / 2, 1) * (double)(submitted_ns - start_ns) +
        flying * (double)(waited_ns - submitted_ns);
    reader->seen.looked_ns += (double)(waited_ns - start_ns);
    return rc;
}

static int take(struct io_reader *reader, struct io_ring *own, const struct io_uring_cqe *cqe,
                struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    unsigned which = (unsigned)io_uring_cqe_get_data64(cqe);
    struct slot *slot = &own->slots[which];
    char *buffer = reader->buffers + (size_t)which * plan->unit_bytes;
    int rc = cqe->res > 0 ? 0 : err_sys(err, cqe->res ? cqe->res : -EIO, "io_uring cannot read");
    size_t done = cqe->res > 0 ? (size_t)cqe->res : 0;
    bool files = plan->data->nfiles > 1;
    if (!rc && done < plan->unit_bytes) {
        int64_t at = files ? 0 : (int64_t)(slot->unit * plan->unit_bytes);
        rc = io_reader_read_whole(files ? slot->fd : plan->data->files[0].fd, buffer + done,
                                  plan->unit_bytes - done, at + (int64_t)done, err);
    }
    if (slot->fd >= 0)
        (void)close(slot->fd);
    slot->fd = -1;
    own->free_slots[own->nfree++] = which;
    own->flying--;
    io_reader_look(reader, slot->unit, buffer);
    reader->seen.bytes += plan->unit_bytes;
    if (plan->timed)
        stamps_add(&reader->seen.late_us, (double)(own->at_ns - slot->start_ns) / 1e3);
    return rc;
}

static int reap(struct io_reader *reader, struct io_ring *own, struct err *err)
{
    struct io_uring_cqe *done[REAPED];
    unsigned n = io_uring_peek_batch_cqe(&own->ring, done, REAPED);
    int rc = 0;
    for (unsigned i = 0; i < n && !rc; i++)
        rc = take(reader, own, done[i], err);
    io_uring_cq_advance(&own->ring, n);
    return rc;
}

int io_reader_ring_run(struct io_reader *reader, uint64_t end_ns, struct err *err)
{
    struct io_ring *own = reader->ring;
    int rc = own->thread == gettid() ? 0 : open_ring(reader, own, err);
    own->at_ns = clock_now_ns();
    for (unsigned round = 0; !rc; round++) {
        if (!round || own->at_ns < end_ns) /* one at least, as by the other ways */
            rc = fill(reader, own, err);
        if (rc || !own->flying)
            break;
        int taken = round % LOOK_EACH == LOOK_EACH - 1 && !reader->verifying
                        ? submit_and_look(reader, own)
                        : io_uring_submit_and_wait(&own->ring, 1);
        if (taken < 0 && taken != -EINTR && taken != -EAGAIN && taken != -EBUSY)
            rc = err_sys(err, taken, "io_uring does not take reads");
        own->at_ns = clock_now_ns();
        if (!rc)
            rc = reap(reader, own, err);
    }
    if (own->flying)
        drain(own);
    return rc;
}

#else

int io_reader_ring_open(struct io_reader *reader, struct err *err)
{
    (void)reader;
    return ring_check(0, err);
}

int io_reader_ring_run(struct io_reader *reader, uint64_t end_ns, struct err *err)
{
    (void)reader;
    (void)end_ns;
    return ring_check(0, err);
}

void io_reader_ring_close(struct io_reader *reader)
{
    (void)reader;
}

#endif
