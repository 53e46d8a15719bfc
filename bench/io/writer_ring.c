#include <errno.h>

#include "bench/io/ring.h"
#include "bench/io/writer.h"

#ifdef CONTEND_HAVE_URING

/* In the blocks' order; short writes are an error, as files on a full device show them. */
static unsigned submit(const struct writer_plan *plan, struct io_uring *ring, int fd,
                       uint64_t *next, unsigned flying)
{
    while (flying < plan->depth && *next < plan->bytes) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
        uint64_t left = plan->bytes - *next;
        unsigned bytes = (unsigned)(left < plan->block_bytes ? left : plan->block_bytes);
        if (!sqe)
            break;
        io_uring_prep_write(sqe, fd, (const char *)plan->content + *next, bytes, *next);
        io_uring_sqe_set_data64(sqe, bytes);
        *next += bytes;
        flying++;
    }
    return flying;
}

static int take(struct io_uring *ring, unsigned *flying, uint64_t *done)
{
    struct io_uring_cqe *cqe;
    int rc = 0;
    while (!io_uring_peek_cqe(ring, &cqe)) {
        uint64_t wanted = io_uring_cqe_get_data64(cqe);
        if (!rc && cqe->res < 0)
            rc = cqe->res;
        else if (!rc && (uint64_t)cqe->res < wanted)
            rc = -ENOSPC;
        else
            *done += wanted;
        io_uring_cqe_seen(ring, cqe);
        (*flying)--;
    }
    return rc;
}

int writer_ring_write(const struct writer_plan *plan, int fd, uint64_t *done, struct err *err)
{
    struct io_uring ring;
    uint64_t next = 0;
    unsigned flying = 0;
    int rc = ring_open(&ring, plan->depth, -1, err);
    if (rc)
        return rc;
    for (*done = 0; rc >= 0;) {
        flying = submit(plan, &ring, fd, &next, flying);
        if (!flying)
            break;
        int taken = io_uring_submit_and_wait(&ring, 1);
        if (taken < 0 && taken != -EINTR && taken != -EAGAIN && taken != -EBUSY)
            rc = taken;
        else
            rc = take(&ring, &flying, done);
    }
    uint64_t nowhere = 0;
    while (flying && io_uring_submit_and_wait(&ring, 1) >= 0)
        (void)take(&ring, &flying, &nowhere);
    io_uring_queue_exit(&ring);
    return rc < 0 ? err_sys(err, rc, "cannot write by io_uring") : 0;
}

#else

int writer_ring_write(const struct writer_plan *plan, int fd, uint64_t *done, struct err *err)
{
    (void)plan;
    (void)fd;
    *done = 0;
    return ring_check(0, err);
}

#endif
