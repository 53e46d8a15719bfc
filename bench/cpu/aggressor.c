#include "bench/cpu/aggressor.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "bench/cpu/victim.h"

enum {
    BURST = 512, /* touches a call of aggressor_touch */
    IDLE_STEPS = 256,
    MEMORY_SHARE = 4 /* all areas take at most 1 / this of the available memory */
};

static const uint64_t area_most_bytes = 1ull << 30, area_least_bytes = 1ull << 20;

const char *const aggressor_names[] = {"l1", "stream", "random", "all", NULL};

struct aggressor_sizes aggressor_choose_sizes(const struct bench_machine *machine,
                                              uint64_t llc_bytes, unsigned n)
{
    uint64_t l1_bytes = victim_cache_bytes(machine, 1), bytes = 2 * llc_bytes;
    uint64_t room = memory_available_bytes() / MEMORY_SHARE / (n ? n : 1);
    bytes = bytes > area_most_bytes ? area_most_bytes : bytes;
    bytes = bytes > room ? room : bytes;
    bytes = bytes < area_least_bytes ? area_least_bytes : bytes;
    return (struct aggressor_sizes){.area_bytes = memory_round_down(bytes, 4096),
                                    .l1_bytes = l1_bytes ? (size_t)l1_bytes / 2 : 16384};
}

int aggressor_map(struct aggressor *a, const struct aggressor_sizes *sizes, struct err *err)
{
    if (a->memory.base)
        return 0;
    return memory_map(&a->memory, sizes->area_bytes + sizes->l1_bytes, MEMORY_THP, err);
}

void aggressor_free(struct aggressor *a)
{
    memory_unmap(&a->memory);
}

void aggressor_fill(struct aggressor *a, const struct aggressor_sizes *sizes)
{
    if (!a->memory.base)
        return;
    memset(a->memory.base, 0, a->memory.bytes);
    const struct walk big = {.area = a->memory.base,
                             .lines = sizes->area_bytes / sizeof(*big.area)};
    const struct walk small = {.area = big.area + big.lines,
                               .lines = sizes->l1_bytes / sizeof(*small.area)};
    a->walks[AGGRESSOR_L1] = small;
    a->walks[AGGRESSOR_STREAM] = a->walks[AGGRESSOR_RANDOM] = big;
}

void aggressor_touch(struct aggressor *a, enum aggressor_kind kind)
{
    if (kind == AGGRESSOR_RANDOM)
        walk_random(&a->walks[kind], BURST);
    else
        walk_stream(&a->walks[kind], BURST);
    /* This thread is the only writer: a locked addition is not needed. */
    uint64_t touched = atomic_load_explicit(&a->touched, memory_order_relaxed);
    atomic_store_explicit(&a->touched, touched + BURST, memory_order_relaxed);
}

void aggressor_idle(struct aggressor *a)
{
    walk_idle(&a->walks[AGGRESSOR_L1], IDLE_STEPS);
}

void aggressor_sum(struct aggressor *a)
{
    if (!a->memory.base)
        return;
    a->found[AGGRESSOR_L1] = walk_sum(&a->walks[AGGRESSOR_L1]);
    a->found[AGGRESSOR_STREAM] = walk_sum(&a->walks[AGGRESSOR_STREAM]);
}

int aggressor_check(const struct aggressor *a, unsigned os_cpu, struct err *err)
{
    uint64_t small = a->walks[AGGRESSOR_L1].touches;
    uint64_t big = a->walks[AGGRESSOR_STREAM].touches + a->walks[AGGRESSOR_RANDOM].touches;
    if (a->found[AGGRESSOR_L1] == small && a->found[AGGRESSOR_STREAM] == big)
        return 0;
    return err_set(err, -EBADMSG,
                   "the aggressor of CPU %u touched %llu and %llu lines, but left %llu and %llu",
                   os_cpu, (unsigned long long)big, (unsigned long long)small,
                   (unsigned long long)a->found[AGGRESSOR_STREAM],
                   (unsigned long long)a->found[AGGRESSOR_L1]);
}
