/*
 * How a rank's harness (client.h) and its MPI process (server.h) talk: calls, and replies
 * to those that have one, over a stream socket between the two. Both are the same program, so
 * structs are sent as they are. The server replies once more, first of all: with whether MPI
 * started, and its world.
 */
#ifndef CONTEND_RANKS_MPI_LINK_H
#define CONTEND_RANKS_MPI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mpi_link_kind {
    MPI_LINK_EXCHANGE, /* begin one (exchange.h); what is ours follows, and no reply */
    MPI_LINK_POLL,     /* is it done, or has it failed? */
    MPI_LINK_SERVE,    /* become worker `index` of shared memory; brings its memfd and eventfd */
    MPI_LINK_JOIN,     /* has that worker come to its end? */
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
    bool done;      /* JOIN, POLL: it is */
    unsigned rank;  /* POLL: which one an error is about, or is waited for */
    uint64_t bytes; /* of payload that follows */
    char msg[252];
};

/* Whole, or -EPIPE where the other side is gone; other -errno. */
int mpi_link_write(int fd, const void *data, size_t bytes);
int mpi_link_read(int fd, void *data, size_t bytes);

/* A call with file descriptors, or none (NULL); received ones are close-on-exec, absent ones -1. */
int mpi_link_write_call(int fd, const struct mpi_link_call *call, const int *fds);
int mpi_link_read_call(int fd, struct mpi_link_call *call, int *fds);

#endif
