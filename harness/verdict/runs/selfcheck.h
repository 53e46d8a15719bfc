/*
 * How often comparisons on this machine are right, where the truth is known: whole comparisons of
 * what is equal, which may call nothing changed but at COMPARE_ERROR, and of what was slowed down
 * by a known amount, which should be found. Counts trials, and judges the counts. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_SELFCHECK_H
#define CONTEND_VERDICT_RUNS_SELFCHECK_H

#include "harness/lib/stats/stats.h"
#include "harness/verdict/pairs/comparison.h"

enum selfcheck_kind {
    SELFCHECK_AA,      /* ab of equal variants */
    SELFCHECK_COMPARE, /* compare of two equal runs */
    SELFCHECK_10,      /* ab of a variant that is 10% slower, and so on */
    SELFCHECK_5,
    SELFCHECK_2,
    SELFCHECK_KINDS
};

struct selfcheck_kind_info {
    const char *name;  /* in --only and files: "aa", "compare", "10", "5", "2" */
    const char *title; /* in tables */
    const char *what;  /* in sentences: "comparisons of equal variants by ab" */
    unsigned busy;     /* per cent by which the second variant is slower */
    double promise;    /* the share that should be found; 0 = none is promised */
    double limit_s;    /* of one trial; of a promise, the time within which it holds; 0 = none */
    double usual_s;    /* that a trial takes, to tell beforehand how long all of them will */
};
extern const struct selfcheck_kind_info selfcheck_kinds[SELFCHECK_KINDS];

/* With so few trials an interval leaves half of all shares open: 5 of 5 is [48%, 100%]. */
enum { SELFCHECK_TRIALS_LEAST = 6 };

/* A whole comparison. */
struct selfcheck_trial {
    enum selfcheck_kind kind;
    unsigned number;              /* within its kind, from 1 */
    enum finding_outcome outcome; /* of the whole: selfcheck_outcome; ERROR: it did not end well */
    unsigned rounds;              /* that both sides have */
    double took_s;
    char said[200]; /* of an ERROR why */
};

/* "54%", "0%", "-" of NaN: a share for people, in buf. */
char *selfcheck_percent(double share, char *buf, size_t size);

/* Zeroed = none. */
struct selfcheck {
    size_t n, capacity;
    struct selfcheck_trial *all;   /* owned, in the order in which they were made */
    unsigned pairs, pairs_changed; /* of all pairs of the runs that compare has: not independent */
    double limit_s[SELFCHECK_KINDS]; /* of a trial, as it was asked for */
};

/* Appends a copy. -ENOMEM only. */
int selfcheck_add(struct selfcheck *check, const struct selfcheck_trial *trial, struct err *err);
void selfcheck_free(struct selfcheck *check);

/*
 * What a comparison says as a whole, of what gates: FASTER where anything is, else SLOWER where
 * anything is, else MISSING, UNCLEAR, SAME; of nothing that gates MISSING.
 */
enum finding_outcome selfcheck_outcome(const struct comparisons *comparisons);

struct selfcheck_count {
    unsigned trials;             /* that ended well */
    unsigned hits;               /* of equal things: called changed; of slowed ones: found SLOWER */
    unsigned wrong;              /* of slowed ones: called FASTER */
    unsigned errors;             /* that did not end well, and count nowhere else */
    struct stats_interval share; /* of hits: Clopper and Pearson 1934, 95% */
    /* Of those that were found where something was to be found, else of all; NaN = none. */
    double rounds, rounds_worst, took_s, took_worst_s; /* median, and the largest */
    enum finding_outcome outcome; /* PASS, FAIL, ERROR, UNCLEAR; NONE: there is no promise */
};

/* -ENOMEM only. */
int selfcheck_count(const struct selfcheck *check, enum selfcheck_kind kind,
                    struct selfcheck_count *count, struct err *err);

/*
 * A finding for each kind that has trials, "selfcheck_<kind>": FAIL where its interval excludes
 * what is promised, ERROR where a trial did not end well, UNCLEAR below SELFCHECK_TRIALS_LEAST, or
 * where trials were shorter than the promise is for. -ENOMEM only.
 */
int selfcheck_judge(const struct selfcheck *check, struct findings *findings, struct err *err);

#endif
