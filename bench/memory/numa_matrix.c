/*
 * Bandwidth and idle latency from every node's CPUs to every node's memory.
 *
 * Each node's block of memory is bound to the node (mbind) before it is touched; move_pages then
 * tells where its pages lie. The first half of a block holds a chain of dependent loads; vector
 * loads read the second half.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, medians of the repetitions: `node_bandwidth`, bytes read by
 * all CPUs of node `from` / time, GB/s (1e9); `node_latency`, ns per load of the chain by the first
 * CPU of `from` while its other CPUs are idle; `pages_on_node`, the share of the block's pages that
 * lie on `to`. Keys "from=0;to=1" are the system's node numbers (`pages_on_node`: "to=1").
 * **Source** Intel Memory Latency Checker's matrices; kernels/cpu/stream.h and kernels/cpu/chase.h.
 * **Limits** Only nodes whose memory the worker may use, and CPUs that it is bound to: a node
 * without CPUs is never `from`. Blocks are small if a node has little free memory; if half a block
 * is less than twice the caches that `from` reaches, its values are noisy. Huge pages if available;
 * mem_latency explains which TLB misses remain.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/memory.h"
#include "bench/common/memory_node.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/stream.h"

enum {
    NODES_MAX = 64,
    REPETITIONS = 5,
    GRAIN = 512 /* doubles: parts of threads meet at multiples of 4 KiB */
};

static const double filler = 1.5;

struct matrix_params {
    uint64_t size;
};

static const struct opt matrix_opts[] = {
    OPT_SIZE("size", matrix_params, size, NULL, 1 << 20, 1ull << 40, "BYTES",
             "bytes on each node; unset: four times the caches, if a quarter of the node allows"),
    {.name = NULL},
};

enum { BY_FROM = 1, BY_TO };
static const struct bench_dim matrix_dims[] = {
    [BY_FROM] = {"from", DIM_NODE}, [BY_TO] = {"to", DIM_NODE}, {.name = NULL}};

enum { NODE_BANDWIDTH, NODE_LATENCY, PAGES_ON_NODE, NODE_BYTES };
static const struct bench_metric matrix_metrics[] = {
    [NODE_BANDWIDTH] = {"node_bandwidth", "GB/s", "higher", .gating = true},
    [NODE_LATENCY] = {"node_latency", "ns", "lower", .gating = true},
    [PAGES_ON_NODE] = {"pages_on_node", "ratio", "higher", .hidden = true},
    [NODE_BYTES] = {"node_bytes", "B", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure matrix_figures[] = {
    {.name = "numa_bandwidth",
     .kind = FIGURE_HEAT,
     .metric = "node_bandwidth",
     .title = "bandwidth from the CPUs of one NUMA node to the memory of each",
     .how = "GB/s read by all CPUs of one node, the others idle",
     .x = {"memory of node (number)", BY_TO},
     .y = {"CPUs of node (number)", BY_FROM},
     .colours = "bandwidth (GB/s)",
     .digits = 1},
    {.name = "numa_latency",
     .kind = FIGURE_HEAT,
     .metric = "node_latency",
     .title = "latency from a CPU of one NUMA node to the memory of each",
     .how = "ns a load, all other CPUs idle",
     .x = {"memory of node (number)", BY_TO},
     .y = {"CPUs of node (number)", BY_FROM},
     .colours = "latency of a load (ns)"},
    {.name = NULL},
};

struct node {
    unsigned os_node;
    struct memory_block block; /* first half: the chain; second half: the doubles to read */
    unsigned *cpus;            /* indices in the team; points into matrix.members */
    unsigned ncpus;
};

struct matrix {
    struct team team;
    struct node nodes[NODES_MAX];
    unsigned nnodes;
    unsigned *members; /* all nodes' cpus */
    double *sums;      /* by rank */
    const struct stream_isa *isa;
    uint64_t seed, slice_ns, min_ns;
    double worst_sum; /* largest relative error of a read's sum */

    const struct node *to; /* of the current job */
    uint64_t passes;
    double latency_ns;
};

static size_t chain_lines(const struct node *node)
{
    return node->block.bytes / 2 / CHASE_LINE_BYTES;
}

static double *values_of(const struct node *node)
{
    return (double *)(void *)((char *)node->block.base + node->block.bytes / 2);
}

static size_t value_count(const struct node *node)
{
    return node->block.bytes / 2 / sizeof(double);
}

static int matrix_probe(struct bench_ctx *ctx)
{
    const struct matrix_params *params = ctx->params;
    if (ctx->machine->nnodes == 0)
        return err_set(ctx->err, -ENOTSUP, "the system names no NUMA node");
    if (memory_node_try(ctx->machine->nodes[0].os_node, ctx->err)) {
        if (ctx->err)
            ctx->err->code = -ENOTSUP;
        return -ENOTSUP;
    }
    return memory_check_fits(params->size * ctx->machine->nnodes, "numa_matrix", ctx->err);
}

/* Bytes of the last-level caches that one node's CPUs reach, the largest of all nodes. */
static uint64_t most_reached(const struct matrix *matrix, const struct bench_machine *machine)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < matrix->nnodes; i++) {
        const struct node *node = &matrix->nodes[i];
        uint64_t reached = memory_llc_reached(machine, node->cpus, node->ncpus);
        most = reached > most ? reached : most;
    }
    return most;
}

