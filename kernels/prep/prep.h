/*
 * CPU preprocessing of a float32 batch, as a data loader does it before a GPU step: one OpenMP
 * region per operation, over the whole batch or over blocks of its rows.
 *
 * The batch is rows x cols, row-major without padding. It is processed in blocks of `block` rows;
 * the last block may be shorter. Each block of n rows opens one parallel region per stage, so five,
 * each split evenly over the team. Statistics are per block and column. With x the input:
 *
 *   1 moments     m_j  = 1/n sum_r x_rj                      s_j = 1/sqrt(1/n sum_r (x_rj - m_j)^2)
 *                 s_j = 0 where the variance is below FLT_MIN: a constant column becomes zeros.
 *   2 transform   t_rj = YJ((x_rj - m_j) s_j; lambda)        z-score, then Yeo-Johnson:
 *                 YJ(z >= 0) =  ((1 + z)^lambda - 1) / lambda,              log(1 + z) at lambda 0
 *                 YJ(z < 0)  = -((1 - z)^(2 - lambda) - 1) / (2 - lambda), -log(1 - z) at lambda 2
 *   3 features    of each window t_r,kh .. t_r,kh+w-1 (w = window, h = hop, k = 0, 1, .. while the
 *                 window fits the row): mean, m2, and skewness g1 = m3 / m2^(3/2), with
 *                 m_i = 1/w sum (t - mean)^i; g1 = 0 where m2 is below FLT_MIN.
 *   4 covariance  C_ij = 1/n sum_r (t_ri - a_i)(t_rj - a_j), a_j = 1/n sum_r t_rj, over the first
 *                 cov_cols columns: a small matrix product.
 *   5 smooth      y_r0 = t_r0, y_rj = alpha t_rj + (1 - alpha) y_r,j-1: exponentially weighted
 *                 moving average, sequential along a row.
 *
 * No allocation, no I/O, no errors: the caller ensures valid parameters (below). NaN and infinite
 * input spreads through its column and row by IEEE arithmetic.
 *
 * Accuracy: YJ is expm1(p log1p|z|) / p in float, with the polynomials of prep_isa.inc. Its error
 * is at most 4 (1 + p log(1 + |z|)) 2^-24 relative to max(|YJ(z)|, |z dYJ/dz|) for |z| <= 1e4 and
 * lambda -5 to 5 (measured; test_prep checks it). prep_ref.h has the limits of the other stages.
 *
 * Sources: Yeo & Johnson, Biometrika 87 (2000) 954-959; Chan, Golub & LeVeque, American
 * Statistician 37 (1983) 242-247 (shifted two-pass variance); Joanes & Gill, The Statistician 47
 * (1998) 183-189 (g1); Roberts, Technometrics 1 (1959) 239-250 (EWMA).
 */
#ifndef CONTEND_KERNELS_PREP_PREP_H
#define CONTEND_KERNELS_PREP_PREP_H

#include <stddef.h>

struct prep_isa;

enum prep_stage {
    PREP_MOMENTS,
    PREP_TRANSFORM,
    PREP_FEATURES,
    PREP_COVARIANCE,
    PREP_SMOOTH,
    PREP_STAGES
};

/* Values per window: mean, m2, g1, in this order. */
enum { PREP_WINDOW_FEATURES = 3 };

struct prep_params {
    size_t rows, cols;          /* of the batch, >= 1 */
    size_t block;               /* rows per block, >= 1 */
    size_t window, hop;         /* elements, 1 <= window <= cols, hop >= 1 */
    size_t cov_cols;            /* 1 <= cov_cols <= cols */
    float lambda;               /* -5 to 5 */
    float alpha;                /* 0 < alpha <= 1 */
    unsigned threads;           /* size of the team, >= 1 */
    const struct prep_isa *isa; /* prep_isa_best(), or another supported one */
    void (*mark)(void *arg);    /* each thread calls it first in every region; may be NULL */
    void *mark_arg;
    /* The caller's thread calls it after every region; may be NULL. */
    void (*done)(void *arg, enum prep_stage stage);
    void *done_arg;
    unsigned *least_team; /* lowered to a region's team size if that is less; may be NULL */
};

/* Caller's arrays, all row-major; none may overlap another or the input. */
struct prep_out {
    float *mean;        /* [blocks][cols]: m */
    float *scale;       /* [blocks][cols]: s */
    float *transformed; /* [rows][cols]: t */
    float *features;    /* [rows][windows][PREP_WINDOW_FEATURES] */
    float *covariance;  /* [blocks][cov_cols][cov_cols]: C */
    float *smoothed;    /* [rows][cols]: y */
};

size_t prep_blocks(const struct prep_params *params);
size_t prep_windows(const struct prep_params *params); /* per row */

/* Rows of block `index`: `block`, or fewer in the last one. */
size_t prep_block_rows(const struct prep_params *params, size_t index);

/* Parallel regions that one prep_run opens. */
size_t prep_regions(const struct prep_params *params);

/*
 * The part begin..end-1 of a block's units that a thread works on; units are rows, except for
 * moments and covariance. Code that first touches data for the team (NUMA) must split each block
 * alike.
 */
struct prep_share {
    size_t begin, end;
};
static inline struct prep_share prep_share_of(size_t units, unsigned thread, unsigned team)
{
    return (struct prep_share){units * thread / team, units * (thread + 1) / team};
}

/* Preprocesses `in` (rows x cols) into `out`. */
void prep_run(const struct prep_params *params, const float *in, const struct prep_out *out);

#endif
