/*
 * An exchange between the ranks, in their MPI processes: all give the same number of bytes, rank 0
 * gets them, and then, if they are to be spread, all ranks. One at a time; nobody is waited for, so
 * that rank 0 knows whose are missing.
 *
 *   struct exchange exchange = {.ops = ops, .world = &world, .most = 32};
 *   rc = exchange_begin(&exchange, mine, bytes, true, &rank, msg, sizeof(msg));
 *   while (!rc && !done)
 *       rc = exchange_test(&exchange, &done, &rank, msg, sizeof(msg));
 *   ... exchange.all ...
 *   exchange_free(&exchange);
 */
#ifndef CONTEND_RANKS_MPI_EXCHANGE_H
#define CONTEND_RANKS_MPI_EXCHANGE_H

#include "harness/contract/mpi_ops.h"

struct exchange {
    const struct mpi_ops *ops;
    const struct mpi_ops_world *world;
    unsigned most;                   /* answers under way at once: MPI has a copy of each */
    void *mine;                      /* owned */
    char *all;                       /* owned: of rank r at [r * bytes]; NULL: not for this rank */
    struct mpi_ops_request *request; /* owned, one a rank */
    size_t bytes;
    bool spread, answering; /* rank 0 has heard all and tells them */
    unsigned told;          /* ranks below have been sent the answer */
};

/*
 * `mine` is from malloc, and belongs to the exchange from now on. Errors: -ENOMEM, and the
 * module's, which are about *rank.
 */
int exchange_begin(struct exchange *exchange, void *mine, size_t bytes, bool spread, unsigned *rank,
                   char *msg, size_t size);
/* *rank: which one an error is about, or is waited for. */
int exchange_test(struct exchange *exchange, bool *done, unsigned *rank, char *msg, size_t size);
void exchange_free(struct exchange *exchange);

#endif
