/*
 * Products of every type and layout over a cuBLASLt that multiplies on the CPU from its arguments
 * alone (tests/lib/fake_matmul.h): the arguments are right, and the check finds every kind of wrong
 * product.
 */

#include "kernels/matmul/gpu_matmul.h"
#include "tests/lib/fake_gpus.h"
#include "tests/lib/fake_matmul.h"
#include "tests/lib/fixture_product.h"
#include "tests/lib/unit.h"

/* Two groups of columns, the second incomplete; aligned for fp8; all sizes differ. */
enum { M = 32, N = 80, K = 64 };

static struct err err;

static int open_as(enum matmul_type type, struct matmul_shape shape, struct gpu_matmul **gpu)
{
    const struct gpu_matmul_config config = {
        .pci_bdf = "0000:01:00.0", .type = type, .shape = shape, .seed = 5};
    fake_gpus_reset();
    fake_matmul.wrong = FAKE_MATMUL_RIGHT;
    return gpu_matmul_open(&config, gpu, &err);
}

static struct gpu_matmul *must_open(enum matmul_type type, struct matmul_shape shape)
{
    struct gpu_matmul *gpu;
    if (open_as(type, shape, &gpu))
        fail_msg("%s", err.msg);
    return gpu;
}

/* Poisons C, makes a product that is `wrong`, and checks it. */
static int multiply(struct gpu_matmul *gpu, enum fake_matmul_wrong wrong)
{
    double seconds;
    fake_matmul.wrong = wrong;
    assert_int_equal(gpu_matmul_poison(gpu, &err), 0);
    assert_int_equal(gpu_matmul_queue(gpu, 0, 1, &err), 0);
    assert_int_equal(gpu_matmul_wait(gpu, 0, &seconds, &err), 0);
    return gpu_matmul_check(gpu, &err);
}

static bool has(enum matmul_type type, int layout)
{
    return layout == MATMUL_TN || (type != MATMUL_FP8 && type != MATMUL_INT8);
}

static void assert_entries(struct gpu_matmul *gpu, enum matmul_type type,
                           const struct matmul_shape *shape)
{
    for (size_t row = 0; row < shape->m; row += 7)
        for (size_t col = 0; col < shape->n; col += 11) {
            double want = matmul_ref_entry(type, 5, shape, row, col);
            double got =
                matmul_storage_get(matmul_storage_out(type),
                                   (const char *)gpu_matmul_c(gpu) +
                                       matmul_c_at(shape, row, col) * matmul_out_bytes(type));
            if (!(fabs(got - want) <= matmul_ref_limit(type, shape->k, want)))
                fail_msg("C[%zu][%zu] is %.9g, not %.9g", row, col, got, want);
        }
}

TEST(layouts_wrong_products_are_found)
{
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (int layout = 0; layout < MATMUL_LAYOUTS; layout++) {
            const struct matmul_shape shape = {M, N, K, (enum matmul_layout)layout};
            if (!has((enum matmul_type)type, layout))
                continue;
            struct gpu_matmul *gpu = must_open((enum matmul_type)type, shape);
            for (int wrong = 0; wrong < FAKE_MATMUL_WRONGS; wrong++) {
                int rc = multiply(gpu, (enum fake_matmul_wrong)wrong);
                if (rc != (wrong == FAKE_MATMUL_RIGHT ? 0 : -EBADMSG))
                    fail_msg("%s, %s, wrong in way %d: %d %s",
                             matmul_type_name((enum matmul_type)type),
                             matmul_layout_name(shape.layout), wrong, rc, err.msg);
                if (wrong == FAKE_MATMUL_RIGHT)
                    assert_entries(gpu, (enum matmul_type)type, &shape);
            }
            gpu_matmul_close(gpu);
        }
    assert_int_equal(fake_matmul.open, 0);
}

static void assert_matrix(const struct fake_matrix *matrix, size_t rows, size_t columns, int type)
{
    assert_int_equal(matrix->rows, rows);
    assert_int_equal(matrix->columns, columns);
    assert_int_equal(matrix->leading, rows);
    assert_int_equal(matrix->type, type);
}

