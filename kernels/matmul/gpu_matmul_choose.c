#include "kernels/matmul/gpu_matmul_choose.h"

enum { TRIALS = 2, PASSES = 2, MOST = 16 };

static const double slow_s = 1, limit_s = 8;

static double multiply(struct matmul_trials *trials, int algorithm, unsigned count)
{
    double seconds = trials->multiply(trials->arg, algorithm, count);
    trials->spent_s += seconds > 0 ? seconds : 0;
    return seconds < 0 ? -1 : seconds / count;
}

double matmul_try(struct matmul_trials *trials, int algorithm)
{
    double first_s = multiply(trials, algorithm, 1);
    return first_s < 0 || first_s > slow_s ? first_s : multiply(trials, algorithm, TRIALS);
}

static int best_of(const double *seconds, int n)
{
    static const double clearly = 0.99;
    int best = -1;
    for (int i = 0; i < n; i++)
        if (seconds[i] > 0 && (best < 0 || seconds[i] < clearly * seconds[best]))
            best = i;
    return best;
}

/* The faster of the passes counts, because in the first one the GPU's clocks may still rise. */
int matmul_choose(struct matmul_trials *trials, int n, double *seconds)
{
    double took_s[MOST] = {0};
    n = n < MOST ? n : MOST;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < n; i++) {
            if (took_s[i] < 0 || (trials->spent_s >= limit_s && best_of(took_s, n) >= 0))
                continue;
            double now_s = matmul_try(trials, i);
            if (pass == 0 || now_s < took_s[i])
                took_s[i] = now_s;
        }
    int best = best_of(took_s, n);
    trials->first_s = took_s[0];
    if (best >= 0)
        *seconds = took_s[best];
    return best;
}
