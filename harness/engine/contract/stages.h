/*
 * Stages: a step records where its own time went. Each stage is timed from the end of the stage
 * before it, so that the stages add up to the step.
 *
 *   stage_start(ctx->stages);                     the step begins
 *   read();    stage_mark(ctx->stages, READ);     the time since stage_start counts as READ
 *   compute(); stage_mark(ctx->stages, COMPUTE);
 *   stage_mark(ctx->stages, OTHER);               the step ends
 *
 * Cost: one clock read per stage and one per step. NULL, or a clock that is off, costs a
 * comparison. The harness turns the clock off if the mean stage takes less time than
 * CLOCK_MIN_INTERVAL_CALLS clock reads.
 */
#ifndef CONTEND_ENGINE_CONTRACT_STAGES_H
#define CONTEND_ENGINE_CONTRACT_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/lib/sys/clock.h"

enum { BENCH_STAGES = 16 };

/* The resource that a stage needs: it limits a step that spends most of its time in the stage. */
enum stage_kind {
    STAGE_CPU,   /* work of the CPUs and their memory */
    STAGE_COPY,  /* the CPU copies bytes to a device, or waits for their transfer */
    STAGE_GPU,   /* the CPU waits for the device's work on its own batch */
    STAGE_WAIT,  /* the CPU waits for other users of the device, other workers, or a free CPU */
    STAGE_OTHER, /* time between the stages */
    STAGE_KINDS
};

/* A table of stages ends with name NULL; at most BENCH_STAGES. */
struct bench_stage {
    const char *name, *key; /* "copy", "stage=copy" */
    enum stage_kind kind;
};
#define BENCH_STAGE(its_name, its_kind)                                                            \
    {                                                                                              \
        .name = (its_name), .key = "stage=" its_name, .kind = (its_kind)                           \
    }

/* Clock of one step's stages. Only the thread that runs the step may use it. */
struct stage_clock {
    bool on;
    uint64_t last_ns; /* the end of the stage before */
    uint64_t reads;
    uint64_t ns[BENCH_STAGES];
};

static inline void stage_start(struct stage_clock *clock)
{
    if (!clock || !clock->on)
        return;
    clock->last_ns = clock_now_ns();
    clock->reads++;
}

/* Counts the time since the last mark or start as `stage`. Returns it; 0 if the clock is off. */
static inline uint64_t stage_mark(struct stage_clock *clock, unsigned stage)
{
    if (!clock || !clock->on)
        return 0;
    uint64_t now_ns = clock_now_ns(), took_ns = now_ns - clock->last_ns;
    clock->last_ns = now_ns;
    clock->reads++;
    clock->ns[stage] += took_ns;
    return took_ns;
}

/* Moves up to `ns` of time counted as `from` to `to`. Returns the time moved; 0 if off. */
static inline uint64_t stage_move(struct stage_clock *clock, unsigned from, unsigned to,
                                  uint64_t ns)
{
    if (!clock || !clock->on)
        return 0;
    ns = ns < clock->ns[from] ? ns : clock->ns[from];
    clock->ns[from] -= ns;
    clock->ns[to] += ns;
    return ns;
}

/* The stages of one measured step; float is precise enough for a figure. */
struct stage_step {
    float ns[BENCH_STAGES];
};

/* Sums over the completed measured steps of a worker. */
struct stage_sums {
    uint64_t iters; /* iterations in these steps; 0: no step was timed */
    uint64_t ns[BENCH_STAGES];
    double cost_ns;   /* estimated time of the clock reads */
    uint32_t refused; /* 1: not timed, as the steps are too short */
};

#endif
