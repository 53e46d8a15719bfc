/* Copies on GPUs: every kind arrives intact, and the check finds those that do not. Exits 77
 * without a GPU. */

#include "bench/common/memory.h"
#include "bench/copy/gpu_copy_plan.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "kernels/gpu/copy/gpu_copy.h"
#include "kernels/gpu/gpu_chase.h"
#include "kernels/gpu/gpu_common.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { BYTES = 8 << 20, WORDS = BYTES / 8, HOST_SALT = 500 };

static struct bench_machine machine;

/* GPUs opened, with a page-locked buffer to copy from and one to copy to. */
struct rig {
    struct gpu_copy *copy;
    struct memory_block block;
    char *in, *out;
    struct err err;
};

static void assert_good(const struct rig *rig, int rc)
{
    if (rc)
        fail_msg("%s", rig->err.msg);
}

static int open_gpus(struct rig *rig, unsigned ngpus, size_t bytes)
{
    const char *pci_bdf[GPU_COPY_GPUS];
    for (unsigned gpu = 0; gpu < ngpus; gpu++)
        pci_bdf[gpu] = machine.gpus[gpu].pci_bdf;
    unsigned failed;
    return gpu_copy_open(pci_bdf, ngpus, bytes, &rig->copy, &failed, &rig->err);
}

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    assert_good(rig, open_gpus(rig, machine.ngpus, BYTES));
    assert_int_equal(memory_map(&rig->block, 2 * (size_t)BYTES, MEMORY_THP, NULL), 0);
    rig->in = rig->block.base;
    rig->out = rig->in + BYTES;
    assert_good(rig, gpu_copy_pin(rig->block.base, rig->block.bytes, &rig->err));
    assert_good(rig, gpu_copy_fill(rig->copy, 0, rig->in, BYTES, HOST_SALT, &rig->err));
}

static void rig_close(struct rig *rig)
{
    gpu_copy_unpin(rig->block.base);
    memory_unmap(&rig->block);
    gpu_copy_close(rig->copy);
}

static struct gpu_copy_flow into(const struct rig *rig, unsigned gpu, bool kernel)
{
    return (struct gpu_copy_flow){.to = gpu_copy_target(rig->copy, gpu),
                                  .from = rig->in,
                                  .bytes = BYTES,
                                  .gpu = gpu,
                                  .kernel = kernel};
}

static struct gpu_copy_flow out_of(const struct rig *rig, unsigned gpu, bool kernel)
{
    return (struct gpu_copy_flow){.to = rig->out,
                                  .from = gpu_copy_source(rig->copy, gpu),
                                  .bytes = BYTES,
                                  .gpu = gpu,
                                  .kernel = kernel};
}

static int check(struct rig *rig, const struct gpu_copy_flow *flow, uint64_t salt)
{
    return gpu_copy_check(rig->copy, flow, salt, &rig->err);
}

static void poison(struct rig *rig, const struct gpu_copy_flow *flow)
{
    assert_good(rig, gpu_copy_poison(rig->copy, flow, &rig->err));
}

static double run_flows(struct rig *rig, const struct gpu_copy_flow *flows, unsigned n,
                        unsigned copies)
{
    struct gpu_copy_progress progress[GPU_COPY_GPUS * GPU_COPY_STREAMS];
    double longest = 0;
    assert_good(rig, gpu_copy_time(rig->copy, flows, n, copies, progress, &rig->err));
    for (unsigned i = 0; i < n; i++) {
        unsigned last = progress[i].n - 1;
        assert_int_equal(progress[i].copies[last], copies);
        assert_true(isfinite(progress[i].seconds[last]) && progress[i].seconds[0] > 0);
        for (unsigned k = 0; k < last; k++)
            assert_true(progress[i].copies[k] < progress[i].copies[k + 1] &&
                        progress[i].seconds[k] <= progress[i].seconds[k + 1]);
        longest = fmax(longest, progress[i].seconds[last]);
    }
    return longest;
}

/* The check must fail on poison and pass after the copy. */
static void assert_arrives(struct rig *rig, const struct gpu_copy_flow *flow, uint64_t salt)
{
    poison(rig, flow);
    assert_int_equal(check(rig, flow, salt), -EBADMSG);
    assert_has(rig->err.msg, "word 0 of 1048576 is 0xffffffffffffffff, not 0x");
    (void)run_flows(rig, flow, 1, 2);
    assert_good(rig, check(rig, flow, salt));
    assert_int_equal(check(rig, flow, salt + 1), -EBADMSG);
}

