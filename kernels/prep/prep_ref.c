#include "kernels/prep/prep_ref.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double eps = 0x1p-24;

struct prep_ref_moments prep_ref_moments(const float *values, size_t n, size_t stride)
{
    struct prep_ref_moments m = {0};
    for (size_t i = 0; i < n; i++) {
        m.mean += values[i * stride];
        m.spread = fmax(m.spread, fabs((double)values[i * stride] - (double)values[0]));
    }
    m.mean /= (double)n;
    if (m.spread == 0) /* keeps the sum's rounding out of exactly constant values */
        m.mean = values[0];
    for (size_t i = 0; i < n; i++) {
        double d = values[i * stride] - m.mean;
        m.m2 += d * d / (double)n;
        m.m3 += d * d * d / (double)n;
    }
    return m;
}

double prep_ref_skewness(const struct prep_ref_moments *moments)
{
    return moments->m2 >= (double)FLT_MIN ? moments->m3 / pow(moments->m2, 1.5) : 0.0;
}

double prep_ref_yeo_johnson(double z, double lambda)
{
    if (z >= 0)
        return lambda == 0 ? log1p(z) : expm1(lambda * log1p(z)) / lambda;
    double p = 2 - lambda;
    return p == 0 ? -log1p(-z) : -expm1(p * log1p(-z)) / p;
}

double prep_ref_yeo_johnson_limit(double z, double lambda)
{
    double p = z >= 0 ? lambda : 2 - lambda;
    double log_u = log1p(fabs(z));
    double slope_term = fabs(z) * exp((p - 1) * log_u);
    double size = fmax(fabs(prep_ref_yeo_johnson(z, lambda)), slope_term);
    return eps * (8 + 8 * fabs(p * log_u)) * size;
}

double prep_ref_covariance(const float *a, const float *b, size_t n, size_t stride)
{
    double mean_a = 0, mean_b = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        mean_a += a[i * stride] / (double)n;
        mean_b += b[i * stride] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        sum += (a[i * stride] - mean_a) * (b[i * stride] - mean_b);
    return sum / (double)n;
}

/* The input of a stage's comparison: the block's rows of each array. */
struct view {
    const struct prep_params *params;
    struct prep_ref_sample sample;
    size_t index, first_row, rows, windows;
    const float *x, *mean, *scale, *t, *features, *covariance, *smoothed;
};

/* True if `got` is within `limit` of `want`; if not, copies the value to *diff. */
static bool within(struct prep_diff *diff, const struct prep_diff *value)
{
    if (fabs(value->got - value->want) <= value->limit)
        return true;
    *diff = *value;
    return false;
}

static bool check_moments(const struct view *v, struct prep_diff *diff)
{
    for (size_t c = v->sample.first; c < v->params->cols; c += v->sample.step) {
        struct prep_ref_moments m = prep_ref_moments(v->x + c, v->rows, v->params->cols);
        double n = (double)v->rows;
        double scale = m.m2 >= (double)FLT_MIN ? 1 / sqrt(m.m2) : 0;
        struct prep_diff mean = {.stage = "mean",
                                 .row = v->index,
                                 .col = c,
                                 .got = v->mean[c],
                                 .want = m.mean,
                                 .limit = eps * (2 * fabs(m.mean) + (n + 4) * m.spread)};
        struct prep_diff inverse = {.stage = "scale",
                                    .row = v->index,
                                    .col = c,
                                    .got = v->scale[c],
                                    .want = scale,
                                    .limit = eps * (n + 8 + 8 * scale * m.spread) * scale};
        if (!within(diff, &mean) || !within(diff, &inverse))
            return false;
    }
    return true;
}

static bool check_transform(const struct view *v, struct prep_diff *diff)
{
    size_t cols = v->params->cols;
    double lambda = v->params->lambda;
    for (size_t r = v->sample.first; r < v->rows; r += v->sample.step)
        for (size_t c = 0; c < cols; c++) {
            double z = ((double)v->x[r * cols + c] - v->mean[c]) * v->scale[c];
            struct prep_diff value = {.stage = "transformed",
                                      .row = v->first_row + r,
                                      .col = c,
                                      .got = v->t[r * cols + c],
                                      .want = prep_ref_yeo_johnson(z, lambda),
                                      .limit = prep_ref_yeo_johnson_limit(z, lambda)};
            if (!within(diff, &value))
                return false;
        }
    return true;
}

