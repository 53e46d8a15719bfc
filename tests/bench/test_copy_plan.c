/* What gpu_copy measures, its keys, and how its time is divided. */
#include "bench/copy/gpu_copy_plan.h"

#include "bench/registry.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { POINTS = 4096 };

static struct copy_point points[POINTS];
static const struct copy_filter everything;

/* GPUs spread over nodes; all have peer access to each other except the last two. */
static struct copy_shape shape_of(unsigned ngpus, unsigned nnodes)
{
    struct bench_machine machine = {.ngpus = ngpus, .nnodes = nnodes};
    struct copy_shape shape = {0};
    for (unsigned node = 0; node < nnodes; node++)
        machine.nodes[node].os_node = 2 * node;
    for (unsigned gpu = 0; gpu < ngpus; gpu++)
        machine.gpus[gpu].os_node = (int)(2 * (gpu * nnodes / ngpus));
    copy_shape_init(&shape, &machine, true);
    for (unsigned a = 0; a < ngpus; a++)
        for (unsigned b = 0; b < ngpus; b++)
            shape.direct[a][b] = a == b || a + b != 2 * ngpus - 3;
    return shape;
}

static size_t plan(const struct copy_shape *shape, const struct copy_filter *filter)
{
    size_t n = copy_plan(shape, filter, points, POINTS);
    assert_true(n <= POINTS);
    return n;
}

static bool has_key(const struct copy_shape *shape, size_t n, const char *want)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned gpu = 0; gpu < (points[i].all ? shape->ngpus : 1); gpu++) {
            const struct dims at =
                copy_point_dims(shape, &points[i], points[i].all ? gpu : points[i].gpu);
            if (stands_at(&bench_gpu_copy, &at, want))
                return true;
        }
    return false;
}

TEST(copy_plan_keys_are_unique_and_fit)
{
    static const unsigned machines[][2] = {{1, 1}, {1, 2}, {2, 1}, {4, 2}, {8, 2}, {16, 4}};
    for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
        struct copy_shape shape = shape_of(machines[m][0], machines[m][1]);
        size_t n = plan(&shape, &everything), nkeys = 0;
        static const char *keys[POINTS];
        for (size_t i = 0; i < n; i++) {
            unsigned first = points[i].all ? 0 : points[i].gpu;
            unsigned last = points[i].all ? shape.ngpus - 1 : points[i].gpu;
            for (unsigned gpu = first; gpu <= last; gpu++) {
                const struct dims at = copy_point_dims(&shape, &points[i], gpu);
                keys[nkeys] = dims_format(&bench_gpu_copy, &at);
                /* A truncated key would lack its end. */
                const char *end = !copy_is_between_gpus(&points[i])
                                      ? points[i].all ? "=all" : "=alone"
                                  : points[i].write ? "op=write"
                                                    : "op=read";
                assert_has(keys[nkeys], end);
                for (size_t k = 0; k < nkeys; k++)
                    assert_string_not_equal(keys[k], keys[nkeys]);
                nkeys++;
            }
        }
    }
}

TEST(copy_plan_one_gpu_has_no_pairs_and_shares_with_none)
{
    struct copy_shape shape = shape_of(1, 1);
    size_t n = plan(&shape, &everything);
    /* Three directions by both engines, one write-combined, two pageable. */
    assert_int_equal(n, 3 + 3 + 1 + 2);
    for (size_t i = 0; i < n; i++)
        assert_true(!points[i].all && !copy_is_between_gpus(&points[i]));
    assert_true(has_key(&shape, n, "dir=h2d;gpu=0;node=0;mem=pinned;via=ce;with=alone"));
}

TEST(copy_plan_four_gpus_two_nodes)
{
    struct copy_shape shape = shape_of(4, 2);
    size_t n = plan(&shape, &everything);
    const unsigned home = 3 * (4 + 1), far = 3 * 4, pairs_ce = 2 * 12, pairs_sm = 2 * 10;
    const unsigned swaps = 2 * 6 + 2 * 5, hubs_ce = 2 * 4, hubs_sm = 2 * 2;
    assert_int_equal(n, home + far + pairs_ce + pairs_sm + swaps + hubs_ce + hubs_sm + 3 * 4 + 4 +
                            2 * 4);
    assert_true(has_key(&shape, n, "dir=d2h;gpu=3;node=0;mem=pinned;via=ce;with=alone"));
    assert_true(has_key(&shape, n, "dir=d2h;gpu=3;node=2;mem=pinned;via=ce;with=all"));
    assert_false(has_key(&shape, n, "dir=d2h;gpu=3;node=0;mem=pinned;via=ce;with=all"));
    assert_true(has_key(&shape, n, "dir=d2d;src=2;dst=3;via=ce;op=read"));
    /* These two GPUs have no peer access to each other. */
    assert_false(has_key(&shape, n, "dir=d2d;src=2;dst=3;via=sm;op=read"));
    assert_true(has_key(&shape, n, "dir=d2d;src=1;dst=3;via=sm;op=write"));
}

