/*
 * Scans of three made-up GPUs, the second of which fails. The scan measures the others and emits a
 * row with the reason, the number and the address of the bad GPU.
 */
#include "bench/common/memory_node.h"
#include "bench/gpu/gpu.h"
#include "bench/registry.h"
#include "harness/lib/sys/log.h"
#include "kernels/gpu/gpu_stream.h"
#include "tests/lib/fake_gpu_kernels.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { GPUS = 3, BAD = 1 };

static struct bench_machine machine;
static struct scan scan;

/* A benchmark, a value of each GPU alone, and a value of all GPUs. */
static const struct subject {
    const struct bench *bench;
    const char *metric, *alone, *all, *pairs[3];
} launch = {&bench_gpu_launch,
            "launch_latency",
            "what=graph20;wait=spin;load=idle;stat=p50;gpu=%u",
            NULL,
            {NULL}},
  stream = {&bench_gpu_stream,
            "device_bandwidth",
            "op=triad;via=kernel;with=alone;gpu=%u",
            "op=triad;via=kernel;with=all;gpu=%u",
            {NULL}},
  matmul = {&bench_gpu_matmul,
            "matmul_rate",
            "type=bf16;with=alone;gpu=%u",
            "type=bf16;with=all;gpu=%u",
            {"type=bf16", NULL}},
  copy = {&bench_gpu_copy,
          "copy_bandwidth",
          "dir=h2d;gpu=%u;node=0;mem=pinned;via=ce;with=alone",
          "dir=h2d;gpu=%u;node=0;mem=pinned;via=ce;with=all",
          {"size=65536", NULL}},
  memory = {&bench_gpu_memory, "memory_test_rate", "gpu=%u", NULL, {NULL}};

static const struct subject *const subjects[] = {&launch, &stream, &matmul, &copy, &memory};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

/* Thousands of launches must fit in, on a clock that runs fast. */
static double budget_of(const struct subject *subject)
{
    return subject == &launch ? 1 : 0.05;
}

static double value(const struct subject *subject, const char *format, unsigned gpu)
{
    char key[DIMS_KEY_MAX];
    const char *at = strstr(format, "%u");
    assert_non_null(at);
    put_text(key, "%.*s%u%s", (int)(at - format), format, gpu, at + 2);
    return scan_value(&scan, subject->metric, key);
}

/* The good GPUs have their values; the bad GPU has a row with the reason and nothing else. */
static void assert_left_out(const struct subject *subject, const char *why)
{
    char said[240];
    for (unsigned gpu = 0; gpu < GPUS; gpu++) {
        assert_int_equal(!isnan(value(subject, subject->alone, gpu)), gpu != BAD);
        if (subject->all)
            assert_int_equal(!isnan(value(subject, subject->all, gpu)), gpu != BAD);
    }
    const char *reason = scan_reason(&scan, subject->metric, "gpu=1");
    assert_null(scan_reason(&scan, subject->metric, "gpu=0"));
    assert_non_null(reason);
    put_text(said, "GPU 1 (0000:01:00.0): %s", why);
    if (!strstr(reason, "GPU 1 (0000:01:00.0): ") || !strstr(reason, why))
        fail_msg("'%s', not '%s'", reason, said);
}

static void run(const struct subject *subject, const struct fake_trouble *trouble, const char *why)
{
    fake_gpu_set_trouble(trouble);
    scan_run(&scan, subject->bench, &machine, subject->pairs, budget_of(subject));
    assert_left_out(subject, why);
    scan_end(&scan);
}

TEST(bad_gpus_good_ones_are_all_measured)
{
    for (unsigned i = 0; i < SUBJECTS; i++) {
        const struct subject *subject = subjects[i];
        fake_gpu_set_trouble(&(struct fake_trouble){0});
        scan_run(&scan, subject->bench, &machine, subject->pairs, budget_of(subject));
        for (unsigned gpu = 0; gpu < GPUS; gpu++) {
            assert_true(value(subject, subject->alone, gpu) >= 0);
            assert_true(!subject->all || value(subject, subject->all, gpu) > 0);
        }
        assert_null(scan_reason(&scan, subject->metric, "gpu=1"));
        scan_end(&scan);
    }
}

/* Memory of a node that cannot be page-locked, such as memory of CXL or of a GPU. The node has no
 * GPU and does not exist here. */