TEST(gpu_copy_host_copies_arrive)
{
    ENDED_BY(rig_close) struct rig rig;
    rig_open(&rig);
    for (unsigned gpu = 0; gpu < machine.ngpus; gpu++)
        for (int kernel = 0; kernel < 2; kernel++) {
            struct gpu_copy_flow in = into(&rig, gpu, kernel), out = out_of(&rig, gpu, kernel);
            assert_arrives(&rig, &in, HOST_SALT);
            assert_arrives(&rig, &out, gpu_copy_salt(gpu));
        }
}

TEST(gpu_copy_pageable_and_combined_copies_arrive)
{
    ENDED_BY(rig_close) struct rig rig;
    void *combined = NULL;
    rig_open(&rig);
    FREED char *paged = malloc(BYTES);
    assert_non_null(paged);
    assert_good(&rig, gpu_copy_alloc_combined(BYTES, &combined, &rig.err));
    assert_good(&rig, gpu_copy_fill(rig.copy, 0, combined, BYTES, 600, &rig.err));
    struct gpu_copy_flow flow = into(&rig, 0, false);
    flow.from = combined;
    assert_arrives(&rig, &flow, 600);
    assert_good(&rig, gpu_copy_fill(rig.copy, 0, paged, BYTES, 700, &rig.err));
    flow.from = paged;
    flow.staged = true;
    assert_arrives(&rig, &flow, 700);
    flow = out_of(&rig, 0, false);
    flow.to = paged;
    flow.staged = true;
    assert_arrives(&rig, &flow, gpu_copy_salt(0));
    gpu_copy_free_combined(combined);
}

TEST(gpu_copy_pairs_arrive)
{
    ENDED_BY(rig_close) struct rig rig;
    if (machine.ngpus < 2)
        skip();
    rig_open(&rig);
    for (unsigned a = 0; a < machine.ngpus; a++)
        for (unsigned b = 0; b < machine.ngpus; b++)
            for (int how = 0; how < 4 && a != b; how++) {
                bool direct = gpu_copy_is_direct(rig.copy, a, b);
                struct gpu_copy_flow flow = {.to = gpu_copy_target(rig.copy, b),
                                             .from = gpu_copy_source(rig.copy, a),
                                             .bytes = BYTES,
                                             .gpu = how % 2 ? a : b,
                                             .kernel = how / 2,
                                             .staged = !direct};
                if (direct || !flow.kernel)
                    assert_arrives(&rig, &flow, gpu_copy_salt(a));
            }
}

/* All GPUs in both directions; more flows than that on one GPU are refused. */
TEST(gpu_copy_flows_at_once_arrive)
{
    ENDED_BY(rig_close) struct rig rig;
    struct gpu_copy_flow flow[GPU_COPY_GPUS + 1];
    struct gpu_copy_progress progress[3];
    rig_open(&rig);
    flow[0] = out_of(&rig, 0, false);
    for (unsigned gpu = 0; gpu < machine.ngpus; gpu++)
        flow[1 + gpu] = into(&rig, gpu, false);
    for (unsigned i = 0; i <= machine.ngpus; i++)
        poison(&rig, &flow[i]);
    (void)run_flows(&rig, flow, 1 + machine.ngpus, 3);
    for (unsigned i = 0; i <= machine.ngpus; i++)
        assert_good(&rig, check(&rig, &flow[i], i ? HOST_SALT : gpu_copy_salt(0)));
    flow[1] = flow[2] = flow[0];
    assert_int_equal(gpu_copy_time(rig.copy, flow, 3, 1, progress, &rig.err), -EINVAL);
}

/* One flipped byte, on either side, at the start, in the middle and at the very end. */
TEST(gpu_copy_check_finds_one_wrong_byte)
{
    static const size_t words[] = {0, 1, WORDS / 2 + 3, WORDS - 1};
    ENDED_BY(rig_close) struct rig rig;
    char want[64];
    rig_open(&rig);
    struct gpu_copy_flow in = into(&rig, 0, false), out = out_of(&rig, 0, true);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t at = 8 * words[i];
        put_text(want, "wrong data: word %zu of %d", words[i], WORDS);
        (void)run_flows(&rig, &out, 1, 1);
        rig.out[at + 5] ^= 0x10;
        assert_int_equal(check(&rig, &out, gpu_copy_salt(0)), -EBADMSG);
        assert_has(rig.err.msg, want);
        /* On the device: the copy's source has a wrong byte. */
        rig.in[at + 7] ^= 1;
        (void)run_flows(&rig, &in, 1, 1);
        rig.in[at + 7] ^= 1;
        assert_int_equal(check(&rig, &in, HOST_SALT), -EBADMSG);
        assert_has(rig.err.msg, want);
    }
    (void)run_flows(&rig, &in, 1, 1);
    assert_good(&rig, check(&rig, &in, HOST_SALT));
}

