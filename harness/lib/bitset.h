/*
 * Fixed-size sets of os_cpu or os_node numbers. A zeroed struct is the empty set. The size is fixed
 * because sets cross shared memory and exec; 8192 is the largest NR_CPUS that Linux builds with.
 */
#ifndef CONTEND_LIB_BITSET_H
#define CONTEND_LIB_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

enum { BITSET_BITS = 8192, BITSET_WORDS = BITSET_BITS / 64 };

struct bitset {
    uint64_t word[BITSET_WORDS]; /* bit i of word w is member 64*w + i, as in cpu_set_t */
};

void bitset_set(struct bitset *set, unsigned bit);
void bitset_clear(struct bitset *set, unsigned bit);
bool bitset_test(const struct bitset *set, unsigned bit);
unsigned bitset_count(const struct bitset *set);
bool bitset_empty(const struct bitset *set);
bool bitset_equal(const struct bitset *a, const struct bitset *b);
bool bitset_subset(const struct bitset *part, const struct bitset *whole);
bool bitset_intersects(const struct bitset *a, const struct bitset *b);
void bitset_or(struct bitset *into, const struct bitset *other);
void bitset_and(struct bitset *into, const struct bitset *other);
void bitset_andnot(struct bitset *into, const struct bitset *other);

/* Smallest member >= from, or -1. Iterate: for (int i = next(s, 0); i >= 0; i = next(s, i + 1)) */
int bitset_next(const struct bitset *set, unsigned from);

/*
 * Parses a list such as "0-3,8" (decimal; ranges ascending). Errors: -EINVAL with a message that
 * quotes `text`: empty, not a number, a reversed range, a member >= BITSET_BITS.
 */
int bitset_parse(const char *text, struct bitset *set, struct err *err);

/* The list form; "" for the empty set. */
const char *bitset_format(const struct bitset *set);

#endif
