/* Inside of recorded*.c: the steps of reading a result. */
#ifndef CONTEND_STORE_RECORDED_PARTS_H
#define CONTEND_STORE_RECORDED_PARTS_H

#include "harness/store/csv.h"
#include "harness/store/recorded.h"

/* Zeroed memory that lives as long as what was read; NULL: no memory. */
void *recorded_keep(struct recorded *recorded, size_t n, size_t size);

/* run.json -> result: recorded_arms.c. */
int recorded_arms(struct recorded *recorded, const struct bench *const *benches, struct err *err);

/* run.json -> machine: recorded_machine.c. */
void recorded_machine(struct recorded *recorded);

/* rounds.csv and rows.csv -> analysis: recorded_tables.c. */
int recorded_tables(struct recorded *recorded, struct err *err);

#endif
