/*
 * The protocol between a rank's harness (client.h) and its MPI process (server.h), over a stream
 * socket: calls, and replies to most of them. Both sides are the same program, so structs are sent
 * as they are. The server's first message is a reply without a call: whether MPI started, and its
 * world.
 */
#ifndef CONTEND_RANKS_MPI_LINK_H
#define CONTEND_RANKS_MPI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mpi_link_kind {
    MPI_LINK_EXCHANGE, /* begin an exchange (exchange.h); our data follow; no reply */
    MPI_LINK_POLL,     /* has the exchange ended or failed? */
    MPI_LINK_SERVE,    /* run worker `index` of shared memory; comes with its memfd and eventfd */
    MPI_LINK_JOIN,     /* has that worker ended? */
    MPI_LINK_END,      /* finalize, reply, exit */
    MPI_LINK_ABORT,    /* MPI_Abort with `code`: no reply */
};

enum { MPI_LINK_FDS = 2 };

struct mpi_link_call {
    enum mpi_link_kind kind;
    unsigned index;
    int code;
    bool spread;
    uint64_t bytes;
};

struct mpi_link_reply {
    int rc;         /* 0 or -errno with msg */
    bool done;      /* JOIN, POLL: yes */
    unsigned rank;  /* POLL: the rank that an error concerns, or that is waited for */
    uint64_t bytes; /* of payload that follows */
    char msg[252];
};

/* Move all bytes. -EPIPE: the other side is gone; other -errno. */
int mpi_link_write(int fd, const void *data, size_t bytes);
int mpi_link_read(int fd, void *data, size_t bytes);

/* A call with MPI_LINK_FDS descriptors, or NULL. Received ones are close-on-exec, -1 = none. */
int mpi_link_write_call(int fd, const struct mpi_link_call *call, const int *fds);
int mpi_link_read_call(int fd, struct mpi_link_call *call, int *fds);

#endif
