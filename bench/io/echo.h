/*
 * Connections between a server and a client, each with one message on its way: the server sends
 * back what it gets, the client counts and compares.
 */
#ifndef CONTEND_BENCH_IO_ECHO_H
#define CONTEND_BENCH_IO_ECHO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/stamps.h"
#include "harness/lib/base/err.h"

enum { ECHO_MESSAGE_MOST = 16384 };

enum echo_how { ECHO_EPOLL, ECHO_URING };
enum echo_via { ECHO_UNIX, ECHO_TCP };

/* Zeroed = closed. */
struct echo {
    enum echo_how how;
    unsigned n;
    size_t message_bytes;
    struct echo_end {
        int fd;           /* -1 = closed */
        uint64_t sent;    /* messages; of the client, what the last one says */
        uint64_t sent_ns; /* of one that is timed; 0 = it is not */
        char *message;
    } * servers, *clients; /* [n] */
    int bell;              /* an eventfd, written when the server is to end */
    atomic_bool over;

    /* Results. */
    uint64_t echoes, elapsed_ns;    /* the client's, while it measured */
    uint64_t served, server_cpu_ns; /* the server's, all of them */
    struct stamps late_us;
    size_t wrong;                      /* echoes that were not what had been sent */
    struct err server_err, client_err; /* of the two threads */
};

/* -ENOTSUP with the reason where it cannot be had: no io_uring, too few descriptors. */
int echo_open(struct echo *echo, enum echo_how how, enum echo_via via, unsigned connections,
              size_t message_bytes, struct err *err);
void echo_close(struct echo *echo);

/* In two threads at once: returns when the client has ended, and all that was sent is back. */
void echo_serve(struct echo *echo);
void echo_ask(struct echo *echo, uint64_t ns);

/* The first failure of either side; -EBADMSG where an echo differs from what was sent. */
int echo_failed(const struct echo *echo, struct err *err);

/* ---- between the files of it ---- */

int echo_serve_uring(struct echo *echo, struct err *err);

#endif
