#include <float.h>
#include <omp.h>
#include <stdatomic.h>

#include "kernels/prep/prep.h"
#include "kernels/prep/prep_isa.h"
#include "kernels/prep/prep_ref.h"
#include "tests/lib/unit.h"

/* A batch and all outputs, poisoned, as large as `params` needs. */
struct job {
    struct prep_params params;
    float *x;
    struct prep_out out;
};

static const struct prep_ref_sample all_rows = {0, 1};

static float *poisoned(size_t count)
{
    float *p = malloc(count * sizeof(*p));
    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = NAN;
    return p;
}

/* xorshift64*; skewed in both directions, scale and offset differ by column. */
static float skewed(uint64_t *state, size_t col)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    float u = (float)((*state * 0x2545f4914f6cdd1dull) >> 40) * 0x1p-24f;
    float v = u - 0.3f;
    return (float)(col % 7) - 3.0f + (col % 2 ? 10.0f : -0.5f) * v * v * v;
}

static void job_open(struct job *job, const struct prep_params *params)
{
    size_t cells = params->rows * params->cols, blocks = prep_blocks(params);
    uint64_t state = 42 + cells;
    job->params = *params;
    job->x = poisoned(cells);
    for (size_t i = 0; i < cells; i++)
        job->x[i] = skewed(&state, i % params->cols);
    job->out = (struct prep_out){
        .mean = poisoned(blocks * params->cols),
        .scale = poisoned(blocks * params->cols),
        .transformed = poisoned(cells),
        .features = poisoned(params->rows * prep_windows(params) * PREP_WINDOW_FEATURES),
        .covariance = poisoned(blocks * params->cov_cols * params->cov_cols),
        .smoothed = poisoned(cells),
    };
}

static void job_close(struct job *job)
{
    free(job->x);
    free(job->out.mean);
    free(job->out.scale);
    free(job->out.transformed);
    free(job->out.features);
    free(job->out.covariance);
    free(job->out.smoothed);
}

static void job_assert_right(const struct job *job)
{
    struct prep_diff diff;
    for (size_t b = 0; b < prep_blocks(&job->params); b++)
        if (prep_ref_check_block(&job->params, job->x, &job->out, b, &all_rows, &diff))
            fail_msg("%s, %zu x %zu, block %zu, lambda %g: %s[%zu][%zu] is %.9g, not %.9g +- %.2g",
                     job->params.isa->name, job->params.rows, job->params.cols, job->params.block,
                     (double)job->params.lambda, diff.stage, diff.row, diff.col, diff.got,
                     diff.want, diff.limit);
}

static const struct prep_params small = {.rows = 100,
                                         .cols = 67,
                                         .block = 32,
                                         .window = 16,
                                         .hop = 4,
                                         .cov_cols = 21,
                                         .lambda = 0.5f,
                                         .alpha = 0.1f,
                                         .threads = 1};

/* Runs `params` with every instruction set of this CPU; each must agree with the reference. */
static void assert_right_on_every_isa(const struct prep_params *params)
{
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++) {
        struct job job;
        if (!isa->supported())
            continue;
        job_open(&job, params);
        job.params.isa = isa;
        prep_run(&job.params, job.x, &job.out);
        job_assert_right(&job);
        job_close(&job);
    }
}

