#include "tests/lib/fixture_collective.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/registry.h"
#include "harness/engine/worker/shared.h"
#include "kernels/collective/collective_value.h"
#include "tests/lib/fixture_dims.h"

static struct fake_world *world;
static struct barrier barrier;

/* Buffers of all ranks, so that each rank can read the others'. */
static struct {
    double *send, *recv;
} buffers[FAKE_RANKS];

struct fake_team {
    struct peers *peers;
    unsigned process;
    struct collective_call call;
};

static struct fake_outcome *outcome_of(const struct collective *team)
{
    const struct fake_team *fake = team->impl;
    return &world->outcome[fake->process];
}

static int fake_probe(struct bench_ctx *ctx, unsigned *local)
{
    *local = world->local ? world->local : 1;
    if (world->probe_fails == (int)ctx->peers->rank)
        return err_set(ctx->err, -ENOTSUP, "no library here");
    return 0;
}

static int fake_open(struct collective *team, struct bench_ctx *ctx, size_t most_bytes)
{
    struct fake_team *fake = calloc(1, sizeof(*fake));
    assert(fake);
    *fake = (struct fake_team){.peers = ctx->peers, .process = ctx->peers->rank};
    team->impl = fake;
    team->local = world->local ? world->local : 1;
    team->ranks = ctx->peers->size * team->local;
    team->first = ctx->peers->rank * team->local;
    team->most_bytes =
        world->room_bytes && world->room_bytes < most_bytes ? world->room_bytes : most_bytes;
    int rc = world->open_fails == (int)ctx->peers->rank
                 ? err_set(ctx->err, -EIO, "the link is down")
                 : 0;
    return collective_agree(ctx->peers, rc, ctx->err);
}

static int fake_prepare(struct collective *team, const struct collective_call *call,
                        struct err *err)
{
    struct fake_team *fake = team->impl;
    (void)err;
    fake->call = *call;
    team->batch = world->batch;
    return 0;
}

static double each_us(const struct collective *team)
{
    const struct fake_team *fake = team->impl;
    double bytes_us = world->bytes_per_us > 0 ? (double)fake->call.bytes / world->bytes_per_us : 0;
    return world->each_us[fake->process] + bytes_us;
}

static int fake_run(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err)
{
    struct fake_outcome *outcome = outcome_of(team);
    (void)err;
    *elapsed_ns = (uint64_t)(1e3 * each_us(team) * (double)iters);
    outcome->iters[outcome->nruns++ % FAKE_RUNS] = iters;
    return 0;
}

static int fake_time_each(struct collective *team, unsigned iters, struct collective_time *times,
                          struct err *err)
{
    const float late_us = 40;
    struct fake_outcome *outcome = outcome_of(team);
    (void)err;
    outcome->timed[outcome->ntimed++ % FAKE_RUNS] = iters;
    for (unsigned k = 0; k < team->local; k++)
        for (unsigned i = 0; i < iters; i++) {
            float busy_us = 100 + (float)(i % 3) * 0.1f + (i == 7 ? 50 : 0);
            bool is_slow = world->slow_rank == (int)(team->first + k);
            times[k * iters + i] = (struct collective_time){
                .busy_us = is_slow ? busy_us - late_us : busy_us, .period_us = busy_us + 5};
        }
    return 0;
}

static void fill(const struct collective *team, const struct collective_call *call, unsigned rank,
                 unsigned repetition)
{
    size_t n = call->count * (collective_has_parts(call->op) ? team->ranks : 1);
    buffers[rank].send = malloc(n * sizeof(double));
    buffers[rank].recv = malloc(n * sizeof(double));
    assert(buffers[rank].send && buffers[rank].recv);
    for (size_t i = 0; i < n; i++)
        buffers[rank].send[i] = buffers[rank].recv[i] = NAN;
    for (size_t i = 0; i < collective_send_count(call, team->ranks, rank); i++)
        buffers[rank].send[i] = collective_sent(call, rank, team->ranks, i, repetition);
}

static double reduced_at(const struct collective_call *call, unsigned ranks, size_t i)
{
    double all = buffers[0].send[i];
    for (unsigned rank = 1; rank < ranks; rank++) {
        double one = buffers[rank].send[i];
        if (call->redop == COLLECTIVE_MIN)
            all = fmin(all, one);
        else if (call->redop == COLLECTIVE_MAX)
            all = fmax(all, one);
        else
            all = call->redop == COLLECTIVE_PROD ? all * one : all + one;
    }
    return call->redop == COLLECTIVE_AVG ? all / ranks : all;
}

/* Computes the operation by its definition from the send buffers of all ranks. */
static double result_at(const struct collective_call *call, unsigned ranks, unsigned rank, size_t i)
{
    size_t count = call->count;
    switch (call->op) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
        return reduced_at(call, ranks, i);
    case COLLECTIVE_REDUCESCATTER:
        return reduced_at(call, ranks, rank * count + i);
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_GATHER:
        return buffers[i / count].send[i % count];
    case COLLECTIVE_BROADCAST:
        return buffers[call->root].send[i];
    case COLLECTIVE_SCATTER:
        return buffers[call->root].send[rank * count + i];
    case COLLECTIVE_ALLTOALL:
        return buffers[i / count].send[rank * count + i % count];
    default:
        return buffers[rank ? rank - 1 : ranks - 1].send[i];
    }
}

