#include "kernels/gpu/gpu_common.h"

#include <errno.h>

static int major(int version)
{
    return version / 1000;
}

static int minor(int version)
{
    return version % 1000 / 10;
}

int gpu_reach_driver(int runtime)
{
    static const int least[] = {[11] = 450, [12] = 525, [13] = 580};
    size_t at = (size_t)major(runtime);
    return at < sizeof(least) / sizeof(least[0]) ? least[at] : 0;
}

int gpu_reach_check(int cc, const int *archs, size_t n, int runtime, struct err *err)
{
    int least = archs[0];
    for (size_t i = 1; i < n; i++)
        least = archs[i] < least ? archs[i] : least;
    if (cc >= least / 10)
        return 0;
    return err_set(
        err, -ENOTSUP,
        "it has compute capability %d.%d, and this program, built with CUDA %d.%d, serves "
        "%d.%d and later; a build with an older CUDA may serve it",
        cc / 10, cc % 10, major(runtime), minor(runtime), least / 100, least / 10 % 10);
}

int gpu_reach_refuse_driver(int driver, int runtime, struct err *err)
{
    int least = gpu_reach_driver(runtime);
    if (!least)
        return err_set(err, -ENOTSUP,
                       "the NVIDIA driver knows CUDA %d.%d at most, and this program was built "
                       "with %d.%d",
                       major(driver), minor(driver), major(runtime), minor(runtime));
    return err_set(err, -ENOTSUP,
                   "the NVIDIA driver knows CUDA %d.%d at most, and this program was built with "
                   "%d.%d, which needs driver %d or later: a build with CUDA %d serves it",
                   major(driver), minor(driver), major(runtime), minor(runtime), least,
                   major(driver));
}
