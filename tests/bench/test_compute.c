/* What gpu_launch, gpu_stream and gpu_matmul compute without a GPU. */
#include "bench/common/team.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_launch_stat.h"
#include "bench/registry.h"
#include "harness/lib/opt.h"
#include "kernels/matmul/gpu_matmul_data.h"
#include "kernels/matmul/gpu_matmul_ref.h"
#include "tests/lib/fixture_product.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/fixture_storage.h"
#include "tests/lib/unit.h"

static void assert_near(double got, double want, double error)
{
    if (!(fabs(got - want) <= error))
        fail_msg("%.17g, not %.17g +- %g", got, want, error);
}

TEST(compute_data_is_nearly_normal)
{
    enum { N = 1 << 20 };
    double sum = 0, squares = 0, fourth = 0, product = 0;
    for (uint64_t i = 0; i < N; i++) {
        double a = matmul_value(3, 0, i), b = matmul_value(3, 1, i);
        sum += a;
        squares += a * a;
        fourth += a * a * a * a;
        product += a * b;
    }
    assert_near(sum / N, 0, 5e-3);
    assert_near(squares / N, 1, 5e-3);
    assert_near(fourth / N, 2.7, 0.02); /* Irwin-Hall of 4: 3 - 6 / (5 * 4) */
    assert_near(product / N, 0, 5e-3);
}

