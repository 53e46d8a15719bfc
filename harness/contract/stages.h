/*
 * Where the time of a step went, as the step itself tells: stages that follow each other, each
 * timed from the end of the one before, so that together they are the step.
 *
 *   stage_start(ctx->stages);                 the step begins
 *   read();    stage_mark(ctx->stages, READ);     the time since then was this stage's
 *   compute(); stage_mark(ctx->stages, COMPUTE);
 *   stage_mark(ctx->stages, OTHER);           the step ends
 *
 * One clock read a stage and one a step. NULL, and a clock that is off, cost a comparison: the
 * harness turns it off where a stage takes less than CLOCK_MIN_INTERVAL_CALLS reads in the mean.
 */
#ifndef CONTEND_CONTRACT_STAGES_H
#define CONTEND_CONTRACT_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/sys/clock.h"

enum { BENCH_STAGES = 16 };

/* The resource that a stage needs, so the meaning of a step that spends most of its time there. */
enum stage_kind {
    STAGE_CPU,   /* the CPUs work, with their memory */
    STAGE_COPY,  /* the CPU waits for bytes on their way to a device, or carries them itself */
    STAGE_GPU,   /* the CPU waits for the device's work on its own batch */
    STAGE_WAIT,  /* the CPU waits for anything else: others on the device, other workers, a CPU */
    STAGE_OTHER, /* what is between the stages */
    STAGE_KINDS
};

/* A table of them ends with name NULL; at most BENCH_STAGES. */
struct bench_stage {
    const char *name, *key; /* "copy", "stage=copy" */
    enum stage_kind kind;
};
#define BENCH_STAGE(its_name, its_kind)                                                            \
    {                                                                                              \
        .name = (its_name), .key = "stage=" its_name, .kind = (its_kind)                           \
    }

/* Clock of the calls of one step; used by the thread that calls it. */
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

/* The time since the last mark, or the start, was `stage`'s. Returns it; 0 where nobody asks. */
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

/* So much of what was `from`'s was `to`'s, as is found out later. Returns what was moved. */
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

/* The stages of one measured step; enough digits for a figure. */
struct stage_step {
    float ns[BENCH_STAGES];
};

/* Over the measured steps of a worker that ended. */
struct stage_sums {
    uint64_t iters; /* of those steps; 0: none was timed */
    uint64_t ns[BENCH_STAGES];
    double cost_ns;   /* that the reads of the clock took, about */
    uint32_t refused; /* 1: steps too short for it */
};

#endif
