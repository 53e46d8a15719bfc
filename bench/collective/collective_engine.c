#include "bench/collective/collective_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct collective_ops *collective_ops_of(enum device device)
{
    if (device == DEVICE_NCCL)
        return &collective_nccl_ops;
    return device == DEVICE_MPI ? &collective_mpi_ops : NULL;
}

/* True if all ranks report the same error: the message then names no rank. */
static bool all_report(const struct err *all, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        if (!all[i].code || strcmp(all[i].msg, all[0].msg) != 0)
            return false;
    return true;
}

int collective_agree(struct peers *peers, int rc, struct err *err)
{
    if (peers->size == 1)
        return rc;
    struct err mine = {.code = rc}, *all = calloc(peers->size, sizeof(*all));
    if (!all)
        return err_set(err, -ENOMEM, "cannot allocate the answers of %u ranks", peers->size);
    if (rc && err)
        memcpy(mine.msg, err->msg, sizeof(mine.msg));
    int met = peers_gather(peers, &mine, all, sizeof(mine), err);
    unsigned first = 0;
    while (!met && first < peers->size && !all[first].code)
        first++;
    if (!met && all_report(all, peers->size))
        met = err_set(err, all[0].code, "%s", all[0].msg);
    else if (!met && first < peers->size && strncmp(all[first].msg, "rank ", 5) == 0)
        met = err_set(err, all[first].code, "%s", all[first].msg);
    else if (!met && first < peers->size)
        met = err_set(err, all[first].code, "rank %u: %.230s", first, all[first].msg);
    free(all);
    return met;
}
