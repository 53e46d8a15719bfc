/* What gpu_matmul multiplies and emits, by its parameters; over made-up kernels. */
#include "bench/registry.h"
#include "harness/lib/sys/log.h"
#include "kernels/matmul/gpu_matmul_ref.h"
#include "tests/lib/fake_gpu_kernels.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct scan scan;

static void run(const char *const *pairs)
{
    fake_gpu_set_trouble(&(struct fake_trouble){0});
    scan_run(&scan, &bench_gpu_matmul, &machine, pairs, 0.05);
}

static void assert_shape(size_t m, size_t n, size_t k, enum matmul_layout layout)
{
    struct matmul_shape shape = fake_gpu_matmul_shape();
    assert_int_equal(shape.m, m);
    assert_int_equal(shape.n, n);
    assert_int_equal(shape.k, k);
    assert_int_equal(shape.layout, layout);
}

/* A product of the fake takes 1 ms; with the algorithm proposed first it takes 2 ms. */
static void assert_trials(const char *metric, const char *type, double work)
{
    char key[DIMS_KEY_MAX];
    put_text(key, "type=%s;algorithm=best;gpu=0", type);
    assert_true(fabs(scan_value(&scan, metric, key) / (work * 1e-9) - 1) < 1e-9);
    put_text(key, "type=%s;algorithm=first;gpu=0", type);
    assert_true(fabs(scan_value(&scan, metric, key) / (work * 5e-10) - 1) < 1e-9);
}

TEST(matmul_scan_is_square_by_default)
{
    run((const char *[]){"type=bf16", NULL});
    assert_shape(8192, 8192, 8192, MATMUL_TN);
    assert_trials("matmul_trial", "bf16", 2.0 * 8192 * 8192 * 8192);
    assert_true(scan_value(&scan, "matmul_size", "") == 8192);
    assert_int_equal(scan_count(&scan, "matmul_size"), 1);
    scan_end(&scan);
}

TEST(matmul_scan_takes_shapes_and_layouts)
{
    static const char *const layouts[] = {"layout=nn", "layout=nt", "layout=tn", "layout=tt"};
    for (int layout = 0; layout < MATMUL_LAYOUTS; layout++) {
        run((const char *[]){"type=fp16", "m=2050", "n=1001", "k=515", layouts[layout], NULL});
        assert_shape(2050, 1001, 515, (enum matmul_layout)layout);
        assert_true(scan_value(&scan, "matmul_rate", "type=fp16;with=alone;gpu=0") > 0);
        assert_trials("matmul_trial", "fp16", 2.0 * 2050 * 1001 * 515);
        assert_true(scan_value(&scan, "matmul_size", "") == 1001);
        assert_true(scan_value(&scan, "matmul_size", "of=m") == 2050);
        assert_true(scan_value(&scan, "matmul_size", "of=k") == 515);
        scan_end(&scan);
    }
    run((const char *[]){"type=fp16", "n=1024", "m=16", NULL});
    assert_shape(16, 1024, 1024, MATMUL_TN);
    scan_end(&scan);
}

/* Integer operations have a unit of their own, and so a metric of their own. */
TEST(matmul_scan_of_int8_is_in_operations)
{
    run((const char *[]){"type=int8", "n=1024", NULL});
    assert_string_equal(bench_metric_find(&bench_gpu_matmul, "matmul_int_rate")->unit, "TOP/s");
    assert_string_equal(bench_metric_find(&bench_gpu_matmul, "matmul_int_trial")->unit, "TOP/s");
    assert_true(scan_value(&scan, "matmul_int_rate", "type=int8;with=alone;gpu=0") > 0);
    assert_trials("matmul_int_trial", "int8", 2.0 * 1024 * 1024 * 1024);
    assert_int_equal(scan_count(&scan, "matmul_rate") + scan_count(&scan, "matmul_trial"), 0);
    scan_end(&scan);
    run((const char *[]){"n=1024", NULL});
    assert_int_equal(scan_count(&scan, "matmul_int_rate"), 1);
    assert_int_equal(scan_count(&scan, "matmul_rate"), MATMUL_TYPES - 2); /* the fake has no fp64 */
    scan_end(&scan);
}

