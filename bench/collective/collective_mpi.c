/*
 * MPI behind collective.h: collectives among the processes that mpirun or srun started, with
 * buffers in host memory. The MPI library chooses the transport (shared memory, TCP, InfiniBand).
 *
 * In place follows MPI: reduce-scatter leaves its part at the beginning of the buffer, and a
 * broadcast is always in place. Times are by the host's clock, around each call.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/collective/collective.h"
#include "bench/collective/collective_scan.h"
#include "bench/common/memory.h"
#include "harness/engine/contract/peers.h"
#include "harness/lib/sys/clock.h"
#include "kernels/collective/collective_value.h"

enum { ALIGNMENT = 1 << 21 };

struct mpi_team {
    const struct mpi_ops *ops;
    unsigned char *send, *recv; /* most_bytes each */
    struct collective_call call;
};

/* The types that MPI has, and their C types. */
#define TYPES(X)                                                                                   \
    X(INT8, int8_t)                                                                                \
    X(INT32, int32_t)                                                                              \
    X(INT64, int64_t)                                                                              \
    X(FLOAT, float)                                                                                \
    X(DOUBLE, double)                                                                              \
    X(UINT8, uint8_t)                                                                              \
    X(UINT32, uint32_t)                                                                            \
    X(UINT64, uint64_t)

#define TYPE_ENTRY(type, c_type) [COLLECTIVE_##type] = true,
static const bool has_type[COLLECTIVE_TYPES] = {TYPES(TYPE_ENTRY)};

static int mpi_probe(struct bench_ctx *ctx, unsigned *local)
{
    const struct collective_params *params = ctx->params;
    *local = 1;
    if (!ctx->peers->mpi)
        return err_set(
            ctx->err, -ENOTSUP,
            "no GPU for NCCL; for MPI on the CPUs start it as: mpirun -n 2 contend bench "
            "collective");
    if (params->graph)
        return err_set(ctx->err, -ENOTSUP, "graph=1 is of CUDA: MPI has no graphs");
    if (params->registered)
        return err_set(ctx->err, -ENOTSUP, "register=1 is of NCCL: MPI registers by itself");
    if (!has_type[params->type])
        return err_set(ctx->err, -ENOTSUP, "type=%s: MPI has no such type",
                       collective_type_names[params->type]);
    if (params->redop == COLLECTIVE_AVG)
        return err_set(ctx->err, -ENOTSUP, "redop=%s: MPI has no such reduction",
                       collective_redop_names[params->redop]);
    return 0;
}

static unsigned char *allocate_touched(size_t bytes)
{
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    unsigned char *buffer = aligned_alloc(ALIGNMENT, whole);
    if (buffer)
        memset(buffer, 0, whole);
    return buffer;
}

/* Lowers *bytes so that two buffers per rank fit, as if all ranks were on the smallest machine. */
static int limit_bytes(struct bench_ctx *ctx, size_t *bytes)
{
    size_t mine = memory_available_bytes() / 10 * 9 / 2 / ctx->peers->size;
    size_t *all = calloc(ctx->peers->size, sizeof(*all));
    int rc = all ? 0 : err_set(ctx->err, -ENOMEM, "cannot allocate a list of ranks");
    rc = collective_agree(ctx->peers, rc, ctx->err);
    if (!rc)
        rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    for (unsigned r = 0; r < ctx->peers->size && !rc; r++)
        *bytes = all[r] < *bytes ? all[r] : *bytes;
    free(all);
    return rc;
}

static int mpi_open(struct collective *team, struct bench_ctx *ctx, size_t most_bytes)
{
    struct mpi_team *t = calloc(1, sizeof(*t));
    team->impl = t;
    team->ranks = ctx->peers->size;
    team->first = ctx->peers->rank;
    team->local = 1;
    team->most_bytes = most_bytes;
    int rc = limit_bytes(ctx, &team->most_bytes);
    if (rc)
        return rc;
    most_bytes = team->most_bytes;
    if (t) {
        t->ops = ctx->peers->mpi;
        t->send = allocate_touched(most_bytes);
        t->recv = allocate_touched(most_bytes);
    }
    if (!t || !t->send || !t->recv)
        rc = err_set(ctx->err, -ENOMEM, "cannot allocate two buffers of %zu bytes", most_bytes);
    ctx->buffer = t ? t->recv : NULL;
    ctx->buffer_bytes = rc ? 0 : most_bytes;
    return collective_agree(ctx->peers, rc, ctx->err);
}

static int mpi_prepare(struct collective *team, const struct collective_call *call, struct err *err)
{
    struct mpi_team *t = team->impl;
    (void)err;
    t->call = *call;
    return 0;
}

static int repeat(struct mpi_team *t, uint64_t iters, struct err *err)
{
    int rc = 0;
    for (uint64_t i = 0; i < iters && !rc; i++)
        rc = t->ops->collective(&t->call, t->send, t->recv, err);
    return rc;
}