/* Values from the types' definitions. */
TEST(compute_rounding_is_that_of_the_type)
{
    static const struct {
        enum matmul_type type;
        double from, to;
    } cases[] = {
        {MATMUL_FP64, 0.1, 0.1},
        {MATMUL_FP32, 0.1, 0.100000001490116119384765625},
        {MATMUL_BF16, 0.1, 0.10009765625},
        {MATMUL_FP16, 0.1, 0.0999755859375},
        {MATMUL_TF32, 0.1, 0.0999755859375},
        {MATMUL_FP8, 0.1, 0.1015625},
        {MATMUL_FP8, 1.0625, 1},    /* a tie, to even */
        {MATMUL_FP8, 1.1875, 1.25}, /* a tie, to even */
        {MATMUL_FP8, -1.07, -1.125},
        {MATMUL_FP8, 1.999, 2},  /* to the next power of two */
        {MATMUL_FP8, 1000, 448}, /* the largest */
        {MATMUL_FP8, -449, -448},
        {MATMUL_FP8, 0.00195, 0.001953125}, /* the least subnormal, 2^-9 */
        {MATMUL_FP8, 0.0009, 0},
        {MATMUL_FP8, 0.0146484375, 0.015625}, /* 7.5 units below 2^-6 */
        {MATMUL_FP16, 5.97e-8, 5.9604644775390625e-8},
        {MATMUL_BF16, 0, 0},
        {MATMUL_INT8, 2.5, 2}, /* a tie, to even */
        {MATMUL_INT8, -110.6, -111},
        {MATMUL_INT8, 300, 127},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_near(matmul_round(cases[i].type, cases[i].from), cases[i].to, 0);
}

TEST(compute_reference_multiplies_rows_by_columns)
{
    enum { N = 16 };
    const struct matmul_shape square = matmul_square(N), large = matmul_square(8192);
    double want = 0;
    for (uint64_t k = 0; k < N; k++)
        want += matmul_value(9, 0, (uint64_t)5 * N + k) * matmul_value(9, 1, (uint64_t)11 * N + k);
    assert_near(matmul_ref_entry(MATMUL_FP64, 9, &square, 5, 11), want, 0);
    double half = matmul_ref_entry(MATMUL_FP8, 9, &square, 5, 11);
    assert_true(half != want);
    assert_near(half, want, 2.0);
    assert_near(matmul_flops(&large), 1099511627776.0, 0);
}

/* All sizes differ: the position of an entry by the rules of BLAS, or in the transpose. */
TEST(compute_layouts_are_those_of_blas)
{
    static const size_t a_at[MATMUL_LAYOUTS] = {5 + 3 * 7, 5 + 3 * 7, 3 + 5 * 11, 3 + 5 * 11};
    static const size_t b_at[MATMUL_LAYOUTS] = {3 + 8 * 11, 8 + 3 * 9, 3 + 8 * 11, 8 + 3 * 9};
    static const char *const names[] = {"nn", "nt", "tn", "tt"};
    char text[MATMUL_SHAPE_TEXT];
    for (int layout = 0; layout < MATMUL_LAYOUTS; layout++) {
        const struct matmul_shape shape = {7, 9, 11, (enum matmul_layout)layout};
        double want = 0;
        assert_string_equal(matmul_layout_name(shape.layout), names[layout]);
        assert_int_equal(matmul_a_at(&shape, 5, 3), a_at[layout]);
        assert_int_equal(matmul_b_at(&shape, 3, 8), b_at[layout]);
        assert_int_equal(matmul_c_at(&shape, 5, 8), 5 + 8 * 7);
        for (size_t k = 0; k < 11; k++)
            want += matmul_value(2, 0, matmul_a_at(&shape, 5, k)) *
                    matmul_value(2, 1, matmul_b_at(&shape, k, 8));
        assert_near(matmul_ref_entry(MATMUL_FP64, 2, &shape, 5, 8), want, 0);
        assert_near(matmul_flops(&shape), 2 * 7 * 9 * 11, 0);
        assert_has(matmul_shape_text(&shape, text, sizeof(text)), names[layout]);
    }
    const struct matmul_shape shape = {7, 9, 11, MATMUL_NT};
    assert_string_equal(matmul_shape_text(&shape, text, sizeof(text)), "m 7, n 9, k 11, nt");
}

TEST(compute_types_say_which_shapes_they_take)
{
    static const struct {
        enum matmul_type type;
        struct matmul_shape shape;
        const char *refused; /* NULL = accepted */
    } cases[] = {
        {MATMUL_BF16, {7, 9, 11, MATMUL_TT}, NULL},
        {MATMUL_FP64, {1, 1, 1, MATMUL_NN}, NULL},
        {MATMUL_INT8, {4, 9, 12, MATMUL_TN}, NULL},
        {MATMUL_INT8, {4, 9, 12, MATMUL_NN}, NULL},
        {MATMUL_INT8, {6, 8, 12, MATMUL_TN}, "int8 needs m and k that are multiples of 4"},
        {MATMUL_INT8, {4, 8, 13, MATMUL_TN}, "not m 4, n 8, k 13, tn"},
        {MATMUL_INT8, {4, 9, 12, MATMUL_NT}, "int8 needs m, n and k that are multiples of 4"},
        {MATMUL_FP8, {32, 9, 48, MATMUL_TN}, NULL},
        {MATMUL_FP8, {36, 16, 48, MATMUL_TN}, "fp8 needs m and k that are multiples of 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        int rc = matmul_takes(cases[i].type, &cases[i].shape, &err);
        assert_int_equal(rc, cases[i].refused ? -ENOTSUP : 0);
        if (cases[i].refused && !strstr(err.msg, cases[i].refused))
            fail_msg("'%s', not '%s'", err.msg, cases[i].refused);
    }
}

/* Stored values are the nearest of the type, with the right bits, and are read back unchanged. */
TEST(compute_storage_is_that_of_the_type)
{
    static const struct {
        enum matmul_storage storage;
        double value, stored;
        uint64_t bits;
    } cases[] = {
        {MATMUL_AS_DOUBLE, -2, -2, 0xc000000000000000},
        {MATMUL_AS_FLOAT, 1, 1, 0x3f800000},
        {MATMUL_AS_BF16, -1, -1, 0xbf80},
        {MATMUL_AS_BF16, 0.1, 0.10009765625, 0x3dcd},
        {MATMUL_AS_FP16, 1.5, 1.5, 0x3e00},
        {MATMUL_AS_FP16, 2047.6, 2048, 0x6800}, /* up to the next power of two */
        {MATMUL_AS_FP16, 5.97e-8, 5.9604644775390625e-8, 1},
        {MATMUL_AS_FP16, 1e9, 65504, 0x7bff},
        {MATMUL_AS_E4M3, 448, 448, 0x7e},
        {MATMUL_AS_E4M3, -0.0146484375, -0.015625, 0x88}, /* up to the least normal */
        {MATMUL_AS_E4M3, 0, 0, 0},
        {MATMUL_AS_INT8, -111, -111, 0x91},
        {MATMUL_AS_INT8, 200, 127, 0x7f},
        {MATMUL_AS_INT32, -2, -2, 0xfffffffe},
        {MATMUL_AS_INT32, 1e10, INT32_MAX, 0x7fffffff},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bits = 0;
        matmul_storage_put(cases[i].storage, &bits, cases[i].value);
        assert_true(bits == cases[i].bits);
        assert_near(matmul_storage_get(cases[i].storage, &bits), cases[i].stored, 0);
    }
    for (int storage = MATMUL_AS_DOUBLE; storage <= MATMUL_AS_E4M3; storage++) {
        uint64_t bits = 0;
        matmul_storage_put((enum matmul_storage)storage, &bits, NAN);
        assert_true(isnan(matmul_storage_get((enum matmul_storage)storage, &bits)));
        memset(&bits, 0xff, sizeof(bits)); /* poison */
        assert_true(isnan(matmul_storage_get((enum matmul_storage)storage, &bits)));
    }
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (uint64_t i = 0; i < 1000; i++) {
            uint64_t bits = 0;
            enum matmul_storage storage = matmul_storage_in((enum matmul_type)type);
            double value = matmul_stored((enum matmul_type)type, matmul_value(1, 0, i));
            matmul_storage_put(storage, &bits, value);
            assert_near(matmul_storage_get(storage, &bits), value, 0);
        }
}

/* The limit allows what the type loses. Over several entries it finds wrong rows and short sums. */
TEST(compute_limit_tells_products_from_others)
{
    enum { N = 4096 };
    const struct matmul_shape square = matmul_square(N);
    for (int type = 0; type < MATMUL_TYPES; type++) {
        size_t wrong_row = 0, short_sum = 0, tries = 24;
        for (size_t i = 0; i < tries; i++) {
            double want = matmul_ref_entry((enum matmul_type)type, 1, &square, i, 2 * i);
            double other = matmul_ref_entry((enum matmul_type)type, 1, &square, i + 1, 2 * i);
            double limit = matmul_ref_limit((enum matmul_type)type, N, want), missing = 0;
            for (size_t k = N - 128; k < N; k++)
                missing += matmul_value(1, 0, i * N + k) * matmul_value(1, 1, 2 * i * N + k);
            wrong_row += fabs(want - other) > limit;
            short_sum += fabs(missing) > limit;
        }
        assert_true(wrong_row > tries / 2);
        assert_true(short_sum > 0);
    }
    /* fp32: another order of summation in float stays far within the limit. */
    float sum = 0;
    for (size_t k = 0; k < N; k++)
        sum += (float)matmul_value(1, 0, k) * (float)matmul_value(1, 1, k);
    double want = matmul_ref_entry(MATMUL_FP32, 1, &square, 0, 0);
    assert_true(fabs((double)sum - want) < matmul_ref_limit(MATMUL_FP32, N, want));
}

TEST(compute_peak_is_of_the_right_sheet)
{
    static const struct {
        const char *name;
        enum matmul_type type;
        double tflops;
    } cases[] = {
        {"NVIDIA H200", MATMUL_BF16, 989.5},
        {"NVIDIA H200 NVL", MATMUL_BF16, 835.5},
        {"NVIDIA H100 80GB HBM3", MATMUL_FP8, 1979},
        {"NVIDIA H100 PCIe", MATMUL_FP64, 51},
        {"NVIDIA H100 NVL", MATMUL_TF32, 417.5},
        {"NVIDIA GH200 480GB", MATMUL_FP16, 989.5},
        {"NVIDIA A100-SXM4-80GB", MATMUL_TF32, 156},
        {"NVIDIA A100-SXM4-80GB", MATMUL_FP8, 0},
        {"NVIDIA B200", MATMUL_FP8, 4500},
        {"NVIDIA H100 80GB HBM3", MATMUL_INT8, 1979},
        {"NVIDIA A100-SXM4-80GB", MATMUL_INT8, 624},
        {"NVIDIA L4", MATMUL_INT8, 242.5},
        {"NVIDIA L40S", MATMUL_BF16, 362.05},
        {"NVIDIA L4", MATMUL_BF16, 121},
        {"NVIDIA L40", MATMUL_BF16, 0},
        {"NVIDIA GB200", MATMUL_BF16, 0},
        {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", MATMUL_BF16, 0},
        {"NVIDIA GeForce RTX 4090", MATMUL_BF16, 0},
        {"", MATMUL_BF16, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_near(gpu_peak_tflops(cases[i].name, cases[i].type), cases[i].tflops, 0);
}

TEST(compute_stats_of_intervals)
{
    double values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = (i * 7 + 3) % 1000 + 1; /* 1..1000, shuffled */
    assert_near(launch_stat(values, 1000, LAUNCH_P50), 500.5, 0);
    assert_near(launch_stat(values, 1000, LAUNCH_P99), 990, 0);
    assert_near(launch_stat(values, 1000, LAUNCH_MAX), 1000, 0);
    double few[] = {3, 1, 2};
    assert_near(launch_stat(few, 3, LAUNCH_P99), 3, 0);
    assert_near(launch_stat(few, 1, LAUNCH_P99), 1, 0);
}

TEST(compute_batches_are_long_for_the_clock)
{
    assert_int_equal(launch_batch(2.5, 8, 1, 64), 1);
    assert_int_equal(launch_batch(2.5, 2, 1, 64), 2);
    assert_int_equal(launch_batch(100, 1, 1, 64), 64);
    assert_int_equal(launch_batch(1, 1, 240, 240), 240);
    assert_int_equal(launch_batch(1, 0, 1, 64), 64);
}

TEST(compute_busy_team_runs_on_every_cpu)
{
    static struct bench_machine machine;
    scan_machine_init(&machine);
    struct err err = {0};
    struct bench_ctx ctx = {.machine = &machine, .err = &err};
    ENDED_BY(busy_team_close) struct busy_team busy = {0};
    assert_int_equal(busy_team_open(&busy, &ctx), 0);
    assert_true(isnan(busy_team_share(&busy)));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(busy_team_start(&busy, &err), 0);
        busy_team_end(&busy);
        busy_team_end(&busy);
        assert_int_equal(busy_team_check(&busy, &err), 0);
    }
    double share = busy_team_share(&busy);
    assert_true(share > 0 && share <= 1.05);
    busy_team_close(&busy);
}

TEST(compute_matmul_size_is_refused_before_a_worker)
{
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    struct err err = {0};
    opts_set_defaults(bench_gpu_matmul.opts, params);
    assert_int_equal(bench_gpu_matmul.validate(params, &err), 0);
    assert_int_equal(opts_set_pair(bench_gpu_matmul.opts, params, "n=128256", &err), 0);
    assert_true(bench_gpu_matmul.validate(params, &err) < 0);
    assert_has(err.msg, "n=128256");
    assert_int_equal(opts_set_pair(bench_gpu_matmul.opts, params, "k=8192", &err), 0);
    assert_int_equal(bench_gpu_matmul.validate(params, &err), 0);
    assert_true(opts_set_pair(bench_gpu_matmul.opts, params, "k=65537", &err) < 0);
    assert_true(opts_set_pair(bench_gpu_matmul.opts, params, "layout=tnn", &err) < 0);
}
