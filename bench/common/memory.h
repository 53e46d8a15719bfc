/*
 * Shared by the memory benchmarks: mappings with a kind of page, the memory that is available, and
 * the sizes of caches.
 */
#ifndef CONTEND_BENCH_COMMON_MEMORY_H
#define CONTEND_BENCH_COMMON_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"

/*
 * MEMORY_4K: the kernel's base pages, huge pages forbidden. MEMORY_THP: transparent huge pages,
 * requested by MADV_HUGEPAGE. MEMORY_HUGETLB: 2 MiB pages of the reserved pool.
 */
enum memory_pages { MEMORY_4K, MEMORY_THP, MEMORY_HUGETLB, MEMORY_PAGES };

/* "4k", "thp", "hugetlb", NULL: in the order of enum memory_pages, for options. */
extern const char *const memory_pages_names[];

/* Anonymous memory, aligned to 2 MiB, not touched yet. A zeroed struct is an empty one. */
struct memory_block {
    void *base;
    size_t bytes; /* rounded up to whole pages of the kind */
    enum memory_pages pages;
};

/* -EINVAL: 0 bytes or too many; -ENOMEM and other errors of mmap, such as an empty pool of huge
 * pages. */
int memory_map(struct memory_block *block, size_t bytes, enum memory_pages pages, struct err *err);
void memory_unmap(struct memory_block *block);

/* The same until bench_close: memory_unmap is not needed. */
int memory_open(struct bench_ctx *ctx, struct memory_block *block, size_t bytes,
                enum memory_pages pages);
/* Makes bench_close unmap the block, unless it is unmapped before. */
int memory_unmap_at_close(struct bench_ctx *ctx, struct memory_block *block);

/*
 * The share of a touched block, 0..1, on pages of its kind, from /proc/self/smaps: a request for
 * huge pages may not be granted. NaN if smaps cannot be read.
 */
double memory_page_share(const struct memory_block *block);

/* -ENOTSUP if a small block does not get pages of this kind. */
int memory_check_pages(enum memory_pages pages, struct err *err);

/*
 * Bytes available now without reclaiming from others: MemAvailable, or less if a memory cgroup (v1
 * or v2, this one or any above) leaves less. A VM whose memory grows with use has more than this.
 */
uint64_t memory_available_bytes(void);

/* -ENOTSUP, with both sizes, if `bytes` are more than 9/10 of the available memory. */
int memory_check_fits(uint64_t bytes, const char *what, struct err *err);

/* The sum of all last-level caches of the worker's CPUs. If their sizes differ, each counts as the
 * largest. 32 MiB if the machine does not report sizes. */
uint64_t memory_llc_bytes(const struct bench_machine *machine);

/* The same for the caches of n CPUs: `cpus` are indices in machine->cpus; NULL = the first n. */
uint64_t memory_llc_reached(const struct bench_machine *machine, const unsigned *cpus, unsigned n);

/*
 * Why repeated passes over `bytes` do not measure memory: "" if they are at least twice as large as
 * the caches, else a sentence for bench_emit_doubt. `what`: "arrays".
 */
const char *memory_doubt(const char *what, uint64_t bytes, const char *caches,
                         uint64_t cache_bytes);

/* The kernel's base page: 4 KiB; on aarch64 also 16 or 64 KiB. */
size_t memory_page_bytes(void);

/* Rounds down to a multiple; `multiple` is a power of two. */
size_t memory_round_down(uint64_t bytes, size_t multiple);

#endif
