/*
 * The change of one metric of one arm between two sides: two results (compare), or two variants
 * measured in the same rounds (ab). evidence.h decides; all printers read this form.
 * Pure.
 */
#ifndef CONTEND_VERDICT_COMPARISON_H
#define CONTEND_VERDICT_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/verdict/evidence.h"

struct comparison {
    char base[48], other[48]; /* names of the sides: "base", "new"; in ab the variants */
    char arm[240];    /* to print: "pipeline, partition, 2 workers"; for a scan with its key */
    char params[512]; /* as the column, without what the sides differ in by intent */
    char metric[64], unit[32], better[8]; /* as the columns */
    struct evidence evidence;
    unsigned base_runs, other_runs; /* separate runs per side; 1 and 1 in ab */
    bool gating;                    /* a build may fail on it */
    char reason[400];               /* why this outcome, and what would change it; one sentence */
};

/* Zeroed = empty. */
struct comparisons {
    size_t n, capacity;
    struct comparison *all;        /* owned */
    bool failed;                   /* no memory for a comparison */
    char machine_change_text[160]; /* of the machine itself, as control_format; or "" */
    double machine_change_beyond;  /* its part beyond that of equal runs, as a share */
    char apart[200];               /* why gating rows have no pair, as apart_explain; or "" */
    bool apart_by_placement;       /* by that alone */
    char disturbed[300];           /* which sides were disturbed, as disturbed_doubt; or "" */
};

/* One run per side; all values NaN. */
struct comparison comparison_of(const char *base, const char *other, const char *metric,
                                const char *unit, const char *better);

/* Appends a copy; free with comparisons_free, also after an error: -ENOMEM only. */
int comparisons_add(struct comparisons *comparisons, const struct comparison *comparison,
                    struct err *err);
void comparisons_free(struct comparisons *comparisons);

/* "partition, 2 workers"; if comparisons have different sides "c: partition, 2 workers". */
const char *comparison_format_where(const struct comparisons *comparisons,
                                    const struct comparison *one);

/* The number of gating comparisons with this outcome. */
size_t comparisons_count(const struct comparisons *comparisons, enum finding_outcome outcome);

/* True if any gating comparison has values of both sides. */
bool comparisons_paired(const struct comparisons *comparisons);

/* True if any gating comparison is FASTER, SLOWER or SAME. Otherwise nothing was shown. */
bool comparisons_decided(const struct comparisons *comparisons);

/*
 * Of the comparisons with evidence that gate, or of those that do not: a change that is significant
 * by itself, but not among all of them, becomes UNCLEAR. Sets `failed` if out of memory.
 */
void comparisons_close(struct comparisons *comparisons, bool gating, double alpha);

/*
 * A ratio as a change: "-8.0%", "+12.5%"; below a half and above the double "3.4x", "0.012x"; "-"
 * for NaN. Has enough decimals that a small change is not printed as zero: 0.99996 is -0.01%.
 */
const char *comparison_format_ratio(double ratio);

/* The ratio as a change; as a factor, "0.91x", if the ratio or its interval is below a half or
 * above the double. */
const char *comparison_format_change(const struct comparison *comparison);

/* The interval in the same notation, in at most COMPARISON_INTERVAL characters: "-12% to +3.1%",
 * "0.03x to 35x"; "-" = no interval. */
enum { COMPARISON_INTERVAL = 14 };
const char *comparison_format_interval(const struct comparison *comparison);

/* The distance of two values from their log ratio, without direction: "3.5%"; above the double "a
 * factor of 35". */
const char *comparison_format_spread(double logarithm);

/*
 * One finding for all comparisons, id "comparison": "sleep is 11x faster than spin (8.0x to 16x)"
 * for the gating metric that lost the most, or else gained the most. Then the numbers of gating
 * comparisons that are SLOWER, FASTER, SAME, UNCLEAR and MISSING. Bad if any is SLOWER; a doubt,
 * "No verdict on 2 metrics: 2 UNCLEAR.", if none is decided.
 */
void comparisons_to_finding(const struct comparisons *comparisons, struct finding *finding);

/*
 * One comparison as a finding: id "change_<metric>", the arm as subject, the ratio as value. SLOWER
 * is bad; UNCLEAR or MISSING is a doubt if the metric gates; all others are notes.
 */
void comparison_to_finding(const struct comparison *comparison, struct finding *finding);

/*
 * A smaller difference does not count, regardless of its share of the value. In the metric's unit.
 * For times: what the clock and its calls cost (METHOD 5). For a metric with `least` (struct
 * bench_metric): at least that difference.
 */
double floor_of(const struct bench *bench, const char *metric, const char *unit);

/*
 * Compares the arms of two variants that were measured in the same rounds, pair by pair: `contend
 * ab`. Pure apart from allocation.
 *
 * Pairs exist within one run only. For each metric and key, the sequential test (stats.h)
 * takes the logarithms of other / base, one per round. It may be looked at after every round.
 *
 * Clearly different: the evidence against "no change" is at least 1/EVIDENCE_ALPHA, and so is its
 * mean with that of any other gating comparisons. This is a closed test (Marcus, Peritz and Gabriel
 * 1976) by means of evidence (Vovk and Wang 2021). So if nothing changed, the chance that any
 * gating comparison is called changed is EVIDENCE_ALPHA in total, however often one looks. If all
 * of them changed, none needs more evidence because of the others. Comparisons that do not gate are
 * a family of their own. The test assumes that two equal arms get independent draws of one
 * distribution within a round, of any form and a new one in each round (stats.h describes the
 * error where this fails). At least six rounds are needed.
 *
 * FASTER and SLOWER: clearly different. SAME: the interval, at 1 - EVIDENCE_ALPHA, lies within the
 * threshold. Otherwise UNCLEAR, with an estimate of how many more rounds are needed.
 */

/*
 * Appends the comparisons of each further variant with the first one of result->variants. Free with
 * comparisons_free, also after an error: -ENOMEM only.
 */
int ab_compare(const struct analysis *analysis, struct comparisons *comparisons, struct err *err);

/* True if no gating comparison is UNCLEAR, so that more rounds would not change the outcome. */
bool ab_is_clear(const struct comparisons *comparisons);

#endif
