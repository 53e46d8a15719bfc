/*
 * How far the machine itself moved: canary rows, which every run has beside its own arms, held
 * against those of other runs or, within one, round against round. What is measured in them is the
 * same in all runs of all versions, so what moved is the machine: clocks, neighbours, memory. Pure.
 *
 *   struct canary_moves moves = {0};
 *   rc = canary_compare(base, nbase, other, nother, &moves, err);
 *   const struct canary_move *most = canary_largest(&moves);
 *   if (most && canary_is_beyond(most, 0.05))
 *       ... canary_say(most, text, sizeof(text)) ...
 *   canary_moves_free(&moves);
 *
 * The interval is over the rounds of the runs given: two runs of a machine with nothing changed may
 * differ by more. So it says how far the machine was apart in these runs, not for how long.
 */
#ifndef CONTEND_VERDICT_RUNS_CANARY_H
#define CONTEND_VERDICT_RUNS_CANARY_H

#include <stdbool.h>

#include "harness/contract/finding.h"
#include "harness/contract/values.h"
#include "harness/rows/analysis.h"

struct canary_move {
    char metric[64], key[VALUE_KEY_MAX]; /* as rows have them: "canary_time", "gpu=0" */
    char unit[32];
    double ratio, low, high; /* of the medians over the rounds of all runs of a side, and its
                                interval; NaN with one round */
};

/* Zeroed = empty. */
struct canary_moves {
    size_t n, capacity;
    struct canary_move *all; /* owned: each metric and key that both sides have, in their order */
};

/*
 * Any number of runs a side, of whichever arms; those without canary rows are nothing. The interval
 * is from the ends of both medians' intervals (stats_median_interval; the range below 6 rounds), so
 * wider than one of the ratio itself. Free also after an error: -ENOMEM only.
 */
int canary_compare(const struct analysis *const *base, size_t nbase,
                   const struct analysis *const *other, size_t nother, struct canary_moves *moves,
                   struct err *err);
void canary_moves_free(struct canary_moves *moves);

/* The one whose interval is furthest from 1; NULL where none leaves 1 out. */
const struct canary_move *canary_largest(const struct canary_moves *moves);

/* Whether even the nearer end of its interval is more than that from 1, by ratio: 0.05 is 5%. */
bool canary_is_beyond(const struct canary_move *move, double share);

/* "copy of memory: 12% slower", "GPU 0: 3% faster"; of GPU cycles "more" and "fewer". */
char *canary_say(const struct canary_move *move, char *buf, size_t size);

/*
 * Within a run: a note where a metric's largest round is more than CANARY_STEADY from its smallest;
 * it says how many were so far from the median, as one odd round is not a machine that wanders.
 * -ENOMEM only.
 */
int canary_find(const struct analysis *analysis, struct findings *findings, struct err *err);

/* As a share: what rounds of a steady machine differ by. */
#define CANARY_STEADY 0.25

#endif
