/*
 * The kernels of STREAM, and a read and a write beside them, in vector code chosen at run time.
 *
 *   op      computes               bytes counted an element (STREAM's; no write-allocate)
 *   read    sum of x               8
 *   write   to[i] = q              8
 *   copy    to[i] = x[i]           16
 *   scale   to[i] = q x[i]         16
 *   add     to[i] = x[i] + y[i]    24
 *   triad   to[i] = x[i] + q y[i]  24
 *
 * Plain stores first read the line that they overwrite; non-temporal ones do not, and go past the
 * caches. Non-temporal copy and scale walk 8 pages side by side, which gave up to 1.4x of one, all
 * others one page after the other (see stream.c): part of what copy has over add is the walk.
 * Any n, any alignment of 8 bytes. `to` may be the very array x or y, not a shifted one.
 * Source: J. McCalpin, STREAM (cs.virginia.edu/stream).
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
    /* Returns the sum for a read, 0 for the others. NULL where there are no such stores. */
    double (*kernel[STREAM_OPS][STREAM_STORES])(const struct stream_args *args);
};

/* NULL-terminated, ascending: the baseline first. Call `supported` before using one. */
extern const struct stream_isa *const stream_isas[];

/* The last supported one. */
const struct stream_isa *stream_isa_best(void);

/* NULL where there is none of that name, supported or not. */
const struct stream_isa *stream_isa_find(const char *name);

/* Bytes an element by the table above. */
unsigned stream_op_bytes(enum stream_op op);

#endif
