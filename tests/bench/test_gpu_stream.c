/* Every operation in every shape, every element checked; wrong elements are found. */

#include "bench/registry.h"
#include "kernels/gpu/gpu_stream.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { BYTES = 7 * GPU_STREAM_GRAIN, ELEMENTS = BYTES / 8 };

ON_GPUS
static struct err err;

static void assert_good(int rc)
{
    if (rc)
        fail_msg("%s", err.msg);
}

static struct gpu_stream *open_gpu(unsigned gpu, uint64_t bytes)
{
    const struct gpu_stream_config config = {
        .pci_bdf = machine.gpus[gpu].pci_bdf, .bytes = bytes, .seed = 42};
    struct gpu_stream *opened;
    assert_good(gpu_stream_open(&config, &opened, &err));
    return opened;
}

static uint64_t wrong(struct gpu_stream *gpu, enum gpu_stream_op op)
{
    uint64_t count;
    assert_good(gpu_stream_check(gpu, op, &count, &err));
    return count;
}

static double run(struct gpu_stream *gpu, enum gpu_stream_op op, unsigned shape, unsigned passes)
{
    double seconds;
    assert_good(gpu_stream_queue(gpu, 1, op, shape, passes, &err));
    assert_good(gpu_stream_wait(gpu, 1, &seconds, &err));
    assert_true(seconds > 0);
    return seconds;
}

TEST(gpu_stream_shapes_compute_their_operation)
{
    for (unsigned i = 0; i < machine.ngpus; i++) {
        struct gpu_stream *gpu = open_gpu(i, BYTES);
        for (int op = 0; op < GPU_STREAM_OPS; op++)
            for (unsigned shape = 0; shape <= GPU_STREAM_DRIVER; shape++) {
                if (shape == GPU_STREAM_DRIVER && op != GPU_STREAM_COPY)
                    continue;
                assert_good(gpu_stream_poison(gpu, &err));
                assert_int_equal(wrong(gpu, (enum gpu_stream_op)op), ELEMENTS);
                (void)run(gpu, (enum gpu_stream_op)op, shape, 1);
                if (wrong(gpu, (enum gpu_stream_op)op))
                    fail_msg("%s, %s: wrong", gpu_stream_op_name((enum gpu_stream_op)op),
                             gpu_stream_shape_name(shape));
            }
        gpu_stream_close(gpu);
    }
}

/* The values are whole numbers up to 2^24, so nearly all results differ. */
TEST(gpu_stream_check_tells_operations_apart)
{
    struct gpu_stream *gpu = open_gpu(0, BYTES);
    for (int ran = 0; ran < GPU_STREAM_OPS; ran++) {
        assert_good(gpu_stream_poison(gpu, &err)); /* a read leaves most of the poison */
        (void)run(gpu, (enum gpu_stream_op)ran, 0, 1);
        for (int op = 0; op < GPU_STREAM_OPS; op++)
            if (op != ran)
                assert_true(wrong(gpu, (enum gpu_stream_op)op) > (uint64_t)ELEMENTS / 10 * 9);
    }
    gpu_stream_close(gpu);
}

TEST(gpu_stream_time_grows_with_passes)
{
    struct gpu_stream *gpu = open_gpu(0, (uint64_t)256 << 20);
    (void)run(gpu, GPU_STREAM_COPY, 4, 20);
    double ten_s = run(gpu, GPU_STREAM_COPY, 4, 10), hundred_s = run(gpu, GPU_STREAM_COPY, 4, 100);
    assert_true(hundred_s > 8 * ten_s && hundred_s < 12 * ten_s);
    /* Queued one after the other, each with its own time. */
    bool done = false;
    double seconds;
    assert_good(gpu_stream_queue(gpu, 0, GPU_STREAM_COPY, 4, 100, &err));
    assert_good(gpu_stream_queue(gpu, 1, GPU_STREAM_COPY, 4, 10, &err));
    assert_good(gpu_stream_done(gpu, 1, &done, &err));
    assert_false(done);
    ten_s = 0;
    assert_good(gpu_stream_wait(gpu, 1, &ten_s, &err));
    assert_good(gpu_stream_done(gpu, 0, &done, &err));
    assert_true(done);
    assert_good(gpu_stream_wait(gpu, 0, &seconds, &err));
    assert_true(seconds > 8 * ten_s && seconds < 12 * ten_s);
    gpu_stream_close(gpu);
}

TEST(gpu_stream_refuses_what_it_cannot_do)
{
    struct gpu_stream *gpu;
    struct gpu_stream_config config = {.pci_bdf = machine.gpus[0].pci_bdf, .bytes = 12345};
    assert_int_equal(gpu_stream_open(&config, &gpu, &err), -EINVAL);
    assert_null(gpu);
    config.bytes = (uint64_t)1 << 44;
    assert_int_equal(gpu_stream_open(&config, &gpu, &err), -ENOMEM);
    assert_null(gpu);
    gpu = open_gpu(0, BYTES);
    assert_int_equal(gpu_stream_queue(gpu, 0, GPU_STREAM_ADD, GPU_STREAM_DRIVER, 1, &err), -EINVAL);
    (void)run(gpu, GPU_STREAM_ADD, 0, 1);
    assert_int_equal(wrong(gpu, GPU_STREAM_ADD), 0);
    gpu_stream_close(gpu);
}

TEST(gpu_stream_scan_emits_every_operation)
{
    static struct scan scan;
    static const char *const keys[] = {
        "op=copy;via=kernel;with=alone;gpu=0", "op=scale;via=kernel;with=alone;gpu=0",
        "op=add;via=kernel;with=alone;gpu=0",  "op=triad;via=kernel;with=alone;gpu=0",
        "op=read;via=kernel;with=alone;gpu=0", "op=write;via=kernel;with=alone;gpu=0",
        "op=copy;via=driver;with=alone;gpu=0"};
    unsigned groups = machine.ngpus > 1 ? 2 : 1;
    scan_run(&scan, &bench_gpu_stream, &machine, (const char *[]){"size=512M", NULL}, 1.0);
    assert_int_equal(scan_count(&scan, "device_bandwidth"),
                     (GPU_STREAM_OPS + 1) * groups * machine.ngpus);
    assert_true(scan_value(&scan, "stream_size", "") == (double)((uint64_t)512 << 20));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        double gbps = scan_value(&scan, "device_bandwidth", keys[i]);
        print_message("%s: %.0f GB/s\n", keys[i], gbps);
        assert_true(gbps > 20 && gbps < 50000);
    }
    scan_end(&scan);
}
