/* Inside of recorded*.c: the steps of reading a result. */
#ifndef CONTEND_STORE_READ_RECORDED_PARTS_H
#define CONTEND_STORE_READ_RECORDED_PARTS_H

#include "harness/store/files/csv.h"
#include "harness/store/files/csv_read.h"
#include "harness/store/read/recorded.h"

/* Zeroed memory for n objects of that size, which recorded_free frees; NULL: no memory. */
void *recorded_alloc(struct recorded *recorded, size_t n, size_t size);

/* Far above any run: a larger count means that the file is damaged. */
enum { RECORDED_ARMS_MOST = 4096, RECORDED_WORKERS_MOST = 65536, RECORDED_ROUNDS_MOST = 1000000 };

/* run.json -> result: recorded_arms.c. */
int recorded_arms(struct recorded *recorded, const struct bench *const *benches, struct err *err);

/* rounds.csv and rows.csv -> analysis: recorded_tables.c. */
int recorded_tables(struct recorded *recorded, struct err *err);

/*
 * A group has the values of an arm for one metric and key: a line per round in rounds.csv, one row
 * in rows.csv. Each file has each group once, and both agree: recorded_groups.c. Zeroed = empty.
 */
struct groups {
    size_t n, capacity, begin; /* `begin`: index of the first group of the arm being read */
    struct group *group;
    size_t narms, arms_capacity;
    size_t *first; /* [narms]: index of the first group of each arm; groups are sorted */
};

/*
 * Adds the last value of `values` to its group. `key` is borrowed. -EINVAL: rounds do not ascend,
 * or the unit or the better direction differs within the group.
 */
int groups_add(struct groups *groups, const struct round_values *values, const char *key,
               bool first_of_arm, const struct csv_reader *reader, struct err *err);
/* -EINVAL: the arm has a group twice. */
int groups_close_arm(struct groups *groups, const struct csv_reader *reader, struct err *err);
/* Sets the interval of the row. -EINVAL: the row has no group, or its group had a row already, or
 * the two disagree. */
int groups_check_row(struct groups *groups, const struct round_values *values, size_t arm,
                     struct row *row, const char *key, const struct csv_reader *reader,
                     struct err *err);
/* -EINVAL: a group of the arm that should have a row had none. */
int groups_check_rows(const struct groups *groups, size_t arm, struct err *err);
void groups_free(struct groups *groups);

#endif
