#include "kernels/prep/prep.h"

#include <omp.h>

#include "kernels/prep/prep_isa.h"

/* Columns of one cache line: no two threads write to the same line of mean and scale. */
enum { COLUMN_UNIT = 16 };

/* One block: pointers to its first row in each array. */
struct block {
    const struct prep_params *params;
    size_t rows;
    const float *x;
    struct prep_out out;
    size_t windows;
    struct prep_power power;
};

size_t prep_blocks(const struct prep_params *params)
{
    return (params->rows - 1) / params->block + 1;
}

size_t prep_windows(const struct prep_params *params)
{
    return (params->cols - params->window) / params->hop + 1;
}

size_t prep_block_rows(const struct prep_params *params, size_t index)
{
    size_t left = params->rows - index * params->block;
    return left < params->block ? left : params->block;
}

size_t prep_regions(const struct prep_params *params)
{
    return prep_blocks(params) * PREP_STAGES;
}

static void moments(const struct block *block, size_t begin, size_t end)
{
    size_t cols = block->params->cols;
    size_t first = begin * COLUMN_UNIT;
    size_t last = end * COLUMN_UNIT < cols ? end * COLUMN_UNIT : cols;
    block->params->isa->moments(block->x + first, block->rows, last - first, cols,
                                block->out.mean + first, block->out.scale + first);
}

static void transform(const struct block *block, size_t begin, size_t end)
{
    size_t cols = block->params->cols;
    for (size_t r = begin; r < end; r++)
        block->params->isa->transform(block->x + r * cols, block->out.mean, block->out.scale, cols,
                                      &block->power, block->out.transformed + r * cols);
}

static void features(const struct block *block, size_t begin, size_t end)
{
    const struct prep_params *params = block->params;
    struct prep_windowing windows = {
        .window = params->window, .hop = params->hop, .count = block->windows};
    for (size_t r = begin; r < end; r++)
        params->isa->features(block->out.transformed + r * params->cols, &windows,
                              block->out.features + r * windows.count * PREP_WINDOW_FEATURES);
}

static void covariance(const struct block *block, size_t begin, size_t end)
{
    const struct prep_params *params = block->params;
    params->isa->covariance(block->out.transformed, block->rows, params->cov_cols, params->cols,
                            begin, end, block->out.covariance);
}

static void smooth(const struct block *block, size_t begin, size_t end)
{
    const struct prep_params *params = block->params;
    for (size_t r = begin; r < end; r++)
        params->isa->smooth(block->out.transformed + r * params->cols, params->cols, params->alpha,
                            block->out.smoothed + r * params->cols);
}

static size_t column_units(const struct block *block)
{
    return (block->params->cols - 1) / COLUMN_UNIT + 1;
}

static size_t row_units(const struct block *block)
{
    return block->rows;
}

static size_t covariance_units(const struct block *block)
{
    return block->params->cov_cols;
}

static const struct {
    size_t (*units)(const struct block *block); /* number of work units that the team shares */
    void (*run)(const struct block *block, size_t begin, size_t end);
} stages[PREP_STAGES] = {
    [PREP_MOMENTS] = {column_units, moments}, [PREP_TRANSFORM] = {row_units, transform},
    [PREP_FEATURES] = {row_units, features},  [PREP_COVARIANCE] = {covariance_units, covariance},
    [PREP_SMOOTH] = {row_units, smooth},
};

/* Runs one parallel region: opens the team, splits the stage's units evenly, joins. */
static void run_region(const struct block *block, enum prep_stage stage)
{
    const struct prep_params *params = block->params;
    size_t units = stages[stage].units(block);
#pragma omp parallel num_threads((int)params->threads)
    {
        if (params->mark)
            params->mark(params->mark_arg);
        unsigned thread = (unsigned)omp_get_thread_num(), team = (unsigned)omp_get_num_threads();
        if (thread == 0 && params->least_team && team < *params->least_team)
            *params->least_team = team;
        struct prep_share share = prep_share_of(units, thread, team);
        if (share.begin < share.end)
            stages[stage].run(block, share.begin, share.end);
    }
    if (params->done)
        params->done(params->done_arg, stage);
}

static struct block block_at(const struct prep_params *params, const float *in,
                             const struct prep_out *out, size_t index)
{
    size_t row = index * params->block, windows = prep_windows(params);
    return (struct block){
        .params = params,
        .rows = prep_block_rows(params, index),
        .x = in + row * params->cols,
        .out = {.mean = out->mean + index * params->cols,
                .scale = out->scale + index * params->cols,
                .transformed = out->transformed + row * params->cols,
                .features = out->features + row * windows * PREP_WINDOW_FEATURES,
                .covariance = out->covariance + index * params->cov_cols * params->cov_cols,
                .smoothed = out->smoothed + row * params->cols},
        .windows = windows,
        .power = prep_power_of(params->lambda),
    };
}

void prep_run(const struct prep_params *params, const float *in, const struct prep_out *out)
{
    size_t blocks = prep_blocks(params);
    for (size_t index = 0; index < blocks; index++) {
        struct block block = block_at(params, in, out, index);
        for (enum prep_stage stage = 0; stage < PREP_STAGES; stage++)
            run_region(&block, stage);
    }
}
