/* The placements of a run as those who show it group and order them. */
#ifndef CONTEND_SHOW_RESULT_BLOCKS_H
#define CONTEND_SHOW_RESULT_BLOCKS_H

#include "harness/verdict/advice/recommend.h"

/* Placements that compete: the arms with steps of one benchmark, its parameters and a number of
 * workers. */
struct block {
    const struct analysis *analysis;
    size_t n;
    size_t *arm;         /* indices, the worst first; behind those `n` the solo runs: one worker */
    int solo[BASELINES]; /* where those stand in `arm`; -1 = there is none */
    struct recommendation made;
    struct paired_ratio *gain; /* of each, relative to the reference of that */
};

/*
 * The block that begins at or behind arm *at, which then points behind it; false = no more, or no
 * memory. Free with block_free.
 */
bool block_next(const struct analysis *analysis, size_t *at, struct block *block);
void block_free(struct block *block);

/* Whether there is one. */
bool block_any(const struct analysis *analysis);

/* "pipeline, 2 workers", and what tells it from the others of the run. Returns buf. */
char *block_name(const struct block *block, char *buf, size_t size);

/* Its placement, or of an ab its variant. */
const char *block_arm_name(const struct block *block, size_t i);
bool block_is_recommended(const struct block *block, size_t i);
const struct row *block_row(const struct block *block, size_t i, const char *metric);
/* NaN without the row. */
double block_median(const struct block *block, size_t i, const char *metric);

/*
 * Parts of a step, and their shares of the sum of medians; NaN = none is known. Of PART_QUOTA it is
 * NaN, too, where no quota was in force; block_has_quota: somewhere in the block one was.
 */
enum part { PART_ONCPU, PART_QUEUE, PART_QUOTA, PART_BLOCKED, PARTS };
double block_share(const struct block *block, size_t i, enum part part);
bool block_has_quota(const struct block *block);

#endif
