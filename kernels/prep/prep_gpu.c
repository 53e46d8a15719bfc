#include "kernels/prep/prep_gpu.h"

#include "kernels/prep/prep.h"
#include "kernels/prep/prep_isa.h"

struct prep_gpu_params prep_gpu_params_of(const struct prep_params *params)
{
    struct prep_power power = prep_power_of(params->lambda);
    return (struct prep_gpu_params){
        .rows = params->rows,
        .cols = params->cols,
        .block = params->block,
        .blocks = prep_blocks(params),
        .window = params->window,
        .hop = params->hop,
        .windows = prep_windows(params),
        .cov_cols = params->cov_cols,
        .pos = power.pos,
        .inv_pos = power.inv_pos,
        .neg = power.neg,
        .inv_neg = power.inv_neg,
        .alpha = params->alpha,
    };
}

void prep_gpu_sizes(const struct prep_gpu_params *params, size_t bytes[PREP_GPU_ARRAYS])
{
    size_t column = params->blocks * params->cols, batch = params->rows * params->cols;
    const size_t counts[PREP_GPU_ARRAYS] = {
        column,
        column,
        batch,
        params->rows * params->windows * PREP_WINDOW_FEATURES,
        params->blocks * params->cov_cols * params->cov_cols,
        batch,
    };
    for (int i = 0; i < PREP_GPU_ARRAYS; i++)
        bytes[i] = counts[i] * sizeof(float);
}

double prep_gpu_flops(const struct prep_gpu_params *params)
{
    double rows = (double)params->rows, values = rows * (double)params->cols;
    double windows = rows * (double)params->windows * (double)params->window;
    double pairs = (double)params->cov_cols * (double)params->cov_cols;
    return 5 * values + 40 * values + 7 * windows + 2 * rows * pairs + 3 * values;
}

double prep_gpu_bytes(const struct prep_gpu_params *params)
{
    size_t bytes[PREP_GPU_ARRAYS];
    double rows = (double)params->rows, batch = 4 * rows * (double)params->cols;
    prep_gpu_sizes(params, bytes);
    return 2 * batch + 2 * batch + batch + (double)bytes[3] + 4 * rows * (double)params->cov_cols +
           2 * batch;
}