static bool check_window(const float *values, const float *got, size_t window,
                         const struct prep_diff *where, struct prep_diff *diff)
{
    struct prep_ref_moments m = prep_ref_moments(values, window, 1);
    double w = (double)window, sd = sqrt(m.m2);
    double ratio = m.m2 >= (double)FLT_MIN ? m.spread / sd : 0;
    double want[] = {m.mean, m.m2, prep_ref_skewness(&m)};
    double limit[] = {eps * (2 * fabs(m.mean) + (w + 4) * m.spread),
                      eps * (w + 8) * (m.m2 + m.spread * sd),
                      eps * (w + 8) * (1 + ratio * ratio * ratio)};
    for (size_t i = 0; i < PREP_WINDOW_FEATURES; i++) {
        struct prep_diff value = *where;
        value.col += i;
        value.got = got[i];
        value.want = want[i];
        value.limit = limit[i];
        if (!within(diff, &value))
            return false;
    }
    return true;
}

static bool check_features(const struct view *v, struct prep_diff *diff)
{
    const struct prep_params *params = v->params;
    for (size_t r = v->sample.first; r < v->rows; r += v->sample.step)
        for (size_t k = 0; k < v->windows; k++) {
            struct prep_diff where = {
                .stage = "features", .row = v->first_row + r, .col = k * PREP_WINDOW_FEATURES};
            if (!check_window(v->t + r * params->cols + k * params->hop,
                              v->features + (r * v->windows + k) * PREP_WINDOW_FEATURES,
                              params->window, &where, diff))
                return false;
        }
    return true;
}

static double covariance_limit(const float *a, const float *b, size_t n, size_t stride)
{
    double sum = 0, largest = 0;
    double mean = prep_ref_moments(a, n, stride).mean;
    for (size_t i = 0; i < n; i++) {
        sum += fabs((a[i * stride] - mean) * b[i * stride]);
        largest = fmax(largest, fmax(fabs((double)a[i * stride]), fabs((double)b[i * stride])));
    }
    return eps * ((double)n + 8) * sum / (double)n + eps * largest * largest * (double)n;
}

static bool check_covariance(const struct view *v, struct prep_diff *diff)
{
    size_t n = v->params->cov_cols, cols = v->params->cols;
    for (size_t i = v->sample.first; i < n * n; i += v->sample.step) {
        const float *a = v->t + i / n, *b = v->t + i % n;
        struct prep_diff value = {.stage = "covariance",
                                  .row = v->index * n + i / n,
                                  .col = i % n,
                                  .got = v->covariance[i],
                                  .want = prep_ref_covariance(a, b, v->rows, cols),
                                  .limit = covariance_limit(a, b, v->rows, cols)};
        if (!within(diff, &value))
            return false;
    }
    return true;
}

static bool check_smooth(const struct view *v, struct prep_diff *diff)
{
    double alpha = v->params->alpha;
    for (size_t r = v->sample.first; r < v->rows; r += v->sample.step) {
        const float *t = v->t + r * v->params->cols;
        double y = t[0], largest = 0;
        for (size_t c = 0; c < v->params->cols; c++) {
            y = alpha * t[c] + (1 - alpha) * y;
            largest = fmax(largest, fabs((double)t[c]));
            struct prep_diff value = {.stage = "smoothed",
                                      .row = v->first_row + r,
                                      .col = c,
                                      .got = v->smoothed[r * v->params->cols + c],
                                      .want = y,
                                      .limit = 4 * eps * largest / alpha};
            if (!within(diff, &value))
                return false;
        }
    }
    return true;
}

int prep_ref_check_block(const struct prep_params *params, const float *in,
                         const struct prep_out *out, size_t index,
                         const struct prep_ref_sample *sample, struct prep_diff *diff)
{
    size_t row = index * params->block, windows = prep_windows(params);
    struct view view = {
        .params = params,
        .sample = *sample,
        .index = index,
        .first_row = row,
        .rows = prep_block_rows(params, index),
        .windows = windows,
        .x = in + row * params->cols,
        .mean = out->mean + index * params->cols,
        .scale = out->scale + index * params->cols,
        .t = out->transformed + row * params->cols,
        .features = out->features + row * windows * PREP_WINDOW_FEATURES,
        .covariance = out->covariance + index * params->cov_cols * params->cov_cols,
        .smoothed = out->smoothed + row * params->cols,
    };
    bool good = check_moments(&view, diff) && check_transform(&view, diff) &&
                check_features(&view, diff) && check_covariance(&view, diff) &&
                check_smooth(&view, diff);
    return good ? 0 : -EBADMSG;
}