TEST(layouts_are_told_as_blas_has_them)
{
    static const struct {
        enum matmul_layout layout;
        bool a_transposed, b_transposed;
        size_t a[2], b[2]; /* rows, columns */
    } cases[] = {
        {MATMUL_NN, false, false, {M, K}, {K, N}},
        {MATMUL_NT, false, true, {M, K}, {N, K}},
        {MATMUL_TN, true, false, {K, M}, {K, N}},
        {MATMUL_TT, true, true, {K, M}, {N, K}},
    };
    for (size_t i = 0; i < MATMUL_LAYOUTS; i++) {
        struct gpu_matmul *gpu =
            must_open(MATMUL_FP16, (struct matmul_shape){M, N, K, cases[i].layout});
        assert_int_equal(fake_matmul.a_transposed, cases[i].a_transposed);
        assert_int_equal(fake_matmul.b_transposed, cases[i].b_transposed);
        assert_matrix(&fake_matmul.a, cases[i].a[0], cases[i].a[1], 2); /* CUDA_R_16F */
        assert_matrix(&fake_matmul.b, cases[i].b[0], cases[i].b[1], 2);
        assert_matrix(&fake_matmul.c, M, N, 2);
        gpu_matmul_close(gpu);
    }
}

/* int8 (CUDA_R_8I): sums, scales and C are int32, CUBLAS_COMPUTE_32I and CUDA_R_32I. */
TEST(layouts_int8_is_told_as_such)
{
    struct gpu_matmul *gpu = must_open(MATMUL_INT8, (struct matmul_shape){12, 5, 8, MATMUL_TN});
    assert_int_equal(fake_matmul.compute, 72);
    assert_int_equal(fake_matmul.scale, 10);
    assert_matrix(&fake_matmul.a, 8, 12, 3);
    assert_matrix(&fake_matmul.b, 8, 5, 3);
    assert_matrix(&fake_matmul.c, 12, 5, 10);
    assert_int_equal(multiply(gpu, FAKE_MATMUL_RIGHT), 0);
    assert_int_equal(multiply(gpu, FAKE_MATMUL_ONE_OFF), -EBADMSG);
    gpu_matmul_close(gpu);
}

TEST(layouts_that_a_type_lacks_are_not_supported)
{
    static const struct {
        enum matmul_type type;
        struct matmul_shape shape;
        const char *why;
    } cases[] = {
        {MATMUL_INT8,
         {M, N, K, MATMUL_NN},
         "cuBLASLt, int8, m 32, n 80, k 64, nn: CUBLAS_STATUS_NOT_SUPPORTED"},
        {MATMUL_FP8,
         {M, N, K, MATMUL_TT},
         "cuBLASLt, fp8, m 32, n 80, k 64, tt: CUBLAS_STATUS_INVALID_VALUE"},
        {MATMUL_INT8,
         {M, N, 6, MATMUL_TN},
         "int8 needs m and k that are multiples of 4, not m 32, n 80, k 6, tn"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gpu_matmul *gpu;
        assert_int_equal(open_as(cases[i].type, cases[i].shape, &gpu), -ENOTSUP);
        assert_null(gpu);
        assert_string_equal(err.msg, cases[i].why);
    }
    assert_int_equal(fake_matmul.open, 0);
}

/* Sizes that are multiples of nothing, a single entry, and a vector. */
TEST(layouts_odd_shapes_are_multiplied)
{
    static const struct matmul_shape shapes[] = {{37, 67, 71, MATMUL_NN},
                                                 {37, 67, 71, MATMUL_TT},
                                                 {1, 1, 1, MATMUL_NT},
                                                 {9, 1, 65, MATMUL_TT}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct gpu_matmul *gpu = must_open(MATMUL_BF16, shapes[i]);
        assert_int_equal(multiply(gpu, FAKE_MATMUL_RIGHT), 0);
        assert_entries(gpu, MATMUL_BF16, &shapes[i]);
        assert_int_equal(multiply(gpu, FAKE_MATMUL_ONE_OFF), -EBADMSG);
        assert_int_equal(multiply(gpu, FAKE_MATMUL_UNWRITTEN), -EBADMSG);
        gpu_matmul_close(gpu);
    }
}

BEFORE_TESTS
{
    if (!gpu_matmul_load(&err))
        return 0;
    (void)printf("%s\n", err.msg);
    return 1;
}
