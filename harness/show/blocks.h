/* The placements of a run, grouped into blocks and sorted for display. */
#ifndef CONTEND_SHOW_BLOCKS_H
#define CONTEND_SHOW_BLOCKS_H

#include "harness/verdict/recommend.h"

/* Placements that compete: arms with steps and the same benchmark, parameters and number of
 * workers. */
struct block {
    const struct analysis *analysis;
    size_t n;
    size_t *arm;         /* indices, the worst first; after those `n` the solo runs (one worker) */
    int solo[BASELINES]; /* their positions in `arm`; -1 = none */
    struct recommendation recommendation;
    struct evidence *gain; /* of each arm, relative to recommendation.reference */
};

/*
 * Reads the next block that begins at or after arm *at, and advances *at. False: no further block,
 * or out of memory. Free with block_free.
 */
bool block_next(const struct analysis *analysis, size_t *at, struct block *block);
void block_free(struct block *block);

/* True if the run has a block. */
bool block_any(const struct analysis *analysis);

/* "pipeline, 2 workers", and the parameters that distinguish the block in its run. */
const char *block_name(const struct block *block);

/* The name of the arm's placement, or of its variant in an ab. */
const char *block_arm_name(const struct block *block, size_t i);
bool block_is_recommended(const struct block *block, size_t i);
const struct row *block_row(const struct block *block, size_t i, const char *metric);
/* NaN if the arm has no such row. */
double block_median(const struct block *block, size_t i, const char *metric);

/*
 * Parts of a step, and their shares of the sum of the parts' medians; NaN = unknown. PART_QUOTA is
 * also NaN if no quota was in force. block_has_quota: true if one was, for any arm.
 */
enum part { PART_ONCPU, PART_QUEUE, PART_QUOTA, PART_BLOCKED, PARTS };
double block_share(const struct block *block, size_t i, enum part part);
bool block_has_quota(const struct block *block);

#endif
