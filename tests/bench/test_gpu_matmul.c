/* Products of every type against the reference. Exits 77 without a GPU or cuBLASLt. */

#include <cuda_runtime_api.h>

#include "bench/gpu/gpu_sensors.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/matmul/gpu_matmul.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/fixture_product.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct err err;

static void assert_good(int rc)
{
    if (rc)
        fail_msg("%s", err.msg);
}

static int device_cc(unsigned gpu)
{
    struct gpu_matmul_device device;
    assert_good(gpu_matmul_device(machine.gpus[gpu].pci_bdf, &device, &err));
    return device.cc;
}

static struct gpu_matmul_config now; /* the product whose entries are read and written */

static char *entry_at(struct gpu_matmul *gpu, size_t row, size_t col)
{
    return (char *)gpu_matmul_c(gpu) +
           matmul_c_at(&now.shape, row, col) * matmul_out_bytes(now.type);
}

static double read_entry(struct gpu_matmul *gpu, size_t row, size_t col)
{
    double entry = 0; /* the widest type */
    assert_int_equal(cudaMemcpy(&entry, entry_at(gpu, row, col), matmul_out_bytes(now.type),
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
    return matmul_storage_get(matmul_storage_out(now.type), &entry);
}

static void write_entry(struct gpu_matmul *gpu, size_t row, size_t col, double value)
{
    double entry = 0;
    matmul_storage_put(matmul_storage_out(now.type), &entry, value);
    assert_int_equal(cudaMemcpy(entry_at(gpu, row, col), &entry, matmul_out_bytes(now.type),
                                cudaMemcpyHostToDevice),
                     cudaSuccess);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

/*
 * Checks rows and columns that are not adjacent, corners among them; *worst is a share of the
 * limit. At least `rounded` is rounded to the output's type: if cuBLASLt splits sums among blocks,
 * as for few rows and columns, the partial sums are rounded as well.
 */
static void assert_product(struct gpu_matmul *gpu, const struct gpu_matmul_config *config,
                           double rounded, double *worst)
{
    const struct matmul_shape *shape = &config->shape;
    char text[MATMUL_SHAPE_TEXT];
    for (size_t i = 0; i < 100; i++) {
        size_t row = i < 2 ? i * (shape->m - 1) : i * 7919 % shape->m;
        size_t col = i < 3 ? i / 2 * (shape->n - 1) : i * 104729 % shape->n;
        double want = matmul_ref_entry(config->type, config->seed, shape, row, col);
        double limit = matmul_ref_limit(config->type, shape->k, fmax(fabs(want), rounded));
        double got = read_entry(gpu, row, col);
        if (!(fabs(got - want) <= limit))
            fail_msg("%s, %s: C[%zu][%zu] is %.9g, not %.9g +- %.2g",
                     matmul_type_name(config->type), matmul_shape_text(shape, text, sizeof(text)),
                     row, col, got, want, limit);
        *worst = limit > 0 ? fmax(*worst, fabs(got - want) / limit) : *worst;
    }
}

static struct gpu_matmul_config config_of(unsigned device, enum matmul_type type,
                                          struct matmul_shape shape)
{
    return (struct gpu_matmul_config){
        .pci_bdf = machine.gpus[device].pci_bdf, .type = type, .shape = shape, .seed = 7 + shape.n};
}

static void assert_poison(enum matmul_type type, double entry)
{
    assert_true(type == MATMUL_INT8 ? entry == (double)(int32_t)0x80808080 : isnan(entry));
}

static void check_type(unsigned device, enum matmul_type type, size_t n)
{
    struct gpu_matmul_config config = config_of(device, type, matmul_square(n));
    struct gpu_matmul *gpu, *like;
    double seconds, worst = 0;
    bool done = false;
    now = config;
    assert_good(gpu_matmul_open(&config, &gpu, &err));
    assert_true(gpu_matmul_estimate_s(gpu) > 0);
    assert_good(gpu_matmul_poison(gpu, &err));
    assert_poison(type, read_entry(gpu, n - 1, n / 2));
    assert_good(gpu_matmul_queue(gpu, 0, 2, &err));
    assert_good(gpu_matmul_queue(gpu, 1, 1, &err));
    assert_good(gpu_matmul_wait(gpu, 1, &seconds, &err));
    assert_good(gpu_matmul_done(gpu, 0, &done, &err));
    assert_true(done && seconds > 0);
    assert_product(gpu, &config, 0, &worst);
    config.same_as = gpu;
    now = config;
    assert_good(gpu_matmul_open(&config, &like, &err));
    assert_product(like, &config, 0, &worst);
    print_message("GPU %u, %s, n %zu: %.1f T%s/s, worst error %.3f of the limit\n", device,
                  matmul_type_name(type), n,
                  matmul_flops(&config.shape) / gpu_matmul_estimate_s(gpu) * 1e-12,
                  type == MATMUL_INT8 ? "OP" : "FLOP", worst);
    gpu_matmul_close(like);
    gpu_matmul_close(gpu);
}

TEST(gpu_matmul_types_agree_with_reference)
{
    static const size_t sizes[] = {256, 1040, 4096};
    for (unsigned device = 0; device < machine.ngpus; device++)
        for (int type = 0; type < MATMUL_TYPES; type++)
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
                if (gpu_matmul_has((enum matmul_type)type, device_cc(device)) &&
                    (device == 0 || i == 0))
                    check_type(device, (enum matmul_type)type, sizes[i]);
}

static void assert_found(struct gpu_matmul *gpu, size_t n, size_t row, size_t col, double value)
{
    double right = read_entry(gpu, row, col);
    write_entry(gpu, row, col, value);
    if (gpu_matmul_check(gpu, &err) != -EBADMSG)
        fail_msg("n %zu: C[%zu][%zu] = %g in place of %g is not found", n, row, col, value, right);
    write_entry(gpu, row, col, right);
}

/* A right product passes; poison and one wrong entry at any place fail. */
static void check_the_check(enum matmul_type type, size_t n)
{
    const struct gpu_matmul_config config = config_of(0, type, matmul_square(n));
    struct gpu_matmul *gpu;
    double seconds, off = type == MATMUL_INT8 ? 1 : 4 * sqrt((double)n);
    now = config;
    assert_good(gpu_matmul_open(&config, &gpu, &err));
    assert_good(gpu_matmul_poison(gpu, &err));
    double poison = read_entry(gpu, 0, 0);
    assert_int_equal(gpu_matmul_check(gpu, &err), -EBADMSG);
    assert_good(gpu_matmul_queue(gpu, 0, 1, &err));
    assert_good(gpu_matmul_wait(gpu, 0, &seconds, &err));
    uint64_t start_ns = clock_now_ns();
    assert_good(gpu_matmul_check(gpu, &err));
    print_message("%s, n %zu: checked in %.1f ms\n", matmul_type_name(type), n,
                  (double)(clock_now_ns() - start_ns) * 1e-6);
    assert_found(gpu, n, 0, 0, read_entry(gpu, 0, 0) + off);
    assert_found(gpu, n, n - 1, n - 1, read_entry(gpu, n - 1, n - 1) - off);
    assert_found(gpu, n, n / 2 + 3, 65, read_entry(gpu, n / 2 + 3, 65) + off);
    assert_found(gpu, n, n - 17, n - 1, poison);
    assert_good(gpu_matmul_check(gpu, &err));
    gpu_matmul_close(gpu);
}

TEST(gpu_matmul_check_finds_one_wrong_entry)
{
    static const size_t sizes[] = {256, 1040, 8192};
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            if (gpu_matmul_has((enum matmul_type)type, device_cc(0)))
                check_the_check((enum matmul_type)type, sizes[i]);
}

/* Makes and checks the product; false if this GPU's cuBLASLt lacks it and says so. */
static bool check_shape(enum matmul_type type, struct matmul_shape shape)
{
    const struct gpu_matmul_config config = config_of(0, type, shape);
    struct gpu_matmul *gpu;
    char text[MATMUL_SHAPE_TEXT];
    double seconds, worst = 0, off = type == MATMUL_INT8 ? 1 : 4 * sqrt((double)shape.k);
    now = config;
    int rc = gpu_matmul_open(&config, &gpu, &err);
    if (rc == -ENOTSUP) {
        print_message("SKIP: needs a GPU: %s\n", err.msg);
        return false;
    }
    assert_good(rc);
    assert_good(gpu_matmul_poison(gpu, &err));
    assert_int_equal(gpu_matmul_check(gpu, &err), -EBADMSG);
    assert_good(gpu_matmul_queue(gpu, 0, 1, &err));
    assert_good(gpu_matmul_wait(gpu, 0, &seconds, &err));
    assert_product(gpu, &config, 4 * sqrt((double)shape.k), &worst);
    assert_good(gpu_matmul_check(gpu, &err));
    assert_found(gpu, shape.n, shape.m - 1, shape.n - 1,
                 read_entry(gpu, shape.m - 1, shape.n - 1) + off);
    assert_found(gpu, shape.n, shape.m / 2, 0, read_entry(gpu, shape.m / 2, 0) - off);
    print_message("%s, %s: worst error %.3f of the limit\n", matmul_type_name(type),
                  matmul_shape_text(&shape, text, sizeof(text)), worst);
    gpu_matmul_close(gpu);
    return true;
}

/* Sizes that all differ; a vector; long and short sums; sizes that are multiples of nothing. Only
 * fp8 and int8 may lack a layout or a tiny shape. */
TEST(gpu_matmul_shapes_and_layouts_agree_with_reference)
{
    static const struct matmul_shape shapes[] = {
        {272, 400, 1040, MATMUL_TN}, {4096, 16, 512, MATMUL_TN}, {16, 1040, 2048, MATMUL_TN},
        {1024, 1, 4096, MATMUL_TN},  {528, 272, 16, MATMUL_TN},  {257, 131, 1001, MATMUL_TN}};
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
            for (int layout = 0; layout < MATMUL_LAYOUTS; layout++) {
                enum matmul_type which = (enum matmul_type)type;
                struct matmul_shape shape = shapes[i];
                shape.layout = (enum matmul_layout)layout;
                if (!gpu_matmul_has(which, device_cc(0)))
                    continue;
                bool takes = matmul_takes(which, &shape, &err) == 0;
                bool narrow = which == MATMUL_FP8 || which == MATMUL_INT8;
                bool ran = check_shape(which, shape);
                assert_true(takes || !ran);
                bool tiny = shape.n < 16 || shape.k < 64;
                assert_true(ran || !takes || (narrow && (layout != MATMUL_TN || tiny)));
            }
}

TEST(gpu_matmul_too_large_is_no_memory)
{
    struct gpu_matmul *gpu;
    const struct gpu_matmul_config config = config_of(0, MATMUL_FP64, matmul_square(1 << 20));
    assert_int_equal(gpu_matmul_open(&config, &gpu, &err), -ENOMEM);
    assert_null(gpu);
    check_type(0, MATMUL_FP32, 256);
}

TEST(gpu_matmul_scan_emits_rates_and_readings)
{
    static struct scan scan;
    unsigned groups = machine.ngpus > 1 ? 2 : 1;
    scan_run(&scan, &bench_gpu_matmul, &machine, (const char *[]){"n=4096", NULL}, 2.4);
    for (int type = 0; type < MATMUL_TYPES; type++) {
        char key[DIMS_KEY_MAX];
        put_text(key, "type=%s;with=alone;gpu=0", matmul_type_name((enum matmul_type)type));
        bool whole = type == MATMUL_INT8;
        double tflops = scan_value(&scan, whole ? "matmul_int_rate" : "matmul_rate", key);
        assert_int_equal(!isnan(tflops), gpu_matmul_has((enum matmul_type)type, device_cc(0)));
        double share = scan_value(&scan, "matmul_peak_share", key);
        print_message("%s: %.1f T%s/s, %.2f of the data sheet, %.0f MHz, %.0f W, %.0f degC\n", key,
                      tflops, whole ? "OP" : "FLOP", share, scan_value(&scan, "gpu_clock_sm", key),
                      scan_value(&scan, "gpu_power", key),
                      scan_value(&scan, "gpu_temperature", key));
        assert_false(tflops <= 0.01);
        assert_false(share > 1.3); /* boost clocks may exceed those of the data sheet */
    }
    assert_true(scan_count(&scan, "matmul_rate") >= (size_t)2 * groups * machine.ngpus);
    assert_true(scan_value(&scan, "matmul_size", "") == 4096);
    double first = scan_value(&scan, "matmul_trial", "type=fp32;algorithm=first;gpu=0");
    double best = scan_value(&scan, "matmul_trial", "type=fp32;algorithm=best;gpu=0");
    print_message("fp32: cuBLASLt's first %.1f TFLOP/s, best %.1f\n", first, best);
    assert_true(first > 0 && best > 0.98 * first);
    scan_end(&scan);
}

/* One row for each type that can have the shape, and one with the reason for each that cannot. */
TEST(gpu_matmul_scan_skips_what_a_type_cannot_have)
{
    static struct scan scan;
    scan_run(&scan, &bench_gpu_matmul, &machine,
             (const char *[]){"n=1001", "m=2050", "k=515", "layout=nt", NULL}, 1);
    assert_true(scan_value(&scan, "matmul_rate", "type=fp32;with=alone;gpu=0") > 0);
    assert_true(isnan(scan_value(&scan, "matmul_int_rate", "type=int8;with=alone;gpu=0")));
    const char *why = scan_reason(&scan, "matmul_int_rate", "type=int8;with=alone;gpu=0");
    assert_non_null(why);
    assert_has(why, "int8 needs m, n and k that are multiples of 4");
    assert_true(scan_value(&scan, "matmul_size", "of=m") == 2050);
    assert_true(scan_value(&scan, "matmul_size", "of=k") == 515);
    scan_end(&scan);
}

/* If NVML answers at all, it reports the clock of a working GPU. */
TEST(gpu_matmul_sensors_read_something)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    if (gpu_sensors_open(&sensors, machine.gpus[0].pci_bdf, &err)) {
        print_message("%s\n", err.msg);
        skip();
    }
    gpu_sensors_read(&sensors, &reading);
    print_message("%.0f MHz, %lld mJ, %.0f degC, %lld ns at the power limit\n", reading.clock_mhz,
                  (long long)reading.energy_mj, reading.temperature_c,
                  (long long)reading.throttled_ns[GPU_THROTTLE_POWER]);
    assert_true(reading.clock_mhz > 50 && reading.clock_mhz < 10000);
    assert_true(reading.energy_mj != 0);
    assert_false(reading.temperature_c < 0 || reading.temperature_c > 130);
}

BEFORE_TESTS
{
    if (fixture_find_gpus(&machine) && !gpu_matmul_load(&err))
        return 0;
    if (machine.ngpus)
        (void)printf("SKIP: needs a GPU: %s\n", err.msg);
    return UNIT_SKIPPED;
}