/* Chooses the size of a node's block. The memory is bound: a full node would end the process. */
static int choose_bytes(const struct matrix *matrix, const struct bench_ctx *ctx, unsigned os_node,
                        uint64_t *bytes)
{
    const struct matrix_params *params = ctx->params;
    const uint64_t smallest = 4 << 20, usual = 1 << 30;
    uint64_t needed = 4 * most_reached(matrix, ctx->machine);
    uint64_t largest = needed > usual ? needed : usual;
    uint64_t node_free = memory_node_free_bytes(os_node), most = memory_available_bytes() / 4;
    most /= ctx->machine->nnodes;
    if (node_free && node_free / 4 < most)
        most = node_free / 4;
    uint64_t want = 4 * memory_llc_bytes(ctx->machine);
    want = want < largest ? want : largest;
    want = want < most ? want : most;
    want = want > smallest ? want : smallest;
    *bytes = params->size ? params->size : want;
    if (node_free && *bytes > node_free / 10 * 9)
        return err_set(ctx->err, -ENOMEM, "%s on node %u, but only 9/10 of %s can be taken",
                       units_bytes(*bytes), os_node, units_bytes(node_free));
    return 0;
}

static void touch(void *arg, unsigned rank, unsigned n)
{
    const struct node *node = arg;
    struct team_part part = team_part_of(value_count(node), GRAIN, rank, n);
    for (size_t i = part.begin; i < part.end; i++)
        values_of(node)[i] = filler;
}

static void link_chain(void *arg)
{
    const struct matrix *matrix = arg;
    chase_grow(matrix->to->block.base, 0, chain_lines(matrix->to), matrix->seed);
}

static int open_node(struct matrix *matrix, struct node *node, struct bench_ctx *ctx)
{
    uint64_t bytes;
    int rc = choose_bytes(matrix, ctx, node->os_node, &bytes);
    if (!rc)
        rc = memory_open(ctx, &node->block, bytes, MEMORY_THP);
    if (!rc)
        rc = memory_node_bind(&node->block, node->os_node, ctx->err);
    if (rc)
        return rc;
    matrix->to = node;
    (void)team_run(&matrix->team, NULL, matrix->team.n, touch, node);
    team_call(&matrix->team, 0, link_chain, matrix);
    return 0;
}

/* CPUs whose node the system does not name belong to the node if it is the only one. */
static bool belongs(const struct bench_machine *machine, unsigned cpu, unsigned os_node)
{
    int of = machine->cpus[cpu].os_node;
    return of < 0 ? machine->nnodes == 1 : (unsigned)of == os_node;
}

