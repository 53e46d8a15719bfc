#include "bench/common/memory_node.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/proc.h"

enum {
    NODE_MASK_BITS = 1024, /* more than any kernel's MAX_NUMNODES */
    WORD_BITS = 8 * sizeof(unsigned long),
    ASK = 512 /* pages per move_pages call */
};

int memory_node_bind(const struct memory_block *block, unsigned os_node, struct err *err)
{
    unsigned long mask[NODE_MASK_BITS / WORD_BITS] = {0};
    if (os_node >= NODE_MASK_BITS)
        return err_set(err, -ENOTSUP, "node %u: at most %d are supported", os_node,
                       NODE_MASK_BITS - 1);
    mask[os_node / WORD_BITS] = 1ul << os_node % WORD_BITS;
    if (mbind(block->base, block->bytes, MPOL_BIND, mask, NODE_MASK_BITS, MPOL_MF_STRICT))
        return err_sys(err, -errno, "cannot bind memory to node %u (mbind)", os_node);
    return 0;
}

/* The only node of a mask; -1 if it has none or several. */
static int only_node(const unsigned long mask[NODE_MASK_BITS / WORD_BITS])
{
    int node = -1;
    for (unsigned i = 0; i < NODE_MASK_BITS; i++)
        if (mask[i / WORD_BITS] >> i % WORD_BITS & 1) {
            if (node >= 0)
                return -1;
            node = (int)i;
        }
    return node;
}

int memory_node_home(const struct bench_machine *machine)
{
    unsigned long mask[NODE_MASK_BITS / WORD_BITS] = {0};
    int mode = MPOL_DEFAULT;
    if (!get_mempolicy(&mode, mask, NODE_MASK_BITS, NULL, 0) && mode != MPOL_DEFAULT &&
        mode != MPOL_LOCAL)
        return mode == MPOL_BIND || mode == MPOL_PREFERRED ? only_node(mask) : -1;
    for (unsigned i = 1; i < machine->ncpus; i++)
        if (machine->cpus[i].os_node != machine->cpus[0].os_node)
            return -1;
    return machine->ncpus ? machine->cpus[0].os_node : -1;
}

int memory_node_share(const struct memory_block *block, unsigned os_node, double *share,
                      struct err *err)
{
    size_t page = memory_page_bytes(), pages = block->bytes / page, right = 0;
    void *addresses[ASK];
    int status[ASK];
    for (size_t first = 0; first < pages; first += ASK) {
        size_t count = pages - first < ASK ? pages - first : ASK;
        for (size_t i = 0; i < count; i++) {
            addresses[i] = (char *)block->base + (first + i) * page;
            /* NUMA balancing unmaps pages to find out which thread uses them; move_pages would
             * report these pages as absent. So touch each page first. */
            (void)*(const volatile char *)addresses[i];
        }
        if (move_pages(0, count, addresses, NULL, status, 0))
            return err_sys(err, -errno, "cannot ask where pages lie (move_pages)");
        for (size_t i = 0; i < count; i++)
            right += status[i] == (int)os_node;
    }
    *share = (double)right / (double)pages;
    return 0;
}

uint64_t memory_node_free_bytes(unsigned os_node)
{
    char path[96], name[32], text[32];
    (void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", os_node);
    (void)snprintf(name, sizeof(name), "Node %u MemFree", os_node);
    bool known = proc_read_field("", path, name, ':', text, sizeof(text));
    return known ? strtoull(text, NULL, 10) * 1024 : 0;
}

int memory_node_try(unsigned os_node, struct err *err)
{
    struct memory_block block = {0};
    double share;
    int rc = memory_map(&block, 1 << 21, MEMORY_4K, err);
    if (rc)
        return rc;
    rc = memory_node_bind(&block, os_node, err);
    if (!rc) {
        memset(block.base, 0, block.bytes);
        rc = memory_node_share(&block, os_node, &share, err);
    }
    memory_unmap(&block);
    return rc;
}
