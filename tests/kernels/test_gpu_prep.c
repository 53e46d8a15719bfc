/* Preprocessing on the GPU against the CPU's reference, every value. Exits 77 without a GPU. */

#include "kernels/gpu/gpu_common.h"
#include "kernels/gpu/gpu_ref.h"
#include "kernels/gpu/gpu_step.h"
#include "kernels/prep/prep.h"
#include "kernels/prep/prep_ref.h"
#include "tests/lib/unit.h"

enum { PAGE = 4096 };

static const struct prep_params shapes[] = {
    ENTRY(.rows = 2048, .cols = 512, .block = 2048, .window = 32, .hop = 4, .cov_cols = 128,
          .lambda = 0.5f, .alpha = 0.1f),
    ENTRY(.rows = 200, .cols = 70, .block = 64, .window = 32, .hop = 4, .cov_cols = 70, .lambda = 0,
          .alpha = 1),
    ENTRY(.rows = 65, .cols = 33, .block = 65, .window = 33, .hop = 4, .cov_cols = 17, .lambda = 2,
          .alpha = 0.5f),
    ENTRY(.rows = 5, .cols = 1, .block = 1, .window = 1, .hop = 1, .cov_cols = 1, .lambda = -1.5f,
          .alpha = 0.3f),
};

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    assert_non_null(memory);
    memset(memory, 0xff, bytes);
    return memory;
}

/* Skewed values with an offset for each column, and one constant column. */
static void fill(float *batch, const struct prep_params *shape)
{
    for (size_t i = 0; i < shape->rows * shape->cols; i++) {
        float v = (float)((i * 7919) % 2003) / 2003.0f - 0.3f;
        size_t col = i % shape->cols;
        batch[i] = col == 3 ? 7.0f : (float)(col % 5) - 2.0f + 8.0f * v * v * v;
    }
}

static void assert_prepared(const struct prep_params *shape, const float *batch,
                            const struct prep_gpu_arrays *got)
{
    const struct prep_out out = {got->mean,     got->scale,      got->transformed,
                                 got->features, got->covariance, got->smoothed};
    const struct prep_ref_sample all = {0, 1};
    struct prep_diff diff;
    for (size_t block = 0; block < prep_blocks(shape); block++)
        if (prep_ref_check_block(shape, batch, &out, block, &all, &diff))
            fail_msg("%zu x %zu: %s[%zu][%zu] is %.9g, not %.9g +- %.2g", shape->rows, shape->cols,
                     diff.stage, diff.row, diff.col, diff.got, diff.want, diff.limit);
}

/* The passes start from the smoothed values. */
static void assert_passes(const struct prep_params *shape, const float *smoothed, const float *got)
{
    size_t cols = shape->cols;
    float *weights = malloc(cols * cols * sizeof(*weights));
    double *scratch = malloc(2 * cols * sizeof(*scratch));
    assert_true(weights && scratch);
    gpu_ref_weights(cols, weights);
    const double *want = gpu_ref_row(smoothed, weights, cols, 2, scratch, scratch + cols);
    double limit = gpu_ref_limit(smoothed, cols, 2);
    for (size_t c = 0; c < cols; c++)
        if (!(fabs((double)got[c] - want[c]) <= limit))
            fail_msg("result[0][%zu] is %.9g, not %.9g +- %.2g", c, (double)got[c], want[c], limit);
    free(scratch);
    free(weights);
}

TEST(gpu_prep_agrees_with_the_reference)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct prep_gpu_params prep = prep_gpu_params_of(&shapes[i]);
        size_t bytes[PREP_GPU_ARRAYS];
        float *array[PREP_GPU_ARRAYS];
        float *host = allocate(shapes[i].rows * shapes[i].cols * sizeof(float));
        const struct gpu_step_config config = {.rows = shapes[i].rows,
                                               .cols = shapes[i].cols,
                                               .slots = 1,
                                               .work = 2,
                                               .pinned = true,
                                               .in_order = i % 2,
                                               .prep = &prep,
                                               .host = &host};
        struct gpu_step *gpu;
        struct gpu_step_took took = {0};
        struct err err = {0};
        prep_gpu_sizes(&prep, bytes);
        for (int a = 0; a < PREP_GPU_ARRAYS; a++)
            array[a] = allocate(bytes[a]);
        const struct prep_gpu_arrays arrays = {array[0], array[1], array[2],
                                               array[3], array[4], array[5]};
        fill(host, &shapes[i]);
        if (gpu_step_open(&config, &gpu, &err) || gpu_step_poison(gpu, &err) ||
            gpu_step_submit(gpu, 0, &err) || gpu_step_wait(gpu, 0, &took, &err) ||
            gpu_step_read_prep(gpu, &arrays, &err))
            fail_msg("%s", err.msg);
        assert_prepared(&shapes[i], host, &arrays);
        assert_passes(&shapes[i], arrays.smoothed, gpu_step_result(gpu, 0));
        assert_true(took.prep_ns > 0 && took.work_ns > 0 && took.copy_ns > 0);
        gpu_step_close(gpu);
        for (int a = 0; a < PREP_GPU_ARRAYS; a++)
            free(array[a]);
        free(host);
    }
}

/* Any GPU that runs this program does more than 1 TFLOP/s and 50 GB/s, and less than 1000 times
 * that. */
TEST(gpu_prep_peak_is_that_of_a_gpu)
{
    float *host = allocate(PAGE);
    const struct gpu_step_config config = {
        .rows = 8, .cols = 8, .slots = 1, .work = 1, .pinned = true, .host = &host};
    struct gpu_step *gpu;
    struct err err = {0};
    double flops, bytes;
    if (gpu_step_open(&config, &gpu, &err))
        fail_msg("%s", err.msg);
    gpu_step_peak(gpu, &flops, &bytes);
    (void)printf("peak: %.3g FLOP/s, %.3g B/s\n", flops, bytes);
    assert_true(flops == 0 || (flops > 1e12 && flops < 1e15));
    assert_true(bytes == 0 || (bytes > 5e10 && bytes < 5e13));
    gpu_step_close(gpu);
    free(host);
}

BEFORE_TESTS
{
    struct err why = {0};
    if (gpu_count(&why) > 0)
        return 0;
    (void)printf("SKIP: needs a GPU: %s\n", why.msg);
    return UNIT_SKIPPED;
}