/* Each pair once in both directions; kernels never copy between GPUs without peer access. */
TEST(copy_plan_of_several_gpus_at_once)
{
    struct copy_shape shape = shape_of(4, 2);
    size_t n = plan(&shape, &everything);
    assert_true(has_key(&shape, n, "dir=d2d-both;src=0;dst=3;via=ce;op=write"));
    assert_true(has_key(&shape, n, "dir=d2d-both;src=2;dst=3;via=ce;op=read"));
    assert_false(has_key(&shape, n, "dir=d2d-both;src=3;dst=2;via=ce;op=read"));
    assert_false(has_key(&shape, n, "dir=d2d-both;src=2;dst=3;via=sm;op=read"));
    assert_true(has_key(&shape, n, "dir=all-to-one;gpu=3;via=ce;op=write"));
    assert_true(has_key(&shape, n, "dir=one-to-all;gpu=3;via=ce;op=read"));
    assert_true(has_key(&shape, n, "dir=one-to-all;gpu=1;via=sm;op=read"));
    assert_false(has_key(&shape, n, "dir=all-to-one;gpu=2;via=sm;op=write"));
    shape = shape_of(2, 1);
    shape.direct[0][1] = shape.direct[1][0] = true;
    n = plan(&shape, &everything);
    for (size_t i = 0; i < n; i++)
        assert_true(points[i].dir < COPY_TO_ONE);
    assert_true(has_key(&shape, n, "dir=d2d-both;src=0;dst=1;via=sm;op=write"));
}

static size_t chases_of(const struct copy_shape *shape, const struct copy_filter *filter,
                        struct copy_chase *chases)
{
    size_t n = copy_chases(shape, filter, NULL, 0);
    chases[n].gpu = 12345;
    assert_int_equal(copy_chases(shape, filter, chases, n), n);
    assert_int_equal(chases[n].gpu, 12345);
    return n;
}

static void assert_chase(const struct copy_shape *shape, const struct copy_chase *chase,
                         const char *key)
{
    const struct dims at = copy_chase_dims(shape, chase);
    assert_true(stands_at(&bench_gpu_copy, &at, key));
}

