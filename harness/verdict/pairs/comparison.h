/*
 * What a metric of one arm became between two sides: of two results (compare), or of two variants
 * measured in the same rounds (ab). Who decides is compare.h or sequential.h; this is what all of
 * them say, and all printers read. Pure.
 */
#ifndef CONTEND_VERDICT_PAIRS_COMPARISON_H
#define CONTEND_VERDICT_PAIRS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/bench.h"
#include "harness/contract/finding.h"

struct comparison {
    char base[48], other[48]; /* what the sides are called: "base", "new"; the variants' names */
    char arm[240];    /* for people: "pipeline, partition, 2 workers"; with its key, of a scan */
    char params[512]; /* as the column of that name, but what the sides differ in by intent */
    char metric[64], unit[32], better[8]; /* as the columns */
    double base_median, other_median;     /* in that unit; NaN = that side has none */
    double ratio;                         /* other / base, paired where it can be; NaN = unknown */
    double low, high;                     /* the interval of it that the verdict rests on; or NaN */
    double level;                         /* of that interval: 0.95, or what many metrics left */
    unsigned base_runs, other_runs;       /* separate runs a side; 1 and 1 in ab */
    unsigned pairs;                       /* rounds that both sides have, where they are paired */
    double evidence;                      /* of ab: against "no change", a logarithm; or NaN */
    enum finding_outcome outcome;         /* FASTER, SLOWER, SAME, UNCLEAR, MISSING */
    bool gating;                          /* one of those that a build may fail on */
    char reason[400]; /* why that outcome and what would change it, a sentence */
};

/* Zeroed = none. */
struct comparisons {
    size_t n, capacity;
    struct comparison *all; /* owned */
    bool failed;            /* there was no memory for one of them */
    char moved[160];        /* by how much the machine itself did, as canary_format; or "" */
    double moved_beyond;    /* and that beyond what equal runs may, as a share */
    char new_params[400];   /* parameters that one side lacks, as new_params_format; or "" */
};

/* One run a side, nothing known yet. */
struct comparison comparison_of(const char *base, const char *other, const char *metric,
                                const char *unit, const char *better);

/* Appends a copy; free with comparisons_free, also after an error: -ENOMEM only. */
int comparisons_add(struct comparisons *comparisons, const struct comparison *comparison,
                    struct err *err);
void comparisons_free(struct comparisons *comparisons);

/* "partition, 2 workers", or where others are of other sides "c: partition, 2 workers". */
char *comparison_format_where(const struct comparisons *comparisons, const struct comparison *one,
                              char *buf, size_t size);

/* How many of those that gate ended so. */
size_t comparisons_count(const struct comparisons *comparisons, enum finding_outcome outcome);

/* Whether any that gates is FASTER, SLOWER or SAME: else nothing was shown, whatever was looked at.
 */
bool comparisons_decided(const struct comparisons *comparisons);

/*
 * "-8.0%", "+12.5%", beyond a half and the double "3.4x", "0.012x", "-" of NaN: a ratio as change,
 * to so many decimals that no change reads as none: 0.99996 is -0.01%.
 */
char *comparison_format_ratio(double ratio, char *buf, size_t size);

/* Its ratio, as a factor where that or its interval is beyond a half or the double: "0.91x". */
char *comparison_format_change(const struct comparison *comparison, char *buf, size_t size);

/* Its interval in the same notation, in so many characters: "-12% to +3.1%", "0.03x to 35x"; "-" =
 * it has none. */
enum { COMPARISON_INTERVAL = 14 };
char *comparison_format_interval(const struct comparison *comparison, char *buf, size_t size);

/* How far apart values are, of a logarithm, whose sign says to which side: "3.5%", beyond the
 * double "a factor of 35". */
char *comparison_format_spread(double logarithm, char *buf, size_t size);

/*
 * All of them about the whole, id "comparison": "sleep is 11x faster than spin (8.0x to 16x)" of
 * the metric that gates and lost the most, or gained it, and how many of those are SLOWER, FASTER,
 * SAME, UNCLEAR and MISSING. SLOWER is bad, nothing decided a doubt.
 */
void comparisons_to_finding(const struct comparisons *comparisons, struct finding *finding);

/*
 * The same as a finding: id "change_<metric>", the arm as subject, the ratio as its value. A SLOWER
 * one is bad, an UNCLEAR or MISSING one that gates a doubt, the rest notes.
 */
void comparison_to_finding(const struct comparison *comparison, struct finding *finding);

/*
 * Below it a difference is none, whatever share of the figure it is. In the metric's unit: of times
 * what the clock and its calls cost (METHOD 5), and for a metric that says so the difference that
 * is none between equal units (`least` of struct bench_metric).
 */
double floor_of(const struct bench *bench, const char *metric, const char *unit);

#endif
