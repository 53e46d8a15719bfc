/* Checks that a loader made the right batch. Outside the timing. */
#ifndef CONTEND_BENCH_LOADER_VERIFY_H
#define CONTEND_BENCH_LOADER_VERIFY_H

#include "bench/loader/load.h"

/*
 * A batch of C must equal, bit by bit, the same batch made again into scratch (the size of a
 * batch). A batch of Python is compared with its formula (batches.py). -EBADMSG names row and
 * column.
 */
int verify_batch(const struct load *load, enum load_mode mode, struct token token, float *scratch,
                 struct err *err);

#endif
