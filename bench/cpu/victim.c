#include "bench/cpu/victim.h"

#include <errno.h>
#include <string.h>

#include "kernels/cpu/mix64.h"
#include "kernels/prep/prep_isa.h"
#include "kernels/prep/prep_ref.h"

enum {
    CHUNK_LOADS = 16 * CHASE_STEP, /* 5 us in the L2, 150 us in memory */
    ROWS = 4096,                   /* of pipeline's batch, by default */
    COLS = 512,
    BLOCK = 64,
    WINDOW = 32,
    HOP = 4,
    COV_COLS = 128
};

const char *const victim_names[] = {"l2", "l3", "prep", NULL};

uint64_t victim_cache_bytes(const struct bench_machine *machine, int level)
{
    for (unsigned i = 0; i < machine->ncaches; i++)
        if (machine->caches[i].level == level)
            return machine->caches[i].size_bytes;
    return 0;
}

struct victim_range victim_l3_range(const struct bench_machine *machine)
{
    uint64_t l2_bytes = victim_cache_bytes(machine, 2), most = victim_cache_bytes(machine, 3) / 2;
    if (!l2_bytes || !most)
        return (struct victim_range){0, 0};
    return (struct victim_range){2 * l2_bytes < most ? 2 * l2_bytes : most, most};
}

static void set_lines(struct victim *v, uint64_t bytes)
{
    v->lines = (size_t)(bytes / CHASE_LINE_BYTES);
    v->bytes = v->lines * CHASE_LINE_BYTES;
    v->chunks = (double)v->lines / CHUNK_LOADS;
    v->lap = (v->lines - 1) / CHUNK_LOADS + 1;
}

static int init_chase(struct victim *v, uint64_t bytes, uint64_t most, const struct bench_ctx *ctx)
{
    if (bytes == 0)
        return err_set(ctx->err, -ENOTSUP, "victim %s: no such cache is reported here",
                       victim_names[v->kind]);
    set_lines(v, bytes);
    return memory_map(&v->memory, most, MEMORY_THP, ctx->err);
}

/* The arrays of prep_out and the source, each from a line of its own. */
static size_t lay_out_prep(struct victim *v)
{
    size_t windows = prep_windows(&v->prep), blocks = ROWS / BLOCK, used = 0;
    const struct {
        float **array;
        size_t count;
    } arrays[] = {
        {&v->source, (size_t)ROWS * COLS},
        {&v->out.mean, blocks * COLS},
        {&v->out.scale, blocks * COLS},
        {&v->out.transformed, (size_t)ROWS * COLS},
        {&v->out.features, ROWS * windows * PREP_WINDOW_FEATURES},
        {&v->out.covariance, blocks * COV_COLS * COV_COLS},
        {&v->out.smoothed, (size_t)ROWS * COLS},
    };
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        *arrays[i].array = (float *)((char *)v->memory.base + used);
        used += (arrays[i].count * sizeof(float) + 63) / 64 * 64;
    }
    return used;
}

static int init_prep(struct victim *v, const struct bench_ctx *ctx)
{
    v->prep = (struct prep_params){.rows = BLOCK,
                                   .cols = COLS,
                                   .block = BLOCK,
                                   .window = WINDOW,
                                   .hop = HOP,
                                   .cov_cols = COV_COLS,
                                   .lambda = 0.5f,
                                   .alpha = 0.1f,
                                   .threads = 1,
                                   .isa = prep_isa_best()};
    v->chunks = 1;
    v->lap = ROWS / BLOCK;
    v->bytes = lay_out_prep(v);
    int rc = memory_map(&v->memory, v->bytes, MEMORY_THP, ctx->err);
    if (!rc)
        (void)lay_out_prep(v);
    return rc;
}

int victim_init(struct victim *victim, enum victim_kind kind, uint64_t bytes,
                const struct bench_ctx *ctx)
{
    struct victim_range range = victim_l3_range(ctx->machine);
    *victim = (struct victim){.kind = kind, .seed = ctx->seed};
    if (kind == VICTIM_PREP)
        return init_prep(victim, ctx);
    if (kind == VICTIM_L2)
        range.least = range.most = victim_cache_bytes(ctx->machine, 2) / 2;
    else if (bytes)
        range.least = range.most = bytes;
    return init_chase(victim, range.least, range.most, ctx);
}

void victim_free(struct victim *victim)
{
    memory_unmap(&victim->memory);
}

/* Values in [-3, 3). */
static float source_value(const struct victim *v, size_t index)
{
    return (float)(mix64(v->seed ^ mix64(index)) >> 40) * 6 * 0x1p-24f - 3;
}

void victim_resize(struct victim *v, uint64_t bytes)
{
    set_lines(v, bytes);
    chase_grow(v->memory.base, 0, v->lines, v->seed);
    v->at = v->memory.base;
    v->done = 0;
}

void victim_fill(struct victim *v)
{
    if (v->kind != VICTIM_PREP) {
        victim_resize(v, v->bytes);
        return;
    }
    memset(v->memory.base, 0xff, v->memory.bytes); /* NaN: what is not written shows */
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        v->source[i] = source_value(v, i);
}

/* The part of the batch's arrays that belongs to a block. */
static struct prep_out block_out(const struct victim *v, size_t block)
{
    size_t row = block * BLOCK, windows = prep_windows(&v->prep);
    return (struct prep_out){
        .mean = v->out.mean + block * COLS,
        .scale = v->out.scale + block * COLS,
        .transformed = v->out.transformed + row * COLS,
        .features = v->out.features + row * windows * PREP_WINDOW_FEATURES,
        .covariance = v->out.covariance + block * COV_COLS * COV_COLS,
        .smoothed = v->out.smoothed + row * COLS,
    };
}

void victim_run_chunk(struct victim *v)
{
    if (v->kind == VICTIM_PREP) {
        size_t block = v->done % (ROWS / BLOCK);
        struct prep_out out = block_out(v, block);
        prep_run(&v->prep, v->source + block * BLOCK * COLS, &out);
    } else {
        v->at = chase_walk(v->at, CHUNK_LOADS);
    }
    v->done++;
}

/* From line 0, as many loads as were made, modulo a lap. */
static int check_chase(const struct victim *v, struct err *err)
{
    struct chase_line *base = v->memory.base, *at = base;
    if (!chase_is_cycle(base, v->lines))
        return err_set(err, -EBADMSG, "the chain of victim %s is no longer one cycle",
                       victim_names[v->kind]);
    for (uint64_t left = v->done * CHUNK_LOADS % v->lines; left; left--)
        at = at->next;
    if (at != v->at)
        return err_set(err, -EBADMSG, "victim %s is at line %td, not %td", victim_names[v->kind],
                       v->at - base, at - base);
    return 0;
}

int victim_check(struct victim *v, struct err *err)
{
    if (v->kind != VICTIM_PREP)
        return check_chase(v, err);
    struct prep_diff diff;
    const struct prep_ref_sample all = {0, 1};
    for (size_t block = 0; block < ROWS / BLOCK && block < v->done; block += ROWS / BLOCK / 4) {
        struct prep_out out = block_out(v, block);
        if (prep_ref_check_block(&v->prep, v->source + block * BLOCK * COLS, &out, 0, &all, &diff))
            return err_set(err, -EBADMSG, "block %zu: %s[%zu][%zu] is %.9g, not %.9g +- %.2g",
                           block, diff.stage, diff.row, diff.col, diff.got, diff.want, diff.limit);
    }
    return 0;
}
