/*
 * The kernels of STREAM, plus a read and a write, in vector code chosen at run time.
 *
 *   op      computes               bytes per element (as STREAM counts; no write-allocate)
 *   read    sum of x               8
 *   write   to[i] = q              8
 *   copy    to[i] = x[i]           16
 *   scale   to[i] = q x[i]         16
 *   add     to[i] = x[i] + y[i]    24
 *   triad   to[i] = x[i] + q y[i]  24
 *
 * Plain stores first read the line that they overwrite; non-temporal stores do not, and bypass the
 * caches. Non-temporal copy and scale walk 8 pages side by side, which gave up to 1.4x the
 * bandwidth of one page; all other kernels walk one page after the other (see stream.c). This is
 * part of the difference between copy and add. Any n; alignment to 8 bytes is enough. `to` may be
 * the same array as x or y, but must not overlap it with a shift. Source: J. McCalpin, STREAM
 * (cs.virginia.edu/stream).
 */
#ifndef CONTEND_KERNELS_CPU_STREAM_H
#define CONTEND_KERNELS_CPU_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum stream_op {
    STREAM_READ,
    STREAM_WRITE,
    STREAM_COPY,
    STREAM_SCALE,
    STREAM_ADD,
    STREAM_TRIAD,
    STREAM_OPS
};

enum stream_store { STREAM_PLAIN, STREAM_NT, STREAM_STORES };

/* Arrays that an op does not use may be NULL. */
struct stream_args {
    double *to;
    const double *x, *y;
    double q;
    size_t n; /* elements */
};

struct stream_isa {
    const char *name; /* "sse2", "avx2", "avx512"; "neon" or "generic" elsewhere */
    bool (*supported)(void);
    /* Returns the sum for a read, 0 for other ops. NULL: no such stores. */
    double (*kernel[STREAM_OPS][STREAM_STORES])(const struct stream_args *args);
};

/* NULL-terminated, from the baseline up. Call `supported` before use. */
extern const struct stream_isa *const stream_isas[];

/* The last supported entry of stream_isas. */
const struct stream_isa *stream_isa_best(void);

/* The entry `name`, supported or not; NULL: no such entry. */
const struct stream_isa *stream_isa_find(const char *name);

/* Bytes per element by the table above. */
unsigned stream_op_bytes(enum stream_op op);

#endif
