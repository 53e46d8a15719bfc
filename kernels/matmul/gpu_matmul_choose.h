/*
 * Finds the fastest of several algorithms by trials, which end in time even if a product takes
 * seconds: fp64 on GPUs with few fp64 units (A10, L4, T4: 1/32 or 1/64 of fp32). No CUDA in here.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_CHOOSE_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_CHOOSE_H

#ifdef __cplusplus
extern "C" {
#endif

struct matmul_trials {
    /* Seconds that the GPU takes for `count` products by an algorithm; < 0: it does not work. */
    double (*multiply)(void *arg, int algorithm, unsigned count);
    void *arg;
    double spent_s; /* in all trials so far */
    double first_s; /* per product by algorithm 0, set by matmul_choose; <= 0: does not work */
};

/*
 * Seconds per product, after a first product that loads the code. If the first one takes more than
 * a second, it is the result. < 0: the algorithm does not work.
 */
double matmul_try(struct matmul_trials *trials, int algorithm);

/*
 * Chooses among algorithms 0..n-1, which are in order of expected speed. A later one wins only if
 * it is faster by more than trials differ. After eight seconds only algorithms tried so far count.
 * *seconds is that of the best. -1: none works.
 */
int matmul_choose(struct matmul_trials *trials, int n, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