/* A skipped row has the reason; all other types are measured. */
TEST(matmul_scan_skips_what_is_not_aligned)
{
    const char *const int8 = "type=int8;with=alone;gpu=0", *const fp8 = "type=fp8;with=alone;gpu=0";
    run((const char *[]){"n=1024", "k=1004", NULL});
    assert_true(scan_value(&scan, "matmul_int_rate", int8) > 0);
    assert_true(isnan(scan_value(&scan, "matmul_rate", fp8)));
    assert_string_equal(
        scan_reason(&scan, "matmul_rate", fp8),
        "fp8 needs m and k that are multiples of 16, not m 1024, n 1024, k 1004, tn");
    assert_true(scan_value(&scan, "matmul_rate", "type=bf16;with=alone;gpu=0") > 0);
    scan_end(&scan);
    run((const char *[]){"n=1001", "type=int8", NULL});
    assert_string_equal(
        scan_reason(&scan, "matmul_int_rate", int8),
        "int8 needs m and k that are multiples of 4, not m 1001, n 1001, k 1001, tn");
    scan_end(&scan);
}

/* A type that cuBLASLt does not support is skipped as well; the GPU is not lost. */
TEST(matmul_scan_skips_what_is_not_supported)
{
    fake_gpu_set_trouble(&(struct fake_trouble){"gpu_matmul_open", 0, 0, -ENOTSUP});
    scan_run(&scan, &bench_gpu_matmul, &machine, (const char *[]){"layout=nn", "type=fp8", NULL},
             0.05);
    assert_string_equal(scan_reason(&scan, "matmul_rate", "type=fp8;with=alone;gpu=0"), "it broke");
    assert_null(scan_reason(&scan, "matmul_rate", "gpu=0"));
    scan_end(&scan);
}

/* Squares shrink if memory is short; a requested shape is measured as it is or not at all. */
TEST(matmul_scan_keeps_to_memory)
{
    run((const char *[]){"n=65536", NULL});
    assert_shape(16384, 16384, 16384, MATMUL_TN);
    assert_true(scan_value(&scan, "matmul_size", "") == 16384);
    scan_end(&scan);
    assert_int_equal(scan_try(&scan, &bench_gpu_matmul, &machine,
                              (const char *[]){"n=65536", "k=65536", NULL}, 0.05),
                     -ENOMEM);
    assert_has(scan.err.msg, "it has too little free memory: 65536 MiB");
    scan_end(&scan);
}

/* In a run of int8 alone, the row of a GPU that is left out has the metric of the other rows. */
TEST(matmul_scan_names_a_lost_gpu_where_its_rows_are)
{
    machine.ngpus = 2;
    fake_gpu_set_trouble(&(struct fake_trouble){"gpu_matmul_check", 1, 0, -EBADMSG});
    scan_run(&scan, &bench_gpu_matmul, &machine, (const char *[]){"type=int8", NULL}, 0.05);
    assert_true(scan_value(&scan, "matmul_int_rate", "type=int8;with=alone;gpu=0") > 0);
    assert_non_null(scan_reason(&scan, "matmul_int_rate", "gpu=1"));
    assert_int_equal(scan_count(&scan, "matmul_rate"), 0);
    scan_end(&scan);
    machine.ngpus = 1;
}

BEFORE_TESTS
{
    log_set_quiet(true);
    scan_machine_init(&machine);
    machine.ngpus = 1;
    for (unsigned gpu = 0; gpu < 2; gpu++)
        put_text(machine.gpus[gpu].pci_bdf, "0000:%02u:00.0", gpu);
    return 0;
}
