/* Inside of recorded*.c: the steps of reading a result. */
#ifndef CONTEND_STORE_READ_RECORDED_PARTS_H
#define CONTEND_STORE_READ_RECORDED_PARTS_H

#include "harness/store/files/csv.h"
#include "harness/store/files/csv_read.h"
#include "harness/store/read/recorded.h"

/* Zeroed memory that lives as long as what was read; NULL: no memory. */
void *recorded_keep(struct recorded *recorded, size_t n, size_t size);

/* Far above any run: what is more is no count, but damage. */
enum { RECORDED_ARMS_MOST = 4096, RECORDED_WORKERS_MOST = 65536, RECORDED_ROUNDS_MOST = 1000000 };

/* run.json -> result: recorded_arms.c. */
int recorded_arms(struct recorded *recorded, const struct bench *const *benches, struct err *err);

/* rounds.csv and rows.csv -> analysis: recorded_tables.c. */
int recorded_tables(struct recorded *recorded, struct err *err);

/*
 * The values of an arm that are of one metric and key: one a round in rounds.csv, one row of
 * rows.csv. Both files have each once, and say the same of it: recorded_groups.c. Zeroed = empty.
 */
struct groups {
    size_t n, capacity, begin; /* `begin`: where those of the arm that is being read begin */
    struct group *group;
    size_t narms, arms_capacity;
    size_t *first; /* narms: where the groups of each arm begin, which are sorted */
};

/*
 * Of the value that was appended last, with its key, which is borrowed; -EINVAL: its rounds do not
 * ascend, or its unit is another.
 */
int groups_add(struct groups *groups, const struct round_values *values, const char *key,
               bool first_of_arm, const struct csv_reader *reader, struct err *err);
/* -EINVAL: the arm has a group twice. */
int groups_close_arm(struct groups *groups, const struct csv_reader *reader, struct err *err);
/* -EINVAL: the row is of no group, or of one that had a row, or says something else than it. */
int groups_check_row(struct groups *groups, const struct round_values *values, size_t arm,
                     const struct row *row, const char *key, const struct csv_reader *reader,
                     struct err *err);
/* -EINVAL: a group of the arm that should have a row had none. */
int groups_check_told(const struct groups *groups, size_t arm, struct err *err);
void groups_free(struct groups *groups);

#endif
