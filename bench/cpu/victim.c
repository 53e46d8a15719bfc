#include "bench/cpu/victim.h"

#include <errno.h>

const char *const victim_names[] = {"l1", "l2", "l3", "all", NULL};

uint64_t victim_cache_bytes(const struct bench_machine *machine, int level)
{
    for (unsigned i = 0; i < machine->ncaches; i++)
        if (machine->caches[i].level == level)
            return machine->caches[i].size_bytes;
    return 0;
}

struct victim_range victim_range(const struct bench_machine *machine, enum victim_kind kind)
{
    uint64_t l2_bytes = victim_cache_bytes(machine, 2);
    uint64_t most = victim_cache_bytes(machine, (int)kind + 1) / 2;
    if (kind != VICTIM_L3)
        return (struct victim_range){most, most};
    if (!l2_bytes || !most)
        return (struct victim_range){0, 0};
    return (struct victim_range){2 * l2_bytes < most ? 2 * l2_bytes : most, most};
}

static void set_lines(struct victim *v, uint64_t bytes)
{
    v->lines = (size_t)(bytes / CHASE_LINE_BYTES);
    v->bytes = v->lines * CHASE_LINE_BYTES;
    v->chunks = (double)v->lines / VICTIM_CHUNK_LOADS;
    v->lap = (v->lines - 1) / VICTIM_CHUNK_LOADS + 1;
}

int victim_init(struct victim *victim, enum victim_kind kind, uint64_t bytes,
                const struct bench_ctx *ctx)
{
    struct victim_range range = victim_range(ctx->machine, kind);
    *victim = (struct victim){.kind = kind, .ctx = ctx, .seed = ctx->seed};
    if (kind == VICTIM_L3 && bytes)
        range.least = range.most = bytes;
    if (range.least == 0)
        return err_set(ctx->err, -ENOTSUP, "victim %s: no such cache is reported here",
                       victim_names[kind]);
    set_lines(victim, range.least);
    return memory_map(&victim->memory, range.most, MEMORY_THP, ctx->err);
}

void victim_free(struct victim *victim)
{
    memory_unmap(&victim->memory);
}

void victim_resize(struct victim *v, uint64_t bytes)
{
    set_lines(v, bytes);
    chase_grow(v->memory.base, 0, v->lines, v->seed);
    v->at = v->memory.base;
    v->done = 0;
}

void victim_run_chunk(struct victim *v)
{
    v->at = chase_walk(v->at, VICTIM_CHUNK_LOADS);
    v->done++;
    bench_progress(v->ctx, 1);
}

/* Repeats the loads from line 0, modulo a lap. */
int victim_check(const struct victim *v, struct err *err)
{
    struct chase_line *base = v->memory.base, *at = base;
    if (!chase_is_cycle(base, v->lines))
        return err_set(err, -EBADMSG, "the chain of victim %s is no longer one cycle",
                       victim_names[v->kind]);
    for (uint64_t left = v->done * VICTIM_CHUNK_LOADS % v->lines; left; left--)
        at = at->next;
    if (at != v->at)
        return err_set(err, -EBADMSG, "victim %s is at line %td, not %td", victim_names[v->kind],
                       v->at - base, at - base);
    return 0;
}
