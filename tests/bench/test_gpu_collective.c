/*
 * All operations over NCCL with one process for all GPUs: every type, in and out of place, as calls
 * and as graphs; the check must find wrong results. Exits 77 with fewer than two GPUs or without
 * NCCL.
 */
#include <cuda_runtime_api.h>

#include "bench/collective/collective_scan.h"
#include "bench/registry.h"
#include "kernels/collective/gpu_collective.h"
#include "tests/lib/unit.h"

enum { GPUS_MAX = 16, TIMES = 32, BUFFER_BYTES = 8 << 20 };

static unsigned gpus;
static char pci_bdf[GPUS_MAX][PCI_BDF_MAX];
static struct gpu_collective *gc;
static struct err err;

static void assert_good(int rc)
{
    if (rc)
        fail_msg("%s", err.msg);
}

static int open_all(unsigned ranks, bool registered)
{
    const char *list[GPUS_MAX];
    for (unsigned k = 0; k < ranks; k++)
        list[k] = pci_bdf[k];
    const struct gpu_collective_config config = {
        .ranks = ranks, .local = ranks, .pci_bdf = list, .times_most = TIMES};
    struct nccl_id id;
    int rc = gpu_collective_open(&config, &gc, &err);
    if (!rc)
        rc = gpu_collective_make_id(gc, &id, &err);
    if (!rc)
        rc = gpu_collective_join(gc, &id, &err);
    if (!rc)
        rc = gpu_collective_allocate(gc, BUFFER_BYTES, registered, &err);
    return rc;
}

static int setup(void **state)
{
    int rc = open_all(gpus, false);
    if (rc)
        (void)fprintf(stderr, "%s\n", err.msg);
    return rc;
}

static int teardown(void **state)
{
    gpu_collective_close(gc);
    gc = NULL;
    return 0;
}

/* Checks one operation, or the batch of a graph. */
static struct gpu_collective_verdict check(const struct collective_call *call, bool is_batch,
                                           unsigned repetition)
{
    struct gpu_collective_verdict verdict;
    assert_good(gpu_collective_prepare(gc, call, &err));
    unsigned operations = is_batch ? gpu_collective_batch(gc) : 1;
    assert_good(gpu_collective_fill(gc, repetition, &err));
    assert_good(gpu_collective_enqueue(gc, operations, &err));
    assert_good(gpu_collective_compare(gc, operations, repetition, &verdict, &err));
    return verdict;
}

/* Only fp8 may be unsupported. */
static bool is_supported(const struct collective_call *call)
{
    bool is_fp8 = call->type == COLLECTIVE_F8E4M3 || call->type == COLLECTIVE_F8E5M2;
    return !is_fp8 || gpu_collective_prepare(gc, call, &err) != -ENOTSUP;
}

static void assert_right(struct collective_call call, uint64_t size, unsigned ranks)
{
    struct collective_call fitted = call;
    if (!collective_fit(&fitted, size, ranks) || !is_supported(&fitted))
        return;
    for (int is_batch = 0; is_batch <= call.graph; is_batch++) {
        struct gpu_collective_verdict verdict =
            check(&fitted, is_batch, (unsigned)(size % 1000) + call.type);
        if (verdict.wrong)
            fail_msg(
                "op %d redop %d type %d place %d graph %d batch %d root %u, %zu bytes: %llu wrong; "
                "rank %u, %s [%llu] is %g, not %g",
                fitted.op, fitted.redop, fitted.type, fitted.in_place, fitted.graph, is_batch,
                fitted.root, fitted.bytes, (unsigned long long)verdict.wrong, verdict.rank,
                verdict.gpu, (unsigned long long)verdict.index, verdict.got, verdict.want);
    }
}

static void check_all_of(struct collective_call call, unsigned ranks)
{
    static const uint64_t sizes[] = {8, 1000, 65536, 3000000, BUFFER_BYTES};
    for (int in_place = 0; in_place <= collective_has_in_place(call.op); in_place++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            call.in_place = in_place;
            call.root = (unsigned)(s % ranks);
            assert_right(call, sizes[s], ranks);
        }
}

TEST(gpu_collective_all_operations_and_types_are_right)
{
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
        for (enum collective_type type = 0; type < COLLECTIVE_TYPES; type++)
            check_all_of((struct collective_call){.op = op, .type = type}, gpus);
}

/* Sums are tested above. fp8 is left out if NCCL or a GPU does not support it. */
TEST(gpu_collective_all_reductions_are_right)
{
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
        for (enum collective_type type = 0; type < COLLECTIVE_TYPES; type++)
            for (enum collective_redop redop = COLLECTIVE_PROD;
                 redop < COLLECTIVE_REDOPS && collective_is_reduced(op); redop++)
                check_all_of((struct collective_call){.op = op, .type = type, .redop = redop},
                             gpus);
}

TEST(gpu_collective_registered_buffers_are_right)
{
    (void)teardown(NULL);
    int rc = open_all(gpus, true);
    if (rc == -ENOTSUP)
        (void)printf("SKIP: needs a GPU: %s\n", err.msg);
    else
        assert_good(rc);
    for (enum collective_op op = 0; op < COLLECTIVE_OPS && !rc; op++)
        for (int graph = 0; graph <= 1; graph++)
            check_all_of(
                (struct collective_call){.op = op, .type = COLLECTIVE_FLOAT, .graph = graph != 0},
                gpus);
    (void)teardown(NULL);
    assert_good(open_all(gpus, false));
}

