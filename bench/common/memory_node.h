/*
 * Memory on a chosen NUMA node: bound to it before it is touched (mbind), and checked afterwards
 * (move_pages). Nodes are os_node numbers. Containers may refuse both calls.
 */
#ifndef CONTEND_BENCH_COMMON_MEMORY_NODE_H
#define CONTEND_BENCH_COMMON_MEMORY_NODE_H

#include <stdint.h>

#include "bench/common/memory.h"

/*
 * Binds a block that is not touched yet. If the node has too little memory, touching the block
 * kills the process: check memory_node_free_bytes first. -errno with the reason.
 */
int memory_node_bind(const struct memory_block *block, unsigned os_node, struct err *err);

/*
 * The node where a worker's memory belongs: the single node of its memory policy or, without a
 * policy, the node of all its CPUs. -1: there is no single node, or it is unknown.
 */
int memory_node_home(const struct bench_machine *machine);

/* The share of a touched block's pages, 0..1, that lies on the node. -errno: move_pages refused. */
int memory_node_share(const struct memory_block *block, unsigned os_node, double *share,
                      struct err *err);

/* MemFree of a node; 0 = unknown. */
uint64_t memory_node_free_bytes(unsigned os_node);

/* 0 if a small block can be bound to the node and queried, else -errno with the reason. */
int memory_node_try(unsigned os_node, struct err *err);

#endif