TEST(copy_plan_chases_what_a_kernel_reaches)
{
    struct copy_chase chases[64];
    struct copy_shape shape = shape_of(4, 2);
    assert_int_equal(chases_of(&shape, &everything, chases), 4 + 4 + 10);
    assert_chase(&shape, &chases[0], "mem=device;gpu=0");
    assert_chase(&shape, &chases[1], "mem=pinned;gpu=0;node=0");
    assert_chase(&shape, &chases[2], "mem=peer;src=1;dst=0");
    assert_chase(&shape, &chases[15], "mem=pinned;gpu=3;node=2");
    static const struct {
        struct copy_filter filter;
        unsigned n;
    } cases[] = {{{.dir = 1 + COPY_D2D}, 10},  {{.dir = 1 + COPY_H2D}, 4},
                 {{.dir = 1 + COPY_D2H}, 0},   {{.mem = 1 + COPY_PINNED}, 4},
                 {{.mem = 1 + COPY_PAGED}, 0}, {{.via = 1 + COPY_SM}, 18},
                 {{.via = 1 + COPY_CE}, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(chases_of(&shape, &cases[i].filter, chases), cases[i].n);
}

/* The ratio of sharing needs the rate of a GPU alone. */
TEST(copy_plan_alone_comes_before_all)
{
    struct copy_shape shape = shape_of(4, 2);
    size_t n = plan(&shape, &everything);
    unsigned alone[COPY_DIRS] = {0};
    for (size_t i = 0; i < n; i++) {
        if (points[i].all)
            assert_int_equal(alone[points[i].dir], 4);
        alone[points[i].dir] += !points[i].all && points[i].via == COPY_CE &&
                                points[i].mem == COPY_PINNED &&
                                points[i].node == shape.home[points[i].gpu];
    }
}

TEST(copy_plan_wishes_restrict)
{
    struct copy_shape shape = shape_of(4, 2);
    for (int dir = 0; dir <= COPY_DIRS; dir++)
        for (int mem = 0; mem <= COPY_MEMS; mem++)
            for (int via = 0; via <= COPY_VIAS; via++) {
                struct copy_filter filter = {dir, mem, via, true};
                size_t n = plan(&shape, &filter);
                for (size_t i = 0; i < n; i++) {
                    const struct copy_point *point = &points[i];
                    assert_true(!dir || dir == 1 + (int)point->dir);
                    assert_true(!via || via == 1 + (int)point->via);
                    if (copy_is_between_gpus(point))
                        assert_int_equal(mem, 0);
                    else
                        assert_true((!mem || mem == 1 + (int)point->mem) &&
                                    (point->all || point->node == shape.home[point->gpu]));
                }
            }
}

TEST(copy_plan_writes_no_more_than_there_is_room)
{
    struct copy_shape shape = shape_of(4, 2);
    struct copy_point few[3] = {[2] = {.gpu = 77}};
    size_t n = plan(&shape, &everything);
    assert_int_equal(copy_plan(&shape, &everything, few, 2), n);
    assert_int_equal(few[2].gpu, 77);
    assert_memory_equal(few, points, 2 * sizeof(few[0]));
}

TEST(copy_shape_homes)
{
    struct bench_machine machine = {.ngpus = 4, .nnodes = 2};
    struct copy_shape shape = {0};
    machine.nodes[0].os_node = 0;
    machine.nodes[1].os_node = 1;
    const int os_nodes[] = {1, 0, -1, -1};
    for (unsigned gpu = 0; gpu < 4; gpu++)
        machine.gpus[gpu].os_node = os_nodes[gpu];
    copy_shape_init(&shape, &machine, true);
    assert_true(shape.bound && shape.named);
    assert_int_equal(shape.nnodes, 2);
    const unsigned homes[] = {1, 0, 1, 1};
    assert_memory_equal(shape.home, homes, sizeof(homes));
}

/* Two nodes without memory binding: the node of a value is unknown, and must not be made up. */
TEST(copy_shape_without_binding_names_no_node)
{
    struct bench_machine machine = {.ngpus = 1, .nnodes = 2};
    struct copy_shape shape = {0};
    machine.gpus[0].os_node = 1;
    machine.nodes[1].os_node = 1;
    copy_shape_init(&shape, &machine, false);
    assert_int_equal(shape.nnodes, 1);
    assert_int_equal(shape.home[0], 0);
    size_t n = plan(&shape, &everything);
    assert_true(has_key(&shape, n, "dir=h2d;gpu=0;node=any;mem=wc;via=ce;with=alone"));
    /* With one node, binding is not needed. */
    machine.nnodes = 1;
    machine.nodes[0].os_node = 3;
    copy_shape_init(&shape, &machine, false);
    assert_true(shape.named && !shape.bound);
    n = plan(&shape, &everything);
    assert_true(has_key(&shape, n, "dir=h2d;gpu=0;node=3;mem=paged;via=ce;with=alone"));
    machine.nnodes = 0;
    copy_shape_init(&shape, &machine, false);
    assert_int_equal(shape.nnodes, 1);
    assert_false(shape.named);
}

static void assert_split(double share_s, double once_s, unsigned copies, unsigned batches)
{
    struct copy_split split = copy_split(share_s, once_s, 1);
    assert_int_equal(split.copies, copies);
    assert_int_equal(split.batches, batches);
}

TEST(copy_split_fits_its_share)
{
    /* With no time left, or less than a copy takes, there is still one copy. */
    assert_split(-1, 0.01, 1, 1);
    assert_split(0.005, 0.01, 1, 1);
    assert_split(0.025, 0.01, 2, 1);
    assert_split(0.0301, 0.01, 1, 3);
    assert_split(0.1, 0.01, 3, 3);
    /* At most as many as nvbandwidth makes, however much time there is. */
    assert_split(100, 0.01, 16, 3);
    /* 34 copies of 3 us make an interval that events can time, at any share. */
    assert_split(0, 3e-6, 34, 1);
    assert_split(100, 3e-6, 34, 3);
    assert_split(100, 0, 100, 3);
    for (int i = 0; i < 15; i++)
        for (int k = 0; k < 11; k++) {
            double once_s = 1e-7 * pow(3, i), share_s = 1e-4 * pow(3, k);
            double least_s = 100e-6 + once_s;
            struct copy_split split = copy_split(share_s, once_s, 1);
            assert_in_range(split.copies, 1, 512);
            assert_true(split.copies * split.batches * once_s <=
                        3 * (share_s > least_s ? share_s : least_s));
        }
}

/* With fewer copies the time in which all flows run could be the time of one copy. */
TEST(copy_split_of_several_flows_has_four_copies)
{
    assert_int_equal(copy_split(-1, 0.01, 2).copies, 4);
    assert_int_equal(copy_split(0.025, 0.01, 8).copies, 4);
    assert_int_equal(copy_split(100, 0.01, 8).copies, 16);
}

TEST(copy_rate_counts_while_all_are_under_way)
{
    /* The first flow ends after 4 s. By then the second has done 2 copies; it gets faster. */
    const struct gpu_copy_progress flows[] = {
        {.n = 4, .copies = {2, 4, 6, 8}, .seconds = {1, 2, 3, 4}},
        {.n = 4, .copies = {2, 4, 6, 8}, .seconds = {4, 5, 6, 7}},
        {.n = 4, .copies = {2, 4, 6, 8}, .seconds = {1.5, 3.5, 5.5, 7}},
        {.n = 4, .copies = {2, 4, 6, 8}, .seconds = {20, 21, 22, 23}}};
    assert_true(copy_rate(flows, 4, 0) == 2);
    assert_true(copy_rate(flows, 4, 1) == 0.5);
    assert_true(copy_rate(flows, 4, 2) == 4 / 3.5);
    assert_true(copy_rate(flows, 4, 3) == 0.1);
    /* A flow alone counts in full. */
    assert_true(copy_rate(&flows[1], 1, 0) == 8.0 / 7);
    const struct gpu_copy_progress nothing = {.n = 1, .copies = {1}, .seconds = {0}};
    assert_true(copy_rate(&nothing, 1, 0) == 0);
}

TEST(copy_settle_comes_before_what_counts)
{
    /* A third of the time, at least 10 ms. */
    assert_int_equal(copy_settle(0.6, 0.01, false), 20);
    assert_int_equal(copy_settle(0.02, 0.002, false), 5);
    /* Copies longer than that: one, or two if a CPU stages them. */
    assert_int_equal(copy_settle(0.02, 0.05, false), 1);
    assert_int_equal(copy_settle(-1, 0.05, false), 1);
    assert_int_equal(copy_settle(0.02, 0.05, true), 2);
    assert_int_equal(copy_settle(-1, 0.05, true), 2);
    assert_int_equal(copy_settle(0.6, 0.01, true), 20);
    /* At most what a queue holds, also for copies of unknown duration. */
    assert_int_equal(copy_settle(100, 1e-5, true), 512);
    assert_int_equal(copy_settle(1, 0, false), 512);
}

/* For each GPU, one latency to the device and one from it. */
TEST(copy_has_latency_once_a_gpu_and_way)
{
    struct copy_shape shape = shape_of(4, 2);
    size_t n = plan(&shape, &everything);
    unsigned times[2][4] = {{0}};
    for (size_t i = 0; i < n; i++)
        if (copy_has_latency(&shape, &points[i])) {
            assert_true(points[i].dir <= COPY_D2H);
            times[points[i].dir][points[i].gpu]++;
        }
    for (unsigned gpu = 0; gpu < 4; gpu++)
        assert_true(times[COPY_H2D][gpu] == 1 && times[COPY_D2H][gpu] == 1);
}

static void assert_invalid(const char *const *pairs)
{
    static struct bench_machine machine;
    struct scan scan;
    scan_machine_init(&machine);
    (void)scan_probe(&scan, &bench_gpu_copy, &machine, pairs);
    scan.err = (struct err){0};
    assert_int_equal(bench_gpu_copy.validate(scan.params, &scan.err), -EINVAL);
    assert_has(scan.err.msg, "write-combined memory only to GPUs");
}

TEST(gpu_copy_refuses_what_cannot_be)
{
    assert_invalid((const char *[]){"mem=wc", "dir=d2h", NULL});
    assert_invalid((const char *[]){"mem=wc", "via=sm", NULL});
    assert_invalid((const char *[]){"mem=paged", "dir=both", NULL});
    assert_invalid((const char *[]){"mem=pinned", "dir=d2d", NULL});
    char params[BENCH_PARAMS_MAX] = {0};
    assert_int_equal(opts_set_pair(bench_gpu_copy.opts, params, "size=0", NULL), -EINVAL);
    assert_int_equal(opts_set_pair(bench_gpu_copy.opts, params, "dir=up", NULL), -EINVAL);
    opts_set_defaults(bench_gpu_copy.opts, params);
    assert_int_equal(bench_gpu_copy.validate(params, NULL), 0);
}

/* Without GPUs there is nothing to copy to, with any build and driver. */
TEST(gpu_copy_without_gpus_is_unsupported)
{
    static struct bench_machine machine;
    struct scan scan;
    scan_machine_init(&machine);
    assert_int_equal(
        scan_probe(&scan, &bench_gpu_copy, &machine, (const char *[]){"size=1M", NULL}), -ENOTSUP);
    assert_true(strlen(scan.err.msg) > 10);
}
