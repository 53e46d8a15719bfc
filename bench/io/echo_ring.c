/* The server by io_uring: all that came is answered, and waited for again, in one call. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "bench/io/echo.h"
#include "bench/io/ring.h"

#ifdef CONTEND_HAVE_URING

/* A connection has one entry at a time; what it is stands beside its number. */
enum { KIND_RECEIVE, KIND_SEND, KIND_BELL, KINDS = 4, ENTRIES = 1024 };

static struct io_uring_sqe *next_entry(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (sqe || io_uring_submit(ring) < 0)
        return sqe;
    return io_uring_get_sqe(ring);
}

static int prepare(struct echo *echo, struct io_uring *ring, unsigned which, unsigned kind)
{
    struct io_uring_sqe *sqe = next_entry(ring);
    struct echo_end *end = which < echo->n ? &echo->servers[which] : NULL;
    if (!sqe)
        return -EBUSY;
    if (kind == KIND_RECEIVE)
        io_uring_prep_recv(sqe, end->fd, end->message, echo->message_bytes, MSG_WAITALL);
    else if (kind == KIND_SEND)
        io_uring_prep_send(sqe, end->fd, end->message, echo->message_bytes, MSG_NOSIGNAL);
    else
        io_uring_prep_poll_add(sqe, echo->bell, POLLIN);
    io_uring_sqe_set_data64(sqe, (uint64_t)which * KINDS + kind);
    return 0;
}

/* 1: the bell rang. */
static int answer(struct echo *echo, struct io_uring *ring, const struct io_uring_cqe *cqe)
{
    uint64_t data = io_uring_cqe_get_data64(cqe);
    unsigned which = (unsigned)(data / KINDS), kind = data % KINDS;
    if (kind == KIND_BELL)
        return cqe->res < 0 ? cqe->res : 1;
    if (cqe->res != (int)echo->message_bytes)
        return cqe->res < 0 ? cqe->res : -EIO;
    echo->served += kind == KIND_SEND;
    return prepare(echo, ring, which, kind == KIND_RECEIVE ? KIND_SEND : KIND_RECEIVE);
}

static int serve(struct echo *echo, struct io_uring *ring)
{
    struct io_uring_cqe *cqe;
    int rc = prepare(echo, ring, echo->n, KIND_BELL);
    for (unsigned i = 0; i < echo->n && !rc; i++)
        rc = prepare(echo, ring, i, KIND_RECEIVE);
    while (!rc) {
        unsigned head, seen = 0;
        int taken = io_uring_submit_and_wait(ring, 1);
        if (taken < 0 && taken != -EINTR && taken != -EAGAIN && taken != -EBUSY)
            return taken;
        io_uring_for_each_cqe(ring, head, cqe)
        {
            int one = answer(echo, ring, cqe);
            rc = rc ? rc : one;
            seen++;
        }
        io_uring_cq_advance(ring, seen);
    }
    return rc < 0 ? rc : 0;
}

/* Receives that wait for what does not come are taken back before their buffers go. */
static void take_back(struct echo *echo, struct io_uring *ring)
{
    for (unsigned i = 0; i < echo->n; i++)
        (void)shutdown(echo->servers[i].fd, SHUT_RDWR);
    (void)io_uring_submit(ring);
    io_uring_queue_exit(ring);
}

int echo_serve_uring(struct echo *echo, struct err *err)
{
    struct io_uring ring;
    unsigned entries = echo->n + 1 < ENTRIES ? echo->n + 1 : ENTRIES;
    int rc = ring_open(&ring, entries, -1, err);
    if (rc)
        return rc;
    rc = serve(echo, &ring);
    take_back(echo, &ring);
    return rc ? err_sys(err, rc, "the server by io_uring") : 0;
}

#else

int echo_serve_uring(struct echo *echo, struct err *err)
{
    (void)echo;
    return ring_check(0, err);
}

#endif
