/* What stub_copies.c tells the stub of CUPTI. */
#ifndef CONTEND_TESTS_LIB_STUB_CUPTI_H
#define CONTEND_TESTS_LIB_STUB_CUPTI_H

#include <stddef.h>
#include <stdint.h>

struct stub_copy {
    unsigned kind, from_memory, to_memory; /* as CUPTI numbers them */
    int from, to;                          /* devices; of a copy that is not between two: from */
    uint64_t bytes, ns;                    /* ns: 0 = not told */
    uint64_t count;                        /* of a batch; CUDA 13 tells it */
};

void stub_cupti_copy(const struct stub_copy *told);
void stub_cupti_peer_copy(const struct stub_copy *told);
/* Unified memory that moved: `kind` its counter, `count` its cause. */
void stub_cupti_migration(const struct stub_copy *told);
void stub_cupti_await_migrations(void); /* until they are asked for; a minute at most */
void stub_cupti_drop(size_t n);
void stub_cupti_take_over(void); /* as a profiler that the program has begun */

#endif
