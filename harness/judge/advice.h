/*
 * What a run says in one sentence, and the command that applies it. Pure; every number in it is
 * measured, and what the intervals do not carry is said to be unclear.
 */
#ifndef CONTEND_JUDGE_ADVICE_H
#define CONTEND_JUDGE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/finding.h"
#include "harness/rows/analysis.h"

/* A ratio nearer to 1 is not told from it. */
#define ADVICE_CLEAR 1.05

/*
 * Speaks about the arms with `slots` workers. The winner is the pinned placement with the smallest
 * median step time (`remote`, the negative control, cannot win, nor one of which a round failed),
 * unless `sized` or `passive`, fixes of one variable, are clearly faster. It is compared with
 * `none`, else with the slowest arm; arms whose plans are the same as that one's are not. "Clearly"
 * means that the interval of the ratio, paired by rounds, does not hold 1 and that the ratio is
 * ADVICE_CLEAR or more: the best of several placements in three rounds is often ahead by chance,
 * but then by little. One round has no interval, which the sentence then says. The sentence is ""
 * where there is nothing to compare, the command where no placement is clearly better. -ENOMEM
 * only.
 */
int advice_make(const struct analysis *analysis, unsigned slots, struct finding *advice,
                struct err *err);

/*
 * The same of a scan under load: what the placement keeps that keeps least, and, where another
 * keeps clearly more at that key, what that one does. `idle` is the team without the load. False
 * where nothing under load has rows of retention.
 */
bool advice_retention(const struct analysis *analysis, const struct arm *idle,
                      struct finding *advice);

/* Whether the arm is `idle` under load, with rows of retention. */
bool advice_is_loaded(const struct analysis *analysis, const struct arm *idle,
                      const struct arm *arm);

/* False of `remote`: it is the negative control. */
bool advice_may_advise(enum placement placement);

/*
 * "contend place --workers 4 --placement partition --background-workers 4 --reserve 2": what plans
 * the arm's workers anew. Returns buf.
 */
char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size);

/* 2.41 -> "2.4x", 430.2 -> "430x", 1.053 -> "1.05x". Returns buf. */
char *advice_format_ratio(double ratio, char *buf, size_t size);

#endif
