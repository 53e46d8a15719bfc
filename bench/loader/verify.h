/* Is a batch that a loader made the one it was to make? Outside the timing. */
#ifndef CONTEND_BENCH_LOADER_VERIFY_H
#define CONTEND_BENCH_LOADER_VERIFY_H

#include "bench/loader/load.h"

/*
 * A batch of C is made again, into scratch (as large as a batch), and has to be the same to the
 * bit; one of Python's is compared with its formula (batches.py). -EBADMSG names row and column.
 */
int verify_batch(const struct load *load, enum load_mode mode, struct token token, float *scratch,
                 struct err *err);

#endif
