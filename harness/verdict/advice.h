/*
 * The recommendation of a run in one sentence, and the command that applies it. Pure. Every number
 * is measured. Where the intervals overlap, the sentence says that the question is open.
 */
#ifndef CONTEND_VERDICT_ADVICE_H
#define CONTEND_VERDICT_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/finding.h"
#include "harness/verdict/recommend.h"

/*
 * States the recommendation (recommend.h) among the arms that compete with `of`: its gain over the
 * default, and the largest part of what the default loses. Also says whether the fastest arm, or
 * the next simplest, adds anything, and how much. The command is "" if there is nothing to apply;
 * the sentence is "" if there is nothing to compare.
 */
struct finding advice_make(const struct analysis *analysis, const struct arm *of);

/* The gain of the recommended arm, in the one wording that all outputs share: "18x the default,
 * 95% 15x to 20x", "between 2.1x and 9.0x the default", "more than 12x the default"; if most rounds
 * were disturbed, the low end of the interval, "at least 2.6x the default in 9 of 9 rounds, while
 * others used 44% of the CPUs". */
const char *advice_format_gain(const struct analysis *analysis,
                               const struct recommendation *recommendation);

/* What disturbed the arms of the ratio: "others used 44% of the CPUs". */
const char *advice_format_load(const struct evidence *ratio);

/* Stores the gain as the numbers of the finding, for scripts. */
void advice_note_gain(const struct evidence *gain, struct finding *finding);

/* Sets the sentence where there is nothing to apply: "no measurable gain: leave it as it is. The
 * fastest other is partition, 1.03x the default, range 0.98x to 1.10x.", or that there is no
 * evidence. */
void advice_report_none(const struct analysis *analysis,
                        const struct recommendation *recommendation, struct finding *finding);

/*
 * The sentence for a scan under load: the placement with the lowest retention. If the best
 * placement keeps clearly more at that key, also the simplest placement that is as good as the
 * best. `idle` is the team without the load. Adds nothing if no arm under load has rows of
 * retention.
 */
void retention_find(const struct analysis *analysis, const struct arm *idle,
                    struct findings *findings);

/* True if the arm is `idle` under load and has rows of retention. */
bool advice_is_loaded(const struct analysis *analysis, const struct arm *idle,
                      const struct arm *arm);

/* False for placements that nobody should apply: `none`, `same`, and `remote`, the negative
 * control. */
bool advice_may_advise(enum placement placement);

/*
 * "./contend place --workers 4 --placement partition --background-workers 4 --reserve 2": plans the
 * arm's workers anew, to be pasted where the program was started. Appends the user's command,
 * " -- ./train --epochs 1", quoted for a shell, if the run has one and if it fits. Returns buf. Of
 * unlike jobs: with their commands and cores, as a script; "" if it does not fit.
 */
char *advice_command(const struct result *result, const struct arm *arm, char *buf, size_t size);

/* 2.41 -> "2.4x", 430.2 -> "430x", 1.053 -> "1.05x". */
const char *advice_format_ratio(double ratio);

/* "range 11x to 13x", "95% 11x to 13x"; "" for one round, which has no interval. */
const char *advice_format_interval(const struct evidence *ratio);

/* The length of the part of the reason that fits into a sentence, such as "more than 2 s". */
int advice_reason_length(const struct arm_rounds *arm);

/*
 * Adds the finding "workers": the number of workers and the placement with the highest median
 * throughput, and the fewest workers under that placement that reach 95% of it. Only the
 * recommended placement counts, if there is one. Adds nothing without curves (record/analysis.h).
 */
void scaling_find(const struct analysis *analysis, struct findings *findings);

#endif
