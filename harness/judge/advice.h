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
 * Speaks about the arms with `slots` workers, by the work that all of them do per second. What may
 * be advised has an effort in struct placement_info (so not `none`, `same` or `remote`), no round
 * that failed, and a plan of its own. The best of those is compared with `none`, else with the
 * slowest arm: the sentence's ratio is that of METRIC_VS_BEST, paired by rounds, with its interval.
 * Advised is the simplest that is not clearly behind the best and clearly ahead of the reference;
 * the sentence says what the next simplest would add. "Clearly" means that the interval of the
 * ratio does not hold 1 and that the ratio is ADVICE_CLEAR or more: the best of several placements
 * in three rounds is often ahead by chance, but then by little. One round has no interval, which
 * the sentence then says. Where `none` gave no rate in any round, since it was cut off or failed in
 * all, there is no ratio: that is said, and the best of the others advised. It is "" where there is
 * nothing to compare, the command where no placement is clearly better. -ENOMEM only.
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

/* False of what nobody should apply: `none`, `same`, and `remote`, the negative control. */
bool advice_may_advise(enum placement placement);

/*
 * "./contend place --workers 4 --placement partition --background-workers 4 --reserve 2": what
 * plans the arm's workers anew, to be pasted where the program was started. Returns buf.
 */
char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * Appends what the workers run, " -- ./train --epochs 1", as a shell reads it back; nothing where
 * that is no command of the user, or too long for buf. Returns buf.
 */
char *advice_add_job(const struct result *result, char *buf, size_t size);

/* 2.41 -> "2.4x", 430.2 -> "430x", 1.053 -> "1.05x". Returns buf. */
char *advice_format_ratio(double ratio, char *buf, size_t size);

/* "range 11x to 13x", "95% 11x to 13x"; "" of one round, which has no interval. Returns buf. */
char *advice_format_interval(const struct paired_ratio *ratio, char *buf, size_t size);

/* Of a reason how much belongs into a sentence: "more than 2 s" of what was cut off. */
int advice_reason_length(const struct arm_rounds *arm);

/* What the interval over so many rounds is called: "range" or "95%". */
const char *advice_interval_name(size_t rounds);

#endif