TEST(gpu_collective_graphs_are_right)
{
    struct collective_call small = {.type = COLLECTIVE_FLOAT, .graph = true};
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
        check_all_of((struct collective_call){.op = op, .type = COLLECTIVE_FLOAT, .graph = true},
                     gpus);
    assert_true(collective_fit(&small, 1000, gpus));
    assert_good(gpu_collective_prepare(gc, &small, &err));
    assert_true(gpu_collective_batch(gc) > 1);
    assert_good(gpu_collective_enqueue(gc, UINT64_C(3) * gpu_collective_batch(gc), &err));
    assert_good(gpu_collective_wait(gc, &err));
}

/* Numbers of ranks that are no power of two, if there are enough GPUs. */
TEST(gpu_collective_fewer_ranks_are_right)
{
    if (gpus < 3)
        skip();
    (void)teardown(NULL);
    assert_good(open_all(3, false));
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
        check_all_of((struct collective_call){.op = op, .type = COLLECTIVE_HALF}, 3);
    (void)teardown(NULL);
    assert_good(open_all(gpus, false));
}

TEST(gpu_collective_check_finds_one_wrong_element)
{
    static const struct collective_call call = {
        .op = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT, .count = 100000, .bytes = 400000};
    struct gpu_collective_verdict verdict;
    const float planted = 1000.5f;
    assert_int_equal(check(&call, false, 4).wrong, 0);
    float *recv = gpu_collective_recv_buffer(gc, gpus - 1);
    assert_int_equal(cudaMemcpy(recv + 77777, &planted, sizeof(planted), cudaMemcpyHostToDevice),
                     cudaSuccess);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_good(gpu_collective_compare(gc, 1, 4, &verdict, &err));
    assert_int_equal(verdict.wrong, 1);
    assert_int_equal(verdict.rank, gpus - 1);
    assert_int_equal(verdict.index, 77777);
    assert_true(verdict.got == (double)planted && verdict.want <= 120);
}

/* An operation that did not happen leaves poison; an old result belongs to another repetition. */
TEST(gpu_collective_check_finds_nothing_done)
{
    for (enum collective_type type = 0; type < COLLECTIVE_TYPES; type++) {
        const struct collective_call call = {.op = COLLECTIVE_ALLTOALL,
                                             .type = type,
                                             .count = 1024,
                                             .bytes =
                                                 (size_t)1024 * gpus * collective_type_bytes(type)};
        struct gpu_collective_verdict verdict;
        assert_good(gpu_collective_prepare(gc, &call, &err));
        assert_good(gpu_collective_fill(gc, 1, &err));
        assert_good(gpu_collective_compare(gc, 1, 1, &verdict, &err));
        assert_int_equal(verdict.wrong, 1024 * gpus * gpus);
        assert_int_equal(check(&call, false, 1).wrong, 0);
        assert_good(gpu_collective_compare(gc, 1, 2, &verdict, &err));
        assert_true(verdict.wrong > (uint64_t)900 * gpus * gpus);
    }
}

TEST(gpu_collective_times_add_up)
{
    static const struct collective_call call = {
        .op = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT, .count = 1 << 20, .bytes = 4 << 20};
    float busy_us[GPUS_MAX * TIMES], period_us[GPUS_MAX * TIMES];
    assert_good(gpu_collective_prepare(gc, &call, &err));
    assert_good(gpu_collective_enqueue(gc, 5, &err));
    assert_good(gpu_collective_wait(gc, &err));
    assert_good(gpu_collective_time_each(gc, TIMES, busy_us, period_us, &err));
    for (unsigned i = 0; i < gpus * TIMES; i++) {
        assert_true(busy_us[i] > 1 && busy_us[i] < 1e6f);
        assert_true(period_us[i] >= busy_us[i] - 1);
    }
    assert_int_not_equal(gpu_collective_time_each(gc, TIMES + 1, busy_us, period_us, &err), 0);
}

/* The whole benchmark, through the contract: one worker drives all GPUs. */
TEST(gpu_collective_scan_runs)
{
    static struct bench_machine machine = {.ncpus = 1};
    static struct value_log values;
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    struct peers alone = {.rank = 0, .size = 1};
    machine.ngpus = gpus;
    for (unsigned k = 0; k < gpus; k++)
        memcpy(machine.gpus[k].pci_bdf, pci_bdf[k], PCI_BDF_MAX);
    opts_set_defaults(bench_collective.opts, params);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "op=all", &err), 0);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "place=both", &err), 0);
    assert_int_equal(opts_set_pair(bench_collective.opts, params, "factor=64", &err), 0);
    struct bench_ctx ctx = {.params = params,
                            .workers = 1,
                            .device = DEVICE_NCCL,
                            .err = &err,
                            .machine = &machine,
                            .peers = &alone,
                            .budget_s = 3,
                            .values = &values};
    if (bench_collective.probe(&ctx) || bench_open(&bench_collective, &ctx) ||
        bench_collective.scan(&ctx) || bench_collective.check(&ctx))
        fail_msg("%s", err.msg);
    bench_close(&bench_collective, &ctx);
    assert_true(values.n > 100);
    for (uint32_t i = 0; i < values.n; i++)
        assert_true(isfinite(values.value[i].value) && values.value[i].value >= 0);
}

BEFORE_TESTS
{
    int count = 0, version;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) {
        (void)printf("SKIP: needs two GPUs\n");
        return UNIT_SKIPPED;
    }
    gpus = count < GPUS_MAX ? (unsigned)count : GPUS_MAX;
    for (unsigned k = 0; k < gpus; k++)
        if (cudaDeviceGetPCIBusId(pci_bdf[k], sizeof(pci_bdf[k]), (int)k) != cudaSuccess)
            return UNIT_SKIPPED;
    if (gpu_collective_load(&version, &err) == 0)
        return 0;
    (void)printf("SKIP: needs a GPU: %s\n", err.msg);
    return UNIT_SKIPPED;
}

AROUND_TESTS(setup, teardown)
