#include "bench/feed/pattern.h"

#include <errno.h>
#include <stdlib.h>

const char *const pattern_names[] = {"whole", "ddp", "zero", "fsdp", "accumulate", NULL};

/* A call with `bytes`, rounded up so that each rank has the same number of elements. */
static struct collective_call call_of(enum collective_op op, uint64_t bytes, unsigned ranks)
{
    bool has_parts = collective_has_parts(op);
    size_t parts = has_parts ? ranks : 1;
    size_t count = (bytes / sizeof(float) + parts - 1) / parts;
    return (struct collective_call){
        .op = op, .type = COLLECTIVE_FLOAT, .count = count, .bytes = count * parts * sizeof(float)};
}

static void add(struct pattern_calls *calls, enum collective_op op, uint64_t bytes, unsigned ranks)
{
    calls->call[calls->n++] = call_of(op, bytes, ranks);
}

static uint64_t parts_of(const struct pattern_params *params)
{
    uint64_t buckets = (params->gradient + params->bucket - 1) / params->bucket;
    if (params->pattern == PATTERN_WHOLE)
        return 1;
    return params->pattern == PATTERN_FSDP ? params->layers : buckets;
}

/* Bytes of a layer or bucket. Layers are equal; the last layers may have one element less. */
static uint64_t part_bytes(const struct pattern_params *params, uint64_t part, uint64_t parts)
{
    uint64_t elements = params->gradient / sizeof(float);
    if (params->pattern == PATTERN_FSDP)
        return (elements / parts + (part < elements % parts)) * sizeof(float);
    if (params->pattern == PATTERN_WHOLE)
        return params->gradient;
    uint64_t left = params->gradient - part * params->bucket;
    return left < params->bucket ? left : params->bucket;
}

static void add_parts(const struct pattern_params *params, enum collective_op op, unsigned ranks,
                      struct pattern_calls *calls)
{
    uint64_t parts = parts_of(params);
    for (uint64_t i = 0; i < parts; i++)
        add(calls, op, part_bytes(params, i, parts), ranks);
}

static void add_backward(const struct pattern_params *params, unsigned ranks,
                         struct pattern_calls *calls)
{
    uint64_t parts = parts_of(params);
    for (uint64_t i = parts; i > 0; i--) {
        add(calls, COLLECTIVE_ALLGATHER, part_bytes(params, i - 1, parts), ranks);
        add(calls, COLLECTIVE_REDUCESCATTER, part_bytes(params, i - 1, parts), ranks);
    }
}

int pattern_make(const struct pattern_params *params, unsigned ranks, struct pattern_calls *calls,
                 struct err *err)
{
    enum { EACH_MOST = 3 }; /* most calls of a part */
    uint64_t most = parts_of(params) * EACH_MOST;
    *calls = (struct pattern_calls){0};
    if (most > PATTERN_CALLS_MOST)
        return err_set(err, -E2BIG, "more than %d collectives a step: take larger buckets",
                       PATTERN_CALLS_MOST);
    calls->call = calloc(most, sizeof(*calls->call));
    if (!calls->call)
        return err_set(err, -ENOMEM, "no memory for the collectives of a step");
    switch ((enum pattern)params->pattern) {
    case PATTERN_ZERO:
        add_parts(params, COLLECTIVE_REDUCESCATTER, ranks, calls);
        add_parts(params, COLLECTIVE_ALLGATHER, ranks, calls);
        break;
    case PATTERN_FSDP:
        add_parts(params, COLLECTIVE_ALLGATHER, ranks, calls);
        add_backward(params, ranks, calls);
        break;
    default:
        add_parts(params, COLLECTIVE_ALLREDUCE, ranks, calls);
    }
    return 0;
}

void pattern_free(struct pattern_calls *calls)
{
    free(calls->call);
    *calls = (struct pattern_calls){0};
}

double pattern_sent(const struct collective_call *call, unsigned ranks)
{
    double times = call->op == COLLECTIVE_ALLREDUCE ? 2 : 1;
    return times * (ranks - 1) / ranks * (double)call->bytes;
}
