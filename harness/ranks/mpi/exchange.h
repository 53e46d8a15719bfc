/*
 * An exchange between the ranks, in their MPI processes: all send the same number of bytes to rank
 * 0, which with `spread` sends all of them to all ranks. One at a time. No call waits, so that rank
 * 0 knows which rank's data are missing.
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
    unsigned most; /* unfinished answers at once: MPI has a copy of each */
    void *mine;    /* owned */
    char *all;     /* owned: rank r's data at [r * bytes]; NULL: not for this rank */
    struct mpi_ops_request *request; /* owned, one per rank */
    size_t bytes;
    bool spread, answering; /* answering: rank 0 has all data and sends answers */
    unsigned answered;      /* ranks below this number have been sent the answer */
};

/*
 * `mine` is from malloc; the exchange owns it from now on, also after an error. Errors: -ENOMEM,
 * and the module's, which concern *rank.
 */
int exchange_begin(struct exchange *exchange, void *mine, size_t bytes, bool spread, unsigned *rank,
                   char *msg, size_t size);
/* *rank: the rank that an error concerns, or that is waited for. */
int exchange_test(struct exchange *exchange, bool *done, unsigned *rank, char *msg, size_t size);
void exchange_free(struct exchange *exchange);

#endif