static void assign_cpus(struct matrix *matrix, const struct bench_machine *machine)
{
    unsigned *next = matrix->members;
    matrix->nnodes = machine->nnodes < NODES_MAX ? machine->nnodes : NODES_MAX;
    for (unsigned i = 0; i < matrix->nnodes; i++) {
        struct node *node = &matrix->nodes[i];
        node->os_node = machine->nodes[i].os_node;
        node->cpus = next;
        for (unsigned cpu = 0; cpu < machine->ncpus; cpu++)
            if (belongs(machine, cpu, node->os_node))
                node->cpus[node->ncpus++] = cpu;
        next += node->ncpus;
    }
}

static int matrix_setup(struct bench_ctx *ctx)
{
    unsigned ncpus = ctx->machine->ncpus;
    struct matrix *matrix = ctx->state;
    matrix->seed = ctx->seed;
    matrix->isa = stream_isa_best();
    matrix->min_ns = CLOCK_MIN_INTERVAL_CALLS * clock_cost_ns();
    matrix->members = bench_array(ctx, ncpus, sizeof(*matrix->members));
    matrix->sums = bench_array(ctx, ncpus, sizeof(*matrix->sums));
    if (!matrix->members || !matrix->sums)
        return -ENOMEM;
    assign_cpus(matrix, ctx->machine);
    int rc = team_open_all(&matrix->team, ctx);
    for (unsigned i = 0; i < matrix->nnodes && !rc; i++)
        rc = open_node(matrix, &matrix->nodes[i], ctx);
    return rc;
}

static void read_part(void *arg, unsigned rank, unsigned n)
{
    struct matrix *matrix = arg;
    struct team_part part = team_part_of(value_count(matrix->to), GRAIN, rank, n);
    const struct stream_args args = {.x = values_of(matrix->to) + part.begin,
                                     .n = part.end - part.begin};
    double sum = 0;
    for (uint64_t i = 0; i < matrix->passes; i++)
        sum = matrix->isa->kernel[STREAM_READ][STREAM_PLAIN](&args);
    matrix->sums[rank] = sum;
}

/* Reads `passes` times and returns the ns; also updates worst_sum. */
static uint64_t read_all(struct matrix *matrix, const struct node *from, uint64_t passes)
{
    double sum = 0, want = filler * (double)value_count(matrix->to);
    matrix->passes = passes;
    uint64_t took_ns = team_run(&matrix->team, from->cpus, from->ncpus, read_part, matrix);
    for (unsigned rank = 0; rank < from->ncpus; rank++)
        sum += matrix->sums[rank];
    double error = fabs(sum - want) / want;
    if (!(error <= matrix->worst_sum))
        matrix->worst_sum = error;
    return took_ns ? took_ns : 1;
}

/* GB/s of all CPUs of `from` together. */
static double measure_bandwidth(struct matrix *matrix, const struct node *from)
{
    double values[REPETITIONS];
    uint64_t once_ns = read_all(matrix, from, 1), target_ns = matrix->slice_ns / REPETITIONS;
    target_ns = target_ns < matrix->min_ns ? matrix->min_ns : target_ns;
    uint64_t passes = 1 + target_ns / once_ns;
    double bytes = (double)(value_count(matrix->to) * sizeof(double) * passes);
    for (int i = 0; i < REPETITIONS; i++)
        values[i] = bytes / (double)read_all(matrix, from, passes);
    return stats_sort_median(values, REPETITIONS);
}

static void walk(void *arg)
{
    enum { BURST = 4 * CHASE_STEP };
    struct matrix *matrix = arg;
    struct chase_line *at = matrix->to->block.base;
    double values[REPETITIONS];
    uint64_t target_ns = matrix->slice_ns / (REPETITIONS + 1);
    target_ns = target_ns < matrix->min_ns ? matrix->min_ns : target_ns;
    /* The first interval warms up, and the second overwrites its result. */
    for (int i = -1; i < REPETITIONS; i++) {
        uint64_t loads = 0, start_ns = clock_now_ns(), spent_ns;
        do {
            at = chase_walk(at, BURST);
            loads += BURST;
            spent_ns = clock_now_ns() - start_ns;
        } while (spent_ns < target_ns);
        values[i < 0 ? 0 : i] = (double)spent_ns / (double)loads;
    }
    matrix->latency_ns = stats_sort_median(values, REPETITIONS);
}