TEST(prep_shapes_agree_with_reference)
{
    static const struct {
        size_t rows, cols, block, window, hop, cov_cols;
    } shapes[] = {
        {1, 1, 1, 1, 1, 1},        {1, 512, 64, 32, 4, 64},   {64, 512, 64, 32, 4, 128},
        {65, 16, 64, 16, 16, 16},  {127, 15, 64, 3, 2, 15},   {63, 17, 7, 17, 1, 5},
        {200, 33, 200, 8, 8, 33},  {5, 1000, 64, 64, 16, 31}, {130, 129, 1, 5, 3, 2},
        {96, 31, 32, 31, 100, 31}, {3, 64, 2, 2, 1, 64},      {1000, 7, 999, 7, 1, 7},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (unsigned threads = 1; threads <= 5; threads += 2) {
            struct prep_params params = small;
            params.rows = shapes[i].rows;
            params.cols = shapes[i].cols;
            params.block = shapes[i].block;
            params.window = shapes[i].window;
            params.hop = shapes[i].hop;
            params.cov_cols = shapes[i].cov_cols;
            params.threads = threads;
            assert_right_on_every_isa(&params);
        }
}

TEST(prep_lambdas_agree_with_reference)
{
    static const float lambdas[] = {0,     2,      0.5f, 1,    -1,      -5,          5,
                                    1e-7f, -1e-7f, 1.5f, 2.5f, 1.9999f, 0.00390625f, 3};
    for (size_t i = 0; i < sizeof(lambdas) / sizeof(lambdas[0]); i++) {
        struct prep_params params = small;
        params.lambda = lambdas[i];
        assert_right_on_every_isa(&params);
    }
}

TEST(prep_alphas_agree_with_reference)
{
    static const float alphas[] = {1, 0.5f, 0.01f, 1e-4f};
    for (size_t i = 0; i < sizeof(alphas) / sizeof(alphas[0]); i++) {
        struct prep_params params = small;
        params.alpha = alphas[i];
        assert_right_on_every_isa(&params);
    }
}

/* float sums of 0.1 or 1e30 are inexact, yet constant columns have no variance: zeros, no NaN. */
TEST(prep_constant_columns_become_zeros)
{
    static const float constants[] = {0.1f, -1e30f, 0, 1e-30f, 16777217.0f};
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++) {
        struct job job;
        if (!isa->supported())
            continue;
        job_open(&job, &small);
        job.params.isa = isa;
        for (size_t i = 0; i < small.rows * small.cols; i++)
            if (i % small.cols % 3 == 0)
                job.x[i] = constants[i % small.cols / 3 % 5];
        prep_run(&job.params, job.x, &job.out);
        job_assert_right(&job);
        for (size_t i = 0; i < small.rows * small.cols; i++)
            if (i % small.cols % 3 == 0)
                assert_true(job.out.transformed[i] == 0);
        job_close(&job);
    }
}

TEST(prep_constant_batch_has_zero_features)
{
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++) {
        struct job job;
        if (!isa->supported())
            continue;
        job_open(&job, &small);
        job.params.isa = isa;
        for (size_t i = 0; i < small.rows * small.cols; i++)
            job.x[i] = 0.1f;
        prep_run(&job.params, job.x, &job.out);
        job_assert_right(&job);
        for (size_t i = 0; i < small.rows * prep_windows(&small) * PREP_WINDOW_FEATURES; i++)
            assert_true(job.out.features[i] == 0);
        job_close(&job);
    }
}

/*
 * One row through `transform` alone: with mean 0 and scale 1, z equals the input. The header
 * promises half the limit that the reference allows.
 */
static void assert_transform_accuracy(const struct prep_isa *isa, float lambda, double *worst)
{
    enum { COLS = 4001 };
    static float z[COLS], mean[COLS], scale[COLS], t[COLS];
    struct prep_power power = prep_power_of(lambda);
    for (int i = 0; i < COLS; i++) {
        float magnitude = exp2f(-20.0f + (float)i * (33.2f / COLS));
        z[i] = i % 2 ? magnitude : -magnitude;
        scale[i] = 1;
    }
    isa->transform(z, mean, scale, COLS, &power, t);
    for (int i = 0; i < COLS; i++) {
        double want = prep_ref_yeo_johnson(z[i], lambda);
        if (fabs(want) > FLT_MAX / 2)
            continue;
        double error = fabs(t[i] - want) / prep_ref_yeo_johnson_limit(z[i], lambda);
        *worst = fmax(*worst, error);
        if (!(error <= 0.5))
            fail_msg("%s: YJ(%.9g; %g) is %.9g, not %.9g", isa->name, (double)z[i], (double)lambda,
                     (double)t[i], want);
    }
}

