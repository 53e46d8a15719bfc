#include "harness/ranks/mpi/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void exchange_free(struct exchange *exchange)
{
    free(exchange->mine);
    free(exchange->all);
    free(exchange->request);
    *exchange =
        (struct exchange){.ops = exchange->ops, .world = exchange->world, .most = exchange->most};
}

int exchange_begin(struct exchange *exchange, void *mine, size_t bytes, bool spread, unsigned *rank,
                   char *msg, size_t size)
{
    const struct mpi_ops *ops = exchange->ops;
    const unsigned me = exchange->world->rank, n = exchange->world->size;
    int rc = 0;
    *rank = 0;
    exchange_free(exchange);
    exchange->mine = mine;
    exchange->bytes = bytes;
    exchange->spread = spread;
    exchange->answered = 1;
    exchange->request = calloc(n, sizeof(*exchange->request));
    exchange->all = me && !spread ? NULL : malloc(n * bytes + 1);
    if (!mine || !exchange->request || (!exchange->all && (!me || spread))) {
        (void)snprintf(msg, size, "no memory for the messages of %u ranks", n);
        return -ENOMEM;
    }
    if (!me)
        memcpy(exchange->all, mine, bytes);
    for (unsigned r = 1; !me && r < n && !rc; r++)
        rc = ops->receive(*rank = r, exchange->all + r * bytes, bytes, &exchange->request[r], msg,
                          size);
    if (me)
        rc = ops->send(0, mine, bytes, &exchange->request[0], msg, size);
    if (me && spread && !rc)
        rc = ops->receive(0, exchange->all, n * bytes, &exchange->request[1], msg, size);
    return rc;
}

static int test_all(struct exchange *exchange, bool *all, unsigned *rank, char *msg, size_t size)
{
    int rc = 0;
    *all = true;
    *rank = 0;
    for (unsigned r = 0; r < exchange->world->size && !rc; r++) {
        bool done;
        rc = exchange->ops->test(&exchange->request[r], &done, msg, size);
        if ((rc || (*all && !done)) && !exchange->world->rank)
            *rank = r;
        *all &= done;
    }
    return rc;
}

/* Sends the answer to further ranks, with at most exchange->most unfinished sends. */
static int answer(struct exchange *exchange, unsigned *rank, char *msg, size_t size)
{
    const unsigned n = exchange->world->size;
    unsigned under_way = 0;
    int rc = 0;
    for (unsigned r = 1; r < exchange->answered; r++)
        under_way += exchange->request[r].active;
    while (exchange->answered < n && under_way++ < exchange->most && !rc) {
        *rank = exchange->answered++;
        rc = exchange->ops->send(*rank, exchange->all, n * exchange->bytes,
                                 &exchange->request[*rank], msg, size);
    }
    return rc;
}

int exchange_test(struct exchange *exchange, bool *done, unsigned *rank, char *msg, size_t size)
{
    int rc = test_all(exchange, done, rank, msg, size);
    exchange->answering |= !rc && *done && !exchange->world->rank && exchange->spread;
    while (!rc && exchange->answering && exchange->answered < exchange->world->size) {
        const unsigned before = exchange->answered;
        rc = answer(exchange, rank, msg, size);
        if (!rc)
            rc = test_all(exchange, done, rank, msg, size);
        if (exchange->answered == before)
            break; /* first the unfinished sends must end */
    }
    *done &= !exchange->answering || exchange->answered == exchange->world->size;
    return rc;
}