static void measure_pair(struct matrix *matrix, struct bench_ctx *ctx, const struct node *from,
                         const struct node *to)
{
    const struct dims at = DIMS({BY_FROM, from->os_node}, {BY_TO, to->os_node});
    uint64_t half = to->block.bytes / 2;
    matrix->to = to;
    team_call(&matrix->team, from->cpus[0], walk, matrix);
    const char *doubt = memory_doubt("a chain", half, "last-level cache",
                                     memory_llc_reached(ctx->machine, from->cpus, 1));
    bench_emit_doubt(ctx, NODE_LATENCY, matrix->latency_ns, doubt, at);
    doubt = memory_doubt("arrays", half, "last-level caches",
                         memory_llc_reached(ctx->machine, from->cpus, from->ncpus));
    bench_emit_doubt(ctx, NODE_BANDWIDTH, measure_bandwidth(matrix, from), doubt, at);
}

static int emit_node(struct bench_ctx *ctx, const struct node *node)
{
    double share;
    const struct dims at = DIMS({BY_TO, node->os_node});
    int rc = memory_node_share(&node->block, node->os_node, &share, ctx->err);
    if (rc)
        return rc;
    bench_emit(ctx, PAGES_ON_NODE, share, at);
    bench_emit(ctx, NODE_BYTES, (double)node->block.bytes, at);
    return 0;
}

static int matrix_scan(struct bench_ctx *ctx)
{
    struct matrix *matrix = ctx->state;
    unsigned n = matrix->nnodes, pairs = n * n;
    int rc = 0;
    matrix->slice_ns = (uint64_t)(ctx->budget_s * 1e9 / (2 * pairs));
    for (unsigned to = 0; to < n && !rc; to++) {
        rc = emit_node(ctx, &matrix->nodes[to]);
        for (unsigned from = 0; from < n && !rc; from++)
            if (matrix->nodes[from].ncpus)
                measure_pair(matrix, ctx, &matrix->nodes[from], &matrix->nodes[to]);
    }
    return rc;
}

static int check_node(const struct node *node, uint64_t *seen, struct err *err)
{
    const double *values = values_of(node);
    double share = 0;
    size_t lines = chain_lines(node), fault = chase_find_fault(node->block.base, lines, seen);
    if (fault < lines)
        return err_set(err, -EBADMSG,
                       "node %u: line %zu of %zu leads outside the chain, or where another does",
                       node->os_node, fault, lines);
    for (size_t i = 0; i < value_count(node); i++)
        if (!(values[i] == filler))
            return err_set(err, -EBADMSG, "node %u: value %zu is %.17g, not %g", node->os_node, i,
                           values[i], filler);
    int rc = memory_node_share(&node->block, node->os_node, &share, err);
    if (!rc && share < 1)
        rc = err_set(err, -EBADMSG, "only %.4g of the pages bound to node %u lie there", share,
                     node->os_node);
    return rc;
}

static int matrix_check(struct bench_ctx *ctx)
{
    const double tolerance = 1e-9;
    struct matrix *matrix = ctx->state;
    if (!(matrix->worst_sum <= tolerance))
        return err_set(ctx->err, -EBADMSG, "a sum that was read was off by %.2g of it",
                       matrix->worst_sum);
    int rc = 0;
    for (unsigned i = 0; i < matrix->nnodes && !rc; i++) {
        uint64_t *seen = calloc(chain_lines(&matrix->nodes[i]) / 64 + 1, sizeof(*seen));
        if (!seen)
            return err_set(ctx->err, -ENOMEM, "cannot allocate the marks of a chain");
        rc = check_node(&matrix->nodes[i], seen, ctx->err);
        free(seen);
    }
    return rc;
}

const struct bench bench_numa_matrix = {
    .name = "numa_matrix",
    .summary = "bandwidth and latency from every node's CPUs to every node's memory",
    .opts = matrix_opts,
    .params_size = sizeof(struct matrix_params),
    .metrics = matrix_metrics,
    .dims = matrix_dims,
    .figures = matrix_figures,
    .probe = matrix_probe,
    .state_size = sizeof(struct matrix),
    .setup = matrix_setup,
    .scan = matrix_scan,
    .check = matrix_check,
};