TEST(prep_yeo_johnson_keeps_its_promised_accuracy)
{
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++) {
        double worst = 0;
        if (!isa->supported())
            continue;
        for (int eighths = -40; eighths <= 40; eighths++)
            assert_transform_accuracy(isa, (float)eighths / 8, &worst);
        print_message("%s: largest error is %.2f of the reference's limit\n", isa->name, worst);
    }
}

/* By hand: ((1+1)^0.5 - 1)/0.5, -((1+3)^1.5 - 1)/1.5, log 4, -log 3, the identity at lambda 1. */
TEST(prep_reference_yeo_johnson_by_hand)
{
    assert_true(fabs(prep_ref_yeo_johnson(1, 0.5) - 0.82842712474619) < 1e-13);
    assert_true(fabs(prep_ref_yeo_johnson(-3, 0.5) + 14.0 / 3) < 1e-13);
    assert_true(fabs(prep_ref_yeo_johnson(3, 0) - 1.38629436111989) < 1e-13);
    assert_true(fabs(prep_ref_yeo_johnson(-2, 2) + 1.09861228866811) < 1e-13);
    assert_true(fabs(prep_ref_yeo_johnson(-2.5, 1) + 2.5) < 1e-13);
    assert_true(fabs(prep_ref_yeo_johnson(2.5, 1) - 2.5) < 1e-13);
}

/* {1, 2, 6}: mean 3, m2 = (4+1+9)/3, m3 = (-8-1+27)/3 = 6. */
TEST(prep_reference_moments_by_hand)
{
    static const float values[] = {1, 9, 2, 9, 6, 9}, other[] = {2, 0, 1, 0, 0, 0};
    struct prep_ref_moments m = prep_ref_moments(values, 3, 2);
    assert_true(fabs(m.mean - 3) < 1e-15);
    assert_true(fabs(m.m2 - 14.0 / 3) < 1e-14);
    assert_true(fabs(m.m3 - 6) < 1e-14);
    assert_true(fabs(prep_ref_skewness(&m) - 6 / pow(14.0 / 3, 1.5)) < 1e-14);
    /* (-2*1 + -1*0 + 3*-1)/3 */
    assert_true(fabs(prep_ref_covariance(values, other, 3, 2) + 5.0 / 3) < 1e-14);
}

TEST(prep_reference_finds_one_wrong_value)
{
    ENDED_BY(job_close) struct job job;
    struct prep_diff diff;
    job_open(&job, &small);
    job.params.isa = prep_isa_best();
    prep_run(&job.params, job.x, &job.out);
    float *places[] = {
        &job.out.mean[3 * small.cols + 5],          &job.out.scale[3 * small.cols + 5],
        &job.out.transformed[99 * small.cols + 66], &job.out.features[99 * 13 * 3],
        &job.out.covariance[3 * 21 * 21 + 440],     &job.out.smoothed[98 * small.cols]};
    static const char *const names[] = {"mean",     "scale",      "transformed",
                                        "features", "covariance", "smoothed"};
    for (size_t i = 0; i < 6; i++) {
        float right = *places[i];
        *places[i] = right + 0.001f + 0.001f * fabsf(right);
        assert_int_equal(prep_ref_check_block(&job.params, job.x, &job.out, 3, &all_rows, &diff),
                         -EBADMSG);
        assert_string_equal(diff.stage, names[i]);
        *places[i] = NAN;
        assert_int_equal(prep_ref_check_block(&job.params, job.x, &job.out, 3, &all_rows, &diff),
                         -EBADMSG);
        *places[i] = right;
    }
    assert_int_equal(prep_ref_check_block(&job.params, job.x, &job.out, 3, &all_rows, &diff), 0);
    *places[5] = NAN; /* row 2 of the block's four */
    for (size_t first = 0; first < 4; first++) {
        const struct prep_ref_sample one = {first, 4};
        assert_int_equal(prep_ref_check_block(&job.params, job.x, &job.out, 3, &one, &diff),
                         first == 2 ? -EBADMSG : 0);
    }
}