/* Sizes that are no multiple of what the threads of a grid copy at once. */
TEST(gpu_copy_kernel_copies_odd_sizes)
{
    static const size_t sizes[] = {64, 4096, 65600, (size_t)64 * 15625, BYTES - 64};
    ENDED_BY(rig_close) struct rig rig;
    rig_open(&rig);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct gpu_copy_flow whole = into(&rig, 0, true), flow = whole;
        poison(&rig, &whole);
        flow.bytes = sizes[i];
        (void)run_flows(&rig, &flow, 1, 1);
        assert_good(&rig, check(&rig, &flow, HOST_SALT));
        char wrong[40];
        put_text(wrong, "word %zu of", sizes[i] / 8);
        assert_int_equal(check(&rig, &whole, HOST_SALT), -EBADMSG);
        assert_has(rig.err.msg, wrong);
    }
}

TEST(gpu_copy_time_grows_with_copies)
{
    ENDED_BY(rig_close) struct rig rig;
    rig_open(&rig);
    for (int kernel = 0; kernel < 2; kernel++) {
        struct gpu_copy_flow flow = into(&rig, 0, kernel);
        (void)run_flows(&rig, &flow, 1, 4);
        double four_s = run_flows(&rig, &flow, 1, 4), forty_s = run_flows(&rig, &flow, 1, 40);
        print_message("8 MiB to GPU 0, kernel %d: %.2f GB/s\n", kernel,
                      40 * (double)BYTES / forty_s * 1e-9);
        assert_true(forty_s > 8 * four_s && forty_s < 13 * four_s);
    }
}

TEST(gpu_copy_latency_is_positive_and_checked)
{
    ENDED_BY(rig_close) struct rig rig;
    double ns[100];
    rig_open(&rig);
    struct gpu_copy_flow flow = into(&rig, 0, false);
    flow.bytes = 8;
    poison(&rig, &flow);
    assert_good(&rig, gpu_copy_latency(rig.copy, &flow, 100, ns, &rig.err));
    assert_good(&rig, check(&rig, &flow, HOST_SALT));
    print_message("8 bytes to GPU 0: %.2f us, median\n", stats_sort_median(ns, 100) * 1e-3);
    assert_true(ns[0] > 500 && ns[50] < 1e6);
}

static double chase(struct rig *rig, unsigned gpu, void *memory, uint64_t seed)
{
    double ns = 0;
    assert_good(rig, gpu_chase(machine.gpus[gpu].pci_bdf, memory, BYTES, seed, &ns, &rig->err));
    assert_true(ns > 20 && ns < 100000);
    return ns;
}

/* Chases through all memory that a GPU reaches; copies work afterwards. */
TEST(gpu_copy_chases_through_all_that_is_reached)
{
    ENDED_BY(rig_close) struct rig rig;
    double ns;
    rig_open(&rig);
    for (unsigned gpu = 0; gpu < machine.ngpus; gpu++) {
        for (unsigned peer = 0; peer < machine.ngpus; peer++)
            if (gpu_copy_is_direct(rig.copy, gpu, peer))
                print_message("memory of GPU %u, load of GPU %u: %.0f ns\n", peer, gpu,
                              chase(&rig, gpu, gpu_copy_target(rig.copy, peer), peer));
        print_message("memory of the host, load of GPU %u: %.0f ns\n", gpu,
                      chase(&rig, gpu, rig.out, 7));
    }
    assert_int_equal(gpu_chase(machine.gpus[0].pci_bdf, rig.out, 1024, 7, &ns, &rig.err), -EINVAL);
    struct gpu_copy_flow flow = into(&rig, 0, false);
    assert_arrives(&rig, &flow, HOST_SALT);
}

TEST(gpu_copy_too_large_is_no_memory)
{
    ENDED_BY(rig_close) struct rig rig = {0};
    assert_int_equal(open_gpus(&rig, 1, (size_t)1 << 44), -ENOMEM);
    assert_null(rig.copy);
    assert_int_equal(open_gpus(&rig, 1, 100), -EINVAL);
    assert_int_equal(open_gpus(&rig, 0, BYTES), -EINVAL);
    /* and the GPU still works */
    rig_open(&rig);
    struct gpu_copy_flow flow = into(&rig, 0, false);
    assert_arrives(&rig, &flow, HOST_SALT);
}

TEST(gpu_copy_unknown_address_is_no_device)
{
    const char *nowhere = "ffff:ff:1f.0";
    struct gpu_copy *copy;
    unsigned failed;
    struct err err = {0};
    assert_int_equal(gpu_copy_open(&nowhere, 1, BYTES, &copy, &failed, &err), -ENODEV);
    assert_int_equal(failed, 0);
    assert_null(copy);
    assert_has(err.msg, nowhere);
}