/* Zeroes the buffers, as sums in place grow to infinity, which is slow to add; then runs once. */
static int clear(struct mpi_team *t, struct err *err)
{
    memset(t->send, 0, t->call.bytes);
    memset(t->recv, 0, t->call.bytes);
    return repeat(t, 1, err);
}

static int mpi_run(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err)
{
    struct mpi_team *t = team->impl;
    int rc = clear(t, err);
    uint64_t start_ns = clock_now_ns();
    if (!rc)
        rc = repeat(t, iters, err);
    *elapsed_ns = clock_now_ns() - start_ns;
    return rc;
}

static int mpi_time_each(struct collective *team, unsigned iters, struct collective_time *times,
                         struct err *err)
{
    struct mpi_team *t = team->impl;
    int rc = clear(t, err);
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < iters && !rc; i++) {
        uint64_t begin_ns = clock_now_ns();
        rc = t->ops->collective(&t->call, t->send, t->recv, err);
        uint64_t end_ns = clock_now_ns();
        times[i].busy_us = (float)(end_ns - begin_ns) * 1e-3f;
        times[i].period_us = (float)(end_ns - (last_ns ? last_ns : begin_ns)) * 1e-3f;
        last_ns = end_ns;
    }
    return rc;
}

static void put(unsigned char *buffer, enum collective_type type, size_t index, unsigned value)
{
#define PUT(type, c_type)                                                                          \
    case COLLECTIVE_##type:                                                                        \
        ((c_type *)buffer)[index] = (c_type)value;                                                 \
        return;
    switch (type) {
        TYPES(PUT)
    default:
        return;
    }
}

static double get(const unsigned char *buffer, enum collective_type type, size_t index)
{
#define GET(type, c_type)                                                                          \
    case COLLECTIVE_##type:                                                                        \
        return (double)((const c_type *)buffer)[index];
    switch (type) {
        TYPES(GET)
    default:
        return NAN;
    }
}

/* In place: this rank's part of the whole buffer. */
static unsigned char *own_part(const struct collective *team)
{
    const struct mpi_team *t = team->impl;
    return t->recv + team->first * t->call.count * collective_type_bytes(t->call.type);
}

/* This rank's input. In place, and always for a broadcast, it lies in the result's buffer. */
static unsigned char *input_of(const struct collective *team)
{
    const struct mpi_team *t = team->impl;
    const struct collective_call *call = &t->call;
    bool is_root = team->first == call->root;
    if (call->op == COLLECTIVE_BROADCAST)
        return t->recv;
    if (!call->in_place)
        return t->send;
    bool at_place = call->op == COLLECTIVE_ALLGATHER || (call->op == COLLECTIVE_GATHER && is_root);
    return at_place ? own_part(team) : t->recv;
}

static unsigned char *output_of(const struct collective *team)
{
    const struct mpi_team *t = team->impl;
    bool at_place = t->call.op == COLLECTIVE_SCATTER && t->call.in_place;
    return at_place && team->first == t->call.root ? own_part(team) : t->recv;
}

static void fill(const struct collective *team, unsigned repetition)
{
    const struct mpi_team *t = team->impl;
    const struct collective_call *call = &t->call;
    unsigned char *input = input_of(team);
    memset(t->send, 0xff, call->bytes);
    memset(t->recv, 0xff, call->bytes);
    size_t n = collective_send_count(call, team->ranks, team->first);
    for (size_t i = 0; i < n; i++)
        put(input, call->type, i, collective_sent(call, team->first, team->ranks, i, repetition));
}

static int mpi_check(struct collective *team, unsigned repetition,
                     struct collective_verdict *verdict, struct err *err)
{
    struct mpi_team *t = team->impl;
    const struct collective_call *call = &t->call;
    *verdict = (struct collective_verdict){.rank = team->first};
    fill(team, repetition);
    int rc = repeat(t, 1, err);
    size_t n = rc ? 0 : collective_recv_count(call, team->ranks, team->first);
    for (size_t i = 0; i < n; i++) {
        double want = collective_expected(call, team->first, team->ranks, i, repetition);
        double got = get(output_of(team), call->type, i);
        if (!collective_is_wrong(call, team->ranks, got, want))
            continue;
        if (verdict->wrong++)
            continue;
        verdict->index = i;
        verdict->got = got;
        verdict->want = want;
    }
    return rc;
}

static void mpi_close(struct collective *team)
{
    struct mpi_team *t = team->impl;
    team->impl = NULL;
    if (!t)
        return;
    free(t->recv);
    free(t->send);
    free(t);
}

const struct collective_ops collective_mpi_ops = {
    .name = "mpi",
    .probe = mpi_probe,
    .open = mpi_open,
    .prepare = mpi_prepare,
    .run = mpi_run,
    .time_each = mpi_time_each,
    .check = mpi_check,
    .close = mpi_close,
};
