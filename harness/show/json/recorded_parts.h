/* Inside of recorded*.c: the steps of reading a result. */
#ifndef CONTEND_SHOW_JSON_RECORDED_PARTS_H
#define CONTEND_SHOW_JSON_RECORDED_PARTS_H

#include "harness/record/csv.h"
#include "harness/show/json/recorded.h"

/* Zeroed memory for n objects of that size, which recorded_free frees; NULL: no memory. */
void *recorded_alloc(struct recorded *recorded, size_t n, size_t size);

/* Far above any run: a larger count means that the file is damaged. */
enum { RECORDED_ARMS_MOST = 4096, RECORDED_WORKERS_MOST = 65536, RECORDED_ROUNDS_MOST = 1000000 };

/* run.json -> result: recorded_arms.c. */
int recorded_arms(struct recorded *recorded, const struct bench *const *benches, struct err *err);

/* rounds.csv -> analysis: recorded_tables.c. */
int recorded_tables(struct recorded *recorded, struct err *err);

#endif
