#include "kernels/cpu/stream.h"

#include <stdint.h>
#include <string.h>

/*
 * Vectors of each array per iteration; doubles in a 4 KiB page; pages that a non-temporal copy
 * walks side by side. Prefetchers stop at page ends, so with one page after the other they are idle
 * at the start of each page. 8 pages side by side gave 1.25x to 1.4x of one on a Xeon with AVX-512,
 * where kernels with two sources gained nothing. glibc's memcpy walks 4 pages.
 */
enum { STREAM_UNROLL = 4, STREAM_PAGE = 512, STREAM_COPY_PAGES = 8 };

#if defined(__x86_64__)
#include <immintrin.h>
#define STREAM_HAS_NT /* stream.inc: there are non-temporal stores */
#define FENCE() _mm_sfence()

#define STREAM_NAME "sse2"
#define STREAM_TARGET
#define STREAM_FN(name) name##_sse2
#define STREAM_VEC __m128d
#define LOAD(p) _mm_loadu_pd(p)
#define STORE(p, v) _mm_store_pd(p, v)
#define STREAM_OUT(p, v) _mm_stream_pd(p, v)
#define SET1(s) _mm_set1_pd(s)
static bool supported_sse2(void)
{
    return true;
}
#include "kernels/cpu/stream.inc"

#define STREAM_NAME "avx2"
#define STREAM_TARGET __attribute__((target("avx2,fma")))
#define STREAM_FN(name) name##_avx2
#define STREAM_VEC __m256d
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_store_pd(p, v)
#define STREAM_OUT(p, v) _mm256_stream_pd(p, v)
#define SET1(s) _mm256_set1_pd(s)
static bool supported_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#include "kernels/cpu/stream.inc"

#define STREAM_NAME "avx512"
#define STREAM_TARGET __attribute__((target("avx512f")))
#define STREAM_FN(name) name##_avx512
#define STREAM_VEC __m512d
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_store_pd(p, v)
#define STREAM_OUT(p, v) _mm512_stream_pd(p, v)
#define SET1(s) _mm512_set1_pd(s)
static bool supported_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}
#include "kernels/cpu/stream.inc"

const struct stream_isa *const stream_isas[] = {&isa_sse2, &isa_avx2, &isa_avx512, NULL};

#else
/* The compiler's 16-byte vectors: NEON on aarch64. Plain stores only. */
typedef double pair __attribute__((vector_size(16)));

static inline pair load_pair(const double *p)
{
    pair v;
    memcpy(&v, p, sizeof(v));
    return v;
}

#if defined(__aarch64__)
#define STREAM_NAME "neon"
#else
#define STREAM_NAME "generic"
#endif
#define STREAM_TARGET
#define STREAM_FN(name) name##_generic
#define STREAM_VEC pair
#define LOAD(p) load_pair(p)
#define STORE(p, v) (*(pair *)(void *)(p) = (v))
#define STREAM_OUT(p, v) STORE(p, v)
#define SET1(s) ((pair){(s), (s)})
#define FENCE() ((void)0)
static bool supported_generic(void)
{
    return true;
}
#include "kernels/cpu/stream.inc"

#if defined(__aarch64__)
#include <arm_sve.h>
#include <sys/auxv.h>

#include "kernels/cpu/stream_sve.inc"
const struct stream_isa *const stream_isas[] = {&isa_generic, &isa_sve, NULL};
#else
const struct stream_isa *const stream_isas[] = {&isa_generic, NULL};
#endif
#endif

const struct stream_isa *stream_isa_best(void)
{
    const struct stream_isa *best = stream_isas[0];
    for (const struct stream_isa *const *isa = stream_isas; *isa; isa++)
        if ((*isa)->supported())
            best = *isa;
    return best;
}

const struct stream_isa *stream_isa_find(const char *name)
{
    for (const struct stream_isa *const *isa = stream_isas; *isa; isa++)
        if (strcmp((*isa)->name, name) == 0)
            return *isa;
    return NULL;
}

unsigned stream_op_bytes(enum stream_op op)
{
    static const unsigned bytes[] = {8, 8, 16, 16, 24, 24};
    return bytes[op];
}
