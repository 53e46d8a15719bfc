/*
 * Which of several algorithms multiplies fastest, by trials that end in time also where a product
 * takes seconds: fp64 on GPUs that have few units for it (A10, L4, T4: 1/32 or 1/64 of fp32).
 * Nothing of CUDA is in here.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_CHOOSE_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_CHOOSE_H

#ifdef __cplusplus
extern "C" {
#endif

struct matmul_trials {
    /* Seconds that the GPU took for `count` products by an algorithm; < 0: it does not work. */
    double (*multiply)(void *arg, int algorithm, unsigned count);
    void *arg;
    double spent_s; /* in all trials so far */
    double first_s; /* a product by algorithm 0, after matmul_choose; <= 0: it does not work */
};

/*
 * Seconds a product, after one that loads the code; where that one takes more than a second, it is
 * the trial. < 0: the algorithm does not work.
 */
double matmul_try(struct matmul_trials *trials, int algorithm);

/*
 * Chooses among algorithms 0..n-1, in the order of their promise; an earlier one stands unless a
 * later one is faster by more than trials differ. After eight seconds only those tried count.
 * *seconds is that of the best. -1: none works.
 */
int matmul_choose(struct matmul_trials *trials, int n, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
