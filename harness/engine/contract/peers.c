#include "harness/engine/contract/peers.h"

#include <errno.h>
#include <string.h>

int peers_gather(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err)
{
    if (bytes > PEERS_BLOCK_MAX)
        return err_set(err, -EINVAL, "%zu bytes a rank are more than %d", bytes, PEERS_BLOCK_MAX);
    if (peers->size == 1) {
        if (bytes)
            memcpy(all, mine, bytes);
        return 0;
    }
    return peers->gather(peers, mine, all, bytes, err);
}

int peers_barrier(struct peers *peers, struct err *err)
{
    return peers_gather(peers, NULL, NULL, 0, err);
}