TEST(bad_gpus_node_without_page_locked_memory_is_left_out)
{
    static struct bench_machine wide;
    const char *far = "dir=h2d;gpu=0;node=63;mem=pinned;via=ce;with=alone";
    if (memory_node_try(0, NULL) || !access("/sys/devices/system/node/node63", F_OK))
        skip(); /* memory binding is not allowed, or the node does exist */
    wide = machine;
    wide.nnodes = 2;
    wide.nodes[0].os_node = 0;
    wide.nodes[1].os_node = 63;
    for (unsigned gpu = 0; gpu < GPUS; gpu++)
        wide.gpus[gpu].os_node = 0;
    fake_gpu_set_trouble(&(struct fake_trouble){0});
    scan_run(&scan, copy.bench, &wide, copy.pairs, 0.05);
    for (unsigned gpu = 0; gpu < GPUS; gpu++)
        assert_true(value(&copy, copy.alone, gpu) > 0);
    assert_true(isnan(scan_value(&scan, copy.metric, far)));
    assert_non_null(scan_reason(&scan, copy.metric, far));
    assert_true(isnan(scan_value(&scan, "buffer_on_node", "node=63")));
    scan_end(&scan);
}

TEST(bad_gpus_that_cannot_be_used_are_left_out)
{
    for (unsigned i = 0; i < SUBJECTS; i++)
        run(subjects[i], &(struct fake_trouble){"gpu_check", BAD, 0, -ENOTSUP}, "it broke");
}

TEST(bad_gpus_that_do_not_open_are_left_out)
{
    run(&launch, &(struct fake_trouble){"gpu_launch_open", BAD, 0, -EIO}, "it broke");
    run(&stream, &(struct fake_trouble){"gpu_stream_memory", BAD, 0, -EIO}, "it broke");
    run(&stream, &(struct fake_trouble){"gpu_stream_open", BAD, 0, -EIO}, "it broke");
    run(&matmul, &(struct fake_trouble){"gpu_matmul_device", BAD, 0, -EIO}, "it broke");
    run(&matmul, &(struct fake_trouble){"gpu_matmul_free_bytes", BAD, 0, -EIO}, "it broke");
    run(&matmul, &(struct fake_trouble){"gpu_matmul_open", BAD, 0, -EIO}, "it broke");
    run(&copy, &(struct fake_trouble){"gpu_copy_open", BAD, 0, -EIO}, "it broke");
    run(&copy, &(struct fake_trouble){"gpu_copy_open", BAD, 0, -ENOMEM}, "it broke");
}

