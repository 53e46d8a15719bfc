#include "kernels/prep/prep_isa.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "kernels/prep/prep.h"

#define PREP_TARGET
#define PREP_FN(name) name##_baseline
#include "kernels/prep/prep_isa.inc"
#undef PREP_TARGET
#undef PREP_FN

static bool supported_baseline(void)
{
    return true;
}

#if defined(__x86_64__)
/* Attributes on functions, not flags on the file: the build needs no list of variants. */
#define PREP_TARGET __attribute__((target("avx2,fma")))
#define PREP_FN(name) name##_avx2
#include "kernels/prep/prep_isa.inc"
#undef PREP_TARGET
#undef PREP_FN

static bool supported_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define PREP_TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))
#define PREP_FN(name) name##_avx512
#include "kernels/prep/prep_isa.inc"
#undef PREP_TARGET
#undef PREP_FN

static bool supported_avx512(void)
{
    return supported_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}
#elif defined(__aarch64__)
#define PREP_TARGET __attribute__((target("+sve")))
#define PREP_FN(name) name##_sve
#include "kernels/prep/prep_isa.inc"
#undef PREP_TARGET
#undef PREP_FN

static bool supported_sve(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SVE;
}
#endif

#define PREP_ISA(isa)                                                                              \
    {                                                                                              \
        .name = #isa, .supported = supported_##isa, .moments = moments_##isa,                      \
        .transform = transform_##isa, .features = features_##isa, .covariance = covariance_##isa,  \
        .smooth = smooth_##isa,                                                                    \
    }

const struct prep_isa prep_isas[] = {
    PREP_ISA(baseline),
#if defined(__x86_64__)
    PREP_ISA(avx2),
    PREP_ISA(avx512),
#elif defined(__aarch64__)
    PREP_ISA(sve),
#endif
    {.name = NULL},
};

const struct prep_isa *prep_isa_best(void)
{
    const struct prep_isa *best = prep_isas;
    for (const struct prep_isa *isa = prep_isas; isa->name; isa++)
        if (isa->supported())
            best = isa;
    return best;
}

struct prep_power prep_power_of(float lambda)
{
    const float nearly_zero = 0x1p-60f;
    float pos = lambda == 0.0f ? nearly_zero : lambda;
    float neg = lambda == 2.0f ? nearly_zero : 2.0f - lambda;
    return (struct prep_power){
        .pos = pos, .inv_pos = 1.0f / pos, .neg = neg, .inv_neg = 1.0f / neg};
}
