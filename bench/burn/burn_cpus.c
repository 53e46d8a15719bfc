#include <errno.h>
#include <stdlib.h>

#include "bench/burn/burn.h"
#include "bench/common/memory.h"
#include "kernels/cpu/stream.h"

enum {
    ALIGN = 4096,
    STEPS = 1 << 20, /* of a chain, per copy of the whole array */
    PIECE = 1 << 17  /* doubles: 1 MiB. Even slow CPUs do both kinds of work in each bin */
};
static const size_t least_bytes = 4u << 20;

static double *array_of(const struct burn_cpus *cpus, unsigned cpu, unsigned which)
{
    return cpus->arrays + ((size_t)cpu * 2 + which) * cpus->elements;
}

/* The first word of a CPU's arrays: words differ between CPUs. */
static double first_of(unsigned cpu)
{
    return 1e9 * cpu;
}

static void fill(double *array, size_t n, double first)
{
    for (size_t i = 0; i < n; i++)
        array[i] = first + (double)i;
}

/* Fills both arrays, so that the burn-in itself causes no page faults. */
static void fill_both(void *arg, unsigned rank, unsigned n)
{
    struct burn_cpus *cpus = arg;
    (void)n;
    for (unsigned which = 0; which < 2; which++)
        fill(array_of(cpus, rank, which), cpus->elements, first_of(rank));
}

int burn_cpus_open(struct burn_cpus *cpus, struct bench_ctx *ctx)
{
    cpus->n = ctx->machine->ncpus;
    uint64_t bytes = 2 * memory_llc_bytes(ctx->machine) / cpus->n; /* exceeds the caches */
    const size_t narrays = 2 * (size_t)cpus->n;
    uint64_t most = memory_available_bytes() / 8 / narrays;
    bytes = bytes > least_bytes ? bytes : least_bytes;
    bytes = memory_round_down(bytes < most ? bytes : most, ALIGN);
    cpus->elements = bytes / sizeof(double);
    cpus->cpu = bench_array(ctx, cpus->n, sizeof(*cpus->cpu));
    cpus->arrays = bytes ? aligned_alloc(ALIGN, narrays * bytes) : NULL;
    if (!cpus->cpu || !cpus->arrays)
        return err_set(ctx->err, -ENOMEM, "too little memory for %u CPUs", cpus->n);
    int rc = bench_at_close(ctx, free, cpus->arrays);
    if (!rc)
        rc = team_open_all(&cpus->team, ctx);
    if (!rc)
        (void)team_run(&cpus->team, NULL, cpus->n, fill_both, cpus);
    return rc;
}

static void compute(struct burn_cpu *self, unsigned rank, uint64_t steps,
                    const struct burn_time *time)
{
    uint64_t seed = (uint64_t)rank * BUSY_CHAINS, start_ns = clock_now_ns();
    busy_begin(self->chain, seed);
    busy_run(self->chain, steps);
    uint64_t end_ns = clock_now_ns();
    unsigned bin = burn_bin(time, start_ns);
    self->steps[bin] += (double)steps * BUSY_CHAINS;
    self->steps_ns[bin] += (double)(end_ns - start_ns);
    if (!busy_is_right(self->chain, seed, steps) && !self->wrong.code)
        (void)err_set(&self->wrong, -EBADMSG, "its multiplications are wrong, %.0f s after start",
                      (double)(end_ns - time->start_ns) / 1e9);
}

/* Copies n words from `begin` on and checks each. The next copy reads the words written here. */
static void copy(struct burn_cpus *cpus, unsigned rank, unsigned from, size_t begin, size_t n)
{
    struct burn_cpu *self = &cpus->cpu[rank];
    const struct stream_isa *isa = stream_isa_best();
    const struct stream_args args = {
        .to = array_of(cpus, rank, !from) + begin, .x = array_of(cpus, rank, from) + begin, .n = n};
    enum stream_store store = isa->kernel[STREAM_COPY][STREAM_NT] ? STREAM_NT : STREAM_PLAIN;
    double first = first_of(rank) + (double)begin;
    size_t wrong = 0, at = 0;
    uint64_t start_ns = clock_now_ns();
    (void)isa->kernel[STREAM_COPY][store](&args);
    for (size_t i = 0; i < args.n; i++)
        wrong += args.to[i] != first + (double)i;
    uint64_t end_ns = clock_now_ns();
    unsigned bin = burn_bin(cpus->time, start_ns);
    self->bytes[bin] +=
        (double)args.n * (stream_op_bytes(STREAM_COPY) + stream_op_bytes(STREAM_READ));
    self->bytes_ns[bin] += (double)(end_ns - start_ns);
    if (!wrong)
        return;
    while (at + 1 < args.n && args.to[at] == first + (double)at)
        at++;
    if (!self->wrong.code)
        (void)err_set(&self->wrong, -EBADMSG,
                      "%zu words that it copied are wrong, %.0f s after start, the first at %p: "
                      "expected %a, read %a",
                      wrong, (double)(end_ns - cpus->time->start_ns) / 1e9, (void *)&args.to[at],
                      first + (double)at, args.to[at]);
    fill(args.to, args.n, first);
}

static void burn_cpu(void *arg, unsigned rank, unsigned n)
{
    struct burn_cpus *cpus = arg;
    (void)n;
    for (unsigned from = 0; clock_now_ns() < cpus->time->end_ns; from = !from)
        for (size_t begin = 0; begin < cpus->elements && clock_now_ns() < cpus->time->end_ns;
             begin += PIECE) {
            const size_t left = cpus->elements - begin, most = left < PIECE ? left : PIECE;
            compute(&cpus->cpu[rank], rank, STEPS * most / cpus->elements, cpus->time);
            copy(cpus, rank, from, begin, most);
        }
}

void burn_cpus_run(struct burn_cpus *cpus, const struct burn_time *time)
{
    cpus->time = time;
    (void)team_run(&cpus->team, NULL, cpus->n, burn_cpu, cpus);
}