static void operate(const struct collective *team, const struct collective_call *call,
                    unsigned rank)
{
    size_t n = collective_recv_count(call, team->ranks, rank);
    for (size_t i = 0; i < n; i++)
        buffers[rank].recv[i] = result_at(call, team->ranks, rank, i);
    if (world->wrong_rank == (int)rank && world->wrong_op == call->op && n)
        buffers[rank].recv[n / 2] += 1;
}

static void compare(const struct collective *team, const struct collective_call *call,
                    unsigned rank, unsigned repetition, struct collective_verdict *verdict)
{
    for (size_t i = 0; i < collective_recv_count(call, team->ranks, rank); i++) {
        double want = collective_expected(call, rank, team->ranks, i, repetition);
        double got = buffers[rank].recv[i];
        if (!collective_is_wrong(call, team->ranks, got, want))
            continue;
        verdict->wrong++;
        verdict->rank = rank;
        verdict->index = i;
        verdict->got = got;
        verdict->want = want;
    }
}

static int fake_check(struct collective *team, unsigned repetition,
                      struct collective_verdict *verdict, struct err *err)
{
    struct fake_team *fake = team->impl;
    *verdict = (struct collective_verdict){0};
    outcome_of(team)->nchecks++;
    for (unsigned rank = team->first; rank < team->first + team->local; rank++)
        fill(team, &fake->call, rank, repetition);
    int rc = peers_barrier(fake->peers, err);
    for (unsigned rank = team->first; rank < team->first + team->local; rank++) {
        operate(team, &fake->call, rank);
        compare(team, &fake->call, rank, repetition, verdict);
    }
    rc = rc ? rc : peers_barrier(fake->peers, err);
    for (unsigned rank = team->first; rank < team->first + team->local; rank++) {
        free(buffers[rank].recv);
        free(buffers[rank].send);
    }
    return rc;
}

static void fake_close(struct collective *team)
{
    free(team->impl);
    team->impl = NULL;
}

static const struct collective_ops fake_ops = {
    .name = "fake",
    .probe = fake_probe,
    .open = fake_open,
    .prepare = fake_prepare,
    .run = fake_run,
    .time_each = fake_time_each,
    .check = fake_check,
    .close = fake_close,
};

void fake_world_init(struct fake_world *made, unsigned processes, const char *const *pairs)
{
    for (unsigned p = 0; p < made->processes; p++)
        free(made->outcome[p].values);
    memset(made, 0, sizeof(*made));
    made->processes = processes;
    made->budget_s = 1;
    made->slow_rank = made->wrong_rank = made->probe_fails = made->open_fails = -1;
    made->pairs = pairs;
    for (unsigned p = 0; p < FAKE_RANKS; p++)
        made->each_us[p] = 20;
}

static void run_process(struct fake_outcome *outcome, struct peers *peers)
{
    const struct bench *bench = &bench_collective;
    static const struct bench_machine machine = {.ncpus = 1};
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    opts_set_defaults(bench->opts, params);
    for (const char *const *pair = world->pairs; *pair; pair++)
        if (opts_set_pair(bench->opts, params, *pair, &outcome->err))
            abort();
    struct bench_ctx ctx = {.params = params,
                            .worker = peers->rank,
                            .workers = peers->size,
                            .device = DEVICE_NCCL,
                            .err = &outcome->err,
                            .machine = &machine,
                            .peers = peers,
                            .budget_s = world->budget_s,
                            .values = outcome->values};
    outcome->setup = outcome->run = outcome->check = 1;
    outcome->probe = collective_probe_with(&ctx, &fake_ops);
    if (outcome->probe)
        return;
    outcome->setup = collective_setup_with(&ctx, &fake_ops);
    if (!outcome->setup)
        outcome->run = bench->scan(&ctx);
    if (!outcome->run)
        outcome->check = bench->check(&ctx);
    bench_close(bench, &ctx);
}

static void *process_main(void *arg)
{
    struct barrier_rank view = {0};
    struct peers peers;
    unsigned process = (unsigned)(uintptr_t)arg;
    barrier_join(&barrier, &view, process, world->processes, &peers);
    run_process(&world->outcome[process], &peers);
    return NULL;
}

void fake_world_run(struct fake_world *to_run)
{
    pthread_t thread[FAKE_RANKS];
    world = to_run;
    /* Barriers are numbered from 0 again. */
    atomic_store(&barrier.completed, 0);
    atomic_store(&barrier.arrived, 0);
    for (unsigned p = 0; p < world->processes; p++) {
        world->outcome[p].values = calloc(1, sizeof(*world->outcome[p].values));
        if (!world->outcome[p].values ||
            pthread_create(&thread[p], NULL, process_main, (void *)(uintptr_t)p))
            abort();
    }
    for (unsigned p = 0; p < world->processes; p++)
        (void)pthread_join(thread[p], NULL);
}

double fake_value(const struct fake_world *of, const char *metric, const char *key)
{
    const struct value_log *log = of->outcome[0].values;
    for (uint32_t i = 0; i < log->n; i++)
        if (strcmp(bench_collective.metrics[log->value[i].metric].name, metric) == 0 &&
            stands_at(&bench_collective, &log->value[i].dims, key))
            return log->value[i].value;
    return NAN;
}

size_t fake_count(const struct fake_world *of, const char *metric)
{
    const struct value_log *log = of->outcome[0].values;
    size_t n = 0;
    for (uint32_t i = 0; i < log->n; i++)
        n += strcmp(bench_collective.metrics[log->value[i].metric].name, metric) == 0;
    return n;
}
