/*
 * Memory on a chosen NUMA node: bound there before it is touched (mbind), and asked afterwards
 * where it lies (move_pages). Nodes are the system's numbers. Containers may refuse both calls.
 */
#ifndef CONTEND_BENCH_COMMON_MEMORY_NODE_H
#define CONTEND_BENCH_COMMON_MEMORY_NODE_H

#include <stdint.h>

#include "bench/common/memory.h"

/*
 * Binds a block that is not touched yet. Bound memory that does not fit ends the process when it is
 * touched: see memory_node_free_bytes before. -errno with the reason.
 */
int memory_node_bind(const struct memory_block *block, unsigned os_node, struct err *err);

/*
 * Where a worker's memory belongs: the one node that its memory policy names, else, where it has no
 * policy, that of all its CPUs. -1: there is no such node, or nobody tells.
 */
int memory_node_home(const struct bench_machine *machine);

/* The share of a touched block's pages, 0..1, that lies on a node. */
int memory_node_share(const struct memory_block *block, unsigned os_node, double *share,
                      struct err *err);

/* MemFree of a node; 0 where the system does not say. */
uint64_t memory_node_free_bytes(unsigned os_node);

/* 0 where a small block can be bound to a node and asked about, else why not. */
int memory_node_try(unsigned os_node, struct err *err);

#endif