/* Copies cannot start together if launches wait for the GPU: a stated error after 5 s. */
static int time_blocking_launches(void)
{
    ENDED_BY(rig_close) struct rig rig;
    struct gpu_copy_progress progress;
    rig_open(&rig);
    const struct gpu_copy_flow flow = into(&rig, 0, false);
    int rc = gpu_copy_time(rig.copy, &flow, 1, 4, &progress, &rig.err);
    bool good = rc == -ETIME && strstr(rig.err.msg, "CUDA_LAUNCH_BLOCKING") &&
                gpu_copy_selected(rig.copy) == 0;
    (void)printf("%s\n", rig.err.msg);
    return !good;
}

/* CUDA reads the variable when it starts, so this runs the program once more. */
TEST(gpu_copy_blocking_launches_are_no_timing)
{
    char self[4096] = "", command[4200];
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    put_text(command, "CUDA_LAUNCH_BLOCKING=1 CONTEND_TEST_BLOCKS=1 '%s' test_gpu_copy", self);
    assert_int_equal(system(command), 0);
}

/* A GPU without an address is left out; the other buffers keep their places. */
TEST(gpu_copy_opens_without_one)
{
    const char *pci_bdf[2] = {NULL, machine.gpus[0].pci_bdf};
    struct rig rig = {0};
    unsigned failed;
    assert_good(&rig, gpu_copy_open(pci_bdf, 2, BYTES, &rig.copy, &failed, &rig.err));
    assert_int_equal(failed, 2);
    assert_false(gpu_copy_is_direct(rig.copy, 0, 1));
    assert_true(gpu_copy_is_direct(rig.copy, 1, 1));
    gpu_copy_close(rig.copy);
}

static void assert_bandwidth(const struct scan *scan, const char *key)
{
    double gbps = scan_value(scan, "copy_bandwidth", key);
    print_message("%s: %.2f GB/s\n", key, gbps);
    if (!(gbps > 0.5 && gbps < 10000))
        fail_msg("%s is %g GB/s", key, gbps);
}

/* The benchmark as a worker runs it, on this machine's GPUs. */
TEST(gpu_copy_scan_measures_every_point)
{
    static struct copy_point points[1 << 14];
    static struct scan scan;
    struct copy_shape shape = {0};
    const struct copy_filter filter = {0};
    size_t expected = 0;
    scan_run(&scan, &bench_gpu_copy, &machine, (const char *[]){"size=16M", NULL}, 1.0);
    copy_shape_init(&shape, &machine, false);
    for (unsigned a = 0; a < machine.ngpus; a++)
        for (unsigned b = 0; b < machine.ngpus; b++) {
            char key[32];
            put_text(key, "src=%u;dst=%u", a, b);
            shape.direct[a][b] = a == b || scan_value(&scan, "peer_access", key) == 1;
        }
    size_t n = copy_plan(&shape, &filter, points, sizeof(points) / sizeof(points[0]));
    for (size_t i = 0; i < n; i++)
        for (unsigned gpu = 0; gpu < (points[i].all ? machine.ngpus : 1); gpu++) {
            const struct dims at =
                copy_point_dims(&shape, &points[i], points[i].all ? gpu : points[i].gpu);
            assert_bandwidth(&scan, dims_format(&bench_gpu_copy, &at));
            expected++;
        }
    assert_int_equal(scan_count(&scan, "copy_bandwidth"), expected);
    assert_int_equal(scan_count(&scan, "copy_shared"), machine.ngpus > 1 ? 3 * machine.ngpus : 0);
    assert_int_equal(scan_count(&scan, "copy_latency"), 2 * 3 * 2 * machine.ngpus);
    assert_int_equal(scan_count(&scan, "chase_latency"), copy_chases(&shape, &filter, NULL, 0));
    print_message("loads: %.0f ns of its own memory, %.0f ns of the host's\n",
                  scan_value(&scan, "chase_latency", "mem=device;gpu=0"),
                  scan_value(&scan, "chase_latency", "mem=pinned;gpu=0;node=0"));
    assert_true(scan_value(&scan, "copy_size", "mem=pinned") == 16 << 20);
    assert_true(scan_value(&scan, "copy_latency", "dir=h2d;gpu=0;size=8;stat=p50") <=
                scan_value(&scan, "copy_latency", "dir=h2d;gpu=0;size=8;stat=p99"));
    scan_end(&scan);
}

BEFORE_TESTS
{
    if (!fixture_find_gpus(&machine))
        return UNIT_SKIPPED;
    if (getenv("CONTEND_TEST_BLOCKS"))
        exit(time_blocking_launches());
    return 0;
}