/* One NaN affects its own column within its block, and nothing else. */
TEST(prep_nan_stays_in_its_block_and_column)
{
    enum { ROW = 40, COL = 9 };
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++) {
        struct job job;
        if (!isa->supported())
            continue;
        job_open(&job, &small);
        job.params.isa = isa;
        job.x[ROW * small.cols + COL] = NAN;
        prep_run(&job.params, job.x, &job.out);
        for (size_t i = 0; i < small.rows * small.cols; i++) {
            bool hit = i / small.cols / small.block == ROW / small.block && i % small.cols == COL;
            assert_int_equal(isnan(job.out.transformed[i]) != 0, hit);
        }
        job_close(&job);
    }
}

static void count_mark(void *arg)
{
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

TEST(prep_every_thread_marks_every_region)
{
    _Atomic unsigned marks = 0;
    ENDED_BY(job_close) struct job job;
    job_open(&job, &small);
    job.params.isa = prep_isa_best();
    job.params.threads = 3;
    job.params.mark = count_mark;
    job.params.mark_arg = &marks;
    assert_int_equal(prep_regions(&job.params), 4 * PREP_STAGES);
    prep_run(&job.params, job.x, &job.out);
    assert_int_equal(marks, 4 * PREP_STAGES * 3);
}

TEST(prep_result_does_not_depend_on_the_team)
{
    struct job one, many;
    job_open(&one, &small);
    job_open(&many, &small);
    one.params.isa = many.params.isa = prep_isa_best();
    many.params.threads = 7;
    prep_run(&one.params, one.x, &one.out);
    prep_run(&many.params, many.x, &many.out);
    size_t bytes = small.rows * small.cols * sizeof(float);
    assert_memory_equal(one.out.transformed, many.out.transformed, bytes);
    assert_memory_equal(one.out.smoothed, many.out.smoothed, bytes);
    job_close(&one);
    job_close(&many);
}

/* The thread that transformed each row of a batch; the batch begins at `first`. */
static struct {
    const float *first;
    unsigned thread[100];
} seen;

static void note_row(const float *x, const float *mean, const float *scale, size_t cols,
                     const struct prep_power *power, float *t)
{
    seen.thread[(size_t)(x - seen.first) / cols] = (unsigned)omp_get_thread_num();
    prep_isas[0].transform(x, mean, scale, cols, power, t);
}

/* Code that touches data first on behalf of the team asks prep_share_of, which splits each block,
 * not the batch. */
TEST(prep_shares_are_who_works)
{
    enum { ROWS = 100, BLOCK = 32, TEAM = 3 };
    struct prep_isa isa = prep_isas[0];
    isa.transform = note_row;
    struct prep_params params = {.rows = ROWS,
                                 .cols = 16,
                                 .block = BLOCK,
                                 .window = 4,
                                 .hop = 2,
                                 .cov_cols = 4,
                                 .lambda = 0.5f,
                                 .alpha = 0.1f,
                                 .threads = TEAM,
                                 .isa = &isa};
    ENDED_BY(job_close) struct job job;
    job_open(&job, &params);
    seen.first = job.x;
    prep_run(&params, job.x, &job.out);
    size_t noted = 0;
    for (size_t block = 0; block < prep_blocks(&params); block++)
        for (unsigned thread = 0; thread < TEAM; thread++) {
            struct prep_share share = prep_share_of(prep_block_rows(&params, block), thread, TEAM);
            for (size_t row = share.begin; row < share.end; row++, noted++)
                assert_int_equal(seen.thread[block * BLOCK + row], thread);
        }
    assert_int_equal(noted, ROWS);
}