/* At the GPU's first point or at a later one. */
TEST(bad_gpus_that_fail_under_way_are_left_out)
{
    static const struct {
        const struct subject *of;
        const char *call;
        unsigned setup; /* number of such calls in setup */
    } calls[] = {{&launch, "gpu_launch_set_wait", 9}, {&launch, "gpu_launch_wait", 5000},
                 {&stream, "gpu_stream_queue", 21},   {&stream, "gpu_stream_done", 0},
                 {&stream, "gpu_stream_wait", 21},    {&stream, "gpu_stream_poison", 0},
                 {&matmul, "gpu_matmul_queue", 0},    {&matmul, "gpu_matmul_done", 0},
                 {&matmul, "gpu_matmul_wait", 0},     {&matmul, "gpu_matmul_poison", 0},
                 {&copy, "gpu_copy_time", 0},         {&copy, "gpu_copy_poison", 0},
                 {&copy, "gpu_copy_latency", 0},      {&copy, "gpu_chase", 0}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (unsigned later = 0; later < (calls[i].of == &stream ? 1 : 2); later++)
            run(calls[i].of,
                &(struct fake_trouble){calls[i].call, BAD, calls[i].setup + later, -EIO},
                "it broke");
}

/* Each point is checked once, right after it was timed. */
TEST(bad_gpus_that_compute_wrongly_are_left_out)
{
    run(&launch, &(struct fake_trouble){"gpu_launch_count", BAD, 0, 1}, "kernels of");
    for (unsigned later = 0; later < 2; later++)
        run(&memory, &(struct fake_trouble){"gpu_memory_wait", BAD, later, 1},
            "1 wrong words of its memory, the first at byte 0x12340 of 85899345920: expected "
            "0000000000012340, read 0000000000012341");
    run(&stream, &(struct fake_trouble){"gpu_stream_check", BAD, 1, 1}, "2 wrong elements");
    for (unsigned later = 0; later < 2; later++) {
        run(&matmul, &(struct fake_trouble){"gpu_matmul_check", BAD, later, -EBADMSG}, "it broke");
        run(&copy, &(struct fake_trouble){"gpu_copy_check", BAD, later, -EBADMSG}, "it broke");
    }
}

/* Three points alone and three with all, for each operation or type: poison, then a check. */
TEST(bad_gpus_every_point_is_checked)
{
    fake_gpu_set_trouble(&(struct fake_trouble){0});
    scan_run(&scan, stream.bench, &machine, stream.pairs, 0.05);
    assert_int_equal(fake_gpu_calls("gpu_stream_check", 2), 2 * (GPU_STREAM_OPS + 1));
    assert_int_equal(fake_gpu_calls("gpu_stream_poison", 2), 2 * (GPU_STREAM_OPS + 1));
    scan_end(&scan);
    scan_run(&scan, matmul.bench, &machine, matmul.pairs, 0.05);
    assert_int_equal(fake_gpu_calls("gpu_matmul_check", 2), 2);
    assert_int_equal(fake_gpu_calls("gpu_matmul_poison", 2), 2);
    assert_true(scan_value(&scan, "matmul_trial", "type=bf16;algorithm=best;gpu=0") ==
                2 * scan_value(&scan, "matmul_trial", "type=bf16;algorithm=first;gpu=0"));
    scan_end(&scan);
}

/* A stream that started before all work was queued reports it; with no other GPU the scan fails. */
TEST(bad_gpus_expired_holds_fail)
{
    run(&copy, &(struct fake_trouble){"gpu_copy_time", BAD, 4, -ETIME}, "it broke");
    machine.ngpus = 1;
    fake_gpu_set_trouble(&(struct fake_trouble){"gpu_copy_time", 0, 4, -ETIME});
    assert_int_equal(scan_try(&scan, copy.bench, &machine, copy.pairs, 0.05), -ETIME);
    assert_memory_equal(scan.err.msg, "GPU 0 (0000:00:00.0): dir=", 26);
    scan_end(&scan);
    machine.ngpus = GPUS;
}

/* Without any GPU left, the scan ends with the first GPU's reason: a skip if that reason is one. */
TEST(bad_gpus_alone_are_the_scan)
{
    machine.ngpus = 1;
    for (unsigned i = 0; i < SUBJECTS; i++) {
        fake_gpu_set_trouble(&(struct fake_trouble){"gpu_check", 0, 0, -ENOTSUP});
        assert_int_equal(scan_probe(&scan, subjects[i]->bench, &machine, subjects[i]->pairs),
                         -ENOTSUP);
        assert_string_equal(scan.err.msg, "GPU 0 (0000:00:00.0): it broke");
    }
    fake_gpu_set_trouble(&(struct fake_trouble){"gpu_stream_open", 0, 0, -EIO});
    assert_int_equal(scan_try(&scan, stream.bench, &machine, stream.pairs, 0.05), -EIO);
    assert_string_equal(scan.err.msg, "GPU 0 (0000:00:00.0): it broke");
    scan_end(&scan);
    machine.ngpus = GPUS;
}

/* A bad GPU hides neither what two other GPUs do together, nor one GPU beside all good ones. */
TEST(bad_gpus_hide_no_others_between_gpus)
{
    static const char *const of_good[] = {"dir=d2d-both;src=0;dst=2;via=sm;op=read",
                                          "dir=d2d-both;src=0;dst=2;via=ce;op=write"},
                             *const of_all[] = {"dir=d2d-both;src=0;dst=1;via=ce;op=read",
                                                "dir=d2d-both;src=1;dst=2;via=sm;op=write",
                                                "dir=all-to-one;gpu=0;via=sm;op=write",
                                                "dir=one-to-all;gpu=2;via=ce;op=read"};
    for (int bad = 0; bad < 2; bad++) {
        fake_gpu_set_trouble(&(struct fake_trouble){bad ? "gpu_check" : NULL, BAD, 0, -ENOTSUP});
        scan_run(&scan, copy.bench, &machine, copy.pairs, 0.05);
        for (unsigned i = 0; i < sizeof(of_good) / sizeof(of_good[0]); i++)
            assert_true(scan_value(&scan, "copy_bandwidth", of_good[i]) > 0);
        for (unsigned i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++)
            assert_int_equal(isnan(scan_value(&scan, "copy_bandwidth", of_all[i])), bad);
        assert_true(scan_value(&scan, "chase_latency", "mem=peer;src=0;dst=2") == 602);
        assert_true(scan_value(&scan, "chase_latency", "mem=pinned;gpu=0;node=0") == 600);
        assert_int_equal(isnan(scan_value(&scan, "chase_latency", "mem=device;gpu=1")), bad);
        assert_int_equal(isnan(scan_value(&scan, "chase_latency", "mem=peer;src=1;dst=0")), bad);
        scan_end(&scan);
    }
}

/* Three of four GPUs are left, which is enough for one GPU and two others. */
TEST(bad_gpus_leave_one_and_all_others)
{
    machine.ngpus = GPUS + 1;
    fake_gpu_set_trouble(&(struct fake_trouble){"gpu_check", BAD, 0, -ENOTSUP});
    scan_run(&scan, copy.bench, &machine, copy.pairs, 0.05);
    assert_true(scan_value(&scan, "copy_bandwidth", "dir=all-to-one;gpu=3;via=sm;op=write") > 0);
    assert_true(scan_value(&scan, "copy_bandwidth", "dir=one-to-all;gpu=0;via=ce;op=read") > 0);
    assert_true(isnan(scan_value(&scan, "copy_bandwidth", "dir=one-to-all;gpu=1;via=ce;op=read")));
    scan_end(&scan);
    machine.ngpus = GPUS;
}

/* Each part of a burn-in finds its own wrong result, and the rest goes on. */
TEST(bad_gpus_burn)
{
    static const struct {
        const char *call, *metric;
        unsigned from; /* after the warm-up */
        int rc;
    } wrong[] = {{"gpu_matmul_check", "burn_products", 7, -EBADMSG},
                 {"gpu_copy_check", "burn_copies", 4, -EBADMSG},
                 {"gpu_memory_wait", "burn_passes", 1, 1}};
    const size_t cases = sizeof(wrong) / sizeof(wrong[0]);
    for (size_t i = 0; i <= cases; i++) {
        struct fake_trouble trouble = {0};
        if (i < cases)
            trouble = (struct fake_trouble){wrong[i].call, BAD, wrong[i].from, wrong[i].rc};
        fake_gpu_set_trouble(&trouble);
        scan_run(&scan, &bench_burn, &machine, (const char *[]){NULL}, 12);
        for (size_t k = 0; k < cases; k++) {
            const char *reason = scan_reason(&scan, wrong[k].metric, "gpu=1");
            assert_int_equal(reason != NULL, i == k);
            assert_null(scan_reason(&scan, wrong[k].metric, "gpu=0"));
        }
        assert_true(scan_value(&scan, "burn_products", "time=12;gpu=2") > 0);
        assert_true(scan_value(&scan, "burn_copies", "link=host;time=12;gpu=0") > 0);
        assert_true(scan_value(&scan, "burn_copies", "link=peer;time=12;gpu=2") > 0);
        assert_true(scan_value(&scan, "burn_cpu_rate", "time=12") > 0);
        assert_true(scan_value(&scan, "burn_memory_rate", "time=12") > 0);
        assert_true(scan_value(&scan, "burn_passes", "") > 0);
        assert_false(fake_gpu_calls("gpu_matmul_check", 2) == 0);
        scan_end(&scan);
    }
}

TEST(bad_gpus_l2_is_a_value_of_each)
{
    fake_gpu_set_trouble(&(struct fake_trouble){0});
    scan_run(&scan, stream.bench, &machine, (const char *[]){"size=96M", NULL}, 0.05);
    assert_true(fabs(scan_value(&scan, "l2_share", "gpu=2") - 48.0 / (3 * 96)) < 1e-9);
    static const char copy_alone[] = "op=copy;via=kernel;with=alone;gpu=2";
    assert_null(scan_reason(&scan, "device_bandwidth", copy_alone));
    scan_end(&scan);
    scan_run(&scan, stream.bench, &machine, (const char *[]){"size=95M", NULL}, 0.05);
    assert_true(scan_value(&scan, "device_bandwidth", copy_alone) > 0);
    assert_non_null(scan_reason(&scan, "device_bandwidth", copy_alone));
    assert_string_equal(scan_reason(&scan, "device_bandwidth", copy_alone),
                        "arrays of 95 MiB below twice the 48 MiB of L2: in part the speed of "
                        "caches");
    scan_end(&scan);
}

TEST(gpu_name_is_number_and_address)
{
    assert_string_equal(gpu_name(&machine, "0000:02:00.0"), "GPU 2 (0000:02:00.0)");
    assert_string_equal(gpu_name(&machine, "ffff:02:00.0"), "GPU ffff:02:00.0");
    assert_string_equal(gpu_name(&machine, ""), "GPU 0");
}

BEFORE_TESTS
{
    log_set_quiet(true);
    scan_machine_init(&machine);
    machine.ngpus = GPUS;
    for (unsigned gpu = 0; gpu <= GPUS; gpu++)
        put_text(machine.gpus[gpu].pci_bdf, "0000:%02u:00.0", gpu % 10);
    return 0;
}
