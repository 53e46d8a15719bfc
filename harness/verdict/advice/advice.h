/*
 * What a run says in one sentence, and the command that applies it. Pure; every number in it is
 * measured, and what the intervals do not carry is said to be unclear.
 */
#ifndef CONTEND_VERDICT_ADVICE_ADVICE_H
#define CONTEND_VERDICT_ADVICE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/finding.h"
#include "harness/verdict/advice/recommend.h"

/*
 * Says what is recommended (recommend.h) of the arms that compete with `of`: its own gain over the
 * default, what the default loses most time to, and that what is faster, or would be next, adds
 * nothing, or what it adds. The command is "" where there is nothing to apply, the sentence where
 * there is nothing to compare.
 */
struct finding advice_make(const struct analysis *analysis, const struct arm *of);

/* "18x the default, range 15x to 20x", "between 2.1x and 9.0x the default", "more than 12x the
 * default": the gain of what is recommended, everywhere alike. Returns buf. */
char *advice_format_gain(const struct analysis *analysis, const struct recommendation *made,
                         char *buf, size_t size);

/* "the default", or the placement that gains are relative to where there is none. */
const char *advice_reference(const struct analysis *analysis, const struct recommendation *made);

/* The gain, for scripts, as the numbers of the finding. */
void advice_note_gain(const struct paired_ratio *gain, struct finding *finding);

/* "no measurable gain: leave it as it is. partition, the fastest other, does 1.03x the default,
 * range 0.98x to 1.10x" or that there is no evidence: where there is nothing to apply. */
void advice_report_none(const struct analysis *analysis, const struct recommendation *made,
                        struct finding *finding);

/*
 * The same of a scan under load: what the placement keeps that keeps least, and, where others keep
 * clearly more at that key, what the simplest does that keeps as much as the best of them. `idle`
 * is the team without the load. Nothing is added where nothing under load has rows of retention.
 */
void retention_find(const struct analysis *analysis, const struct arm *idle,
                    struct findings *findings);

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

/* The same with these options. Appends what the workers run, " -- ./train --epochs 1", as a shell
 * reads it back; nothing where that is no command of the user, or too long for buf. */
char *advice_place(const struct result *result, unsigned workers, enum placement placement,
                   const char *options, char *buf, size_t size);

/* 2.41 -> "2.4x", 430.2 -> "430x", 1.053 -> "1.05x". Returns buf. */
char *advice_format_ratio(double ratio, char *buf, size_t size);

/* "range 11x to 13x", "95% 11x to 13x"; "" of one round, which has no interval. Returns buf. */
char *advice_format_interval(const struct paired_ratio *ratio, char *buf, size_t size);

/* The length of a reason that fits into a sentence, such as "more than 2 s". */
int advice_reason_length(const struct arm_rounds *arm);

/* The name of its interval: "range" or "95%". */
const char *advice_interval_name(const struct paired_ratio *ratio);

#endif
