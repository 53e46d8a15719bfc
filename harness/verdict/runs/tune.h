/*
 * Finds the best setting for a scenario, with proof: successive halving (halving.h) over settings
 * (settings.h), then fresh rounds that the search has not seen. Pure apart from allocation; a run
 * (engine/run.h) measures the rounds and calls this module after each.
 *
 * Settings join the search as time allows: placements first, then changes of settings that did
 * well. All arms of a round are measured in random order.
 *
 * The best of a search is in part the luckiest (the winner's curse), so the search's own rounds do
 * not measure the gain. The fresh rounds have arms of their own, named "fresh.SETTING": `none`,
 * which is measured only there, the simplest setting near the leader, a simpler one that may be as
 * good, the leader, and the simplest with a quarter and with half of the cores kept free. Ratios
 * are paired by round.
 *
 * Times are estimated from earlier rounds. Settings that take far longer than others are cut off,
 * and have fewer rounds. There are as many fresh rounds as time allows, up to TUNE_FRESH_MOST; too
 * few rounds are reported.
 */
#ifndef CONTEND_VERDICT_RUNS_TUNE_H
#define CONTEND_VERDICT_RUNS_TUNE_H

#include "harness/lib/finding.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/runs/halving.h"
#include "harness/verdict/runs/settings.h"

/* The roles of settings in the fresh rounds. */
enum tune_role {
    TUNE_NONE,     /* the default */
    TUNE_SIMPLEST, /* within the tolerance of the search's leader; or the leader itself */
    TUNE_POSSIBLE, /* simpler, and no evidence puts it behind the leader (halving_possible) */
    TUNE_LEADER,   /* the leader; or the simplest setting */
    TUNE_QUARTER,  /* the simplest with a quarter of the cores kept free */
    TUNE_HALF,     /* the simplest with half of the cores kept free */
    TUNE_ROLES
};

/* Zeroed; then the caller sets the first four fields; free with tune_free. */
struct tune {
    struct settings_tried tried; /* `most` is set here */
    double max_time_s;           /* of all rounds; the search leaves a part to the fresh ones */
    double tolerance;            /* a share: a setting this near to the best is as good */
    unsigned fresh_rounds;       /* exact number, regardless of time; 0 = as time allows */

    const struct topo *topo; /* internal from here on */
    struct arms_request request;
    struct settings settings; /* of the search, then of the fresh rounds */
    size_t nsearched;
    size_t npossible, ntried; /* settings except `none` that are possible, and that were tried */
    size_t nplain;            /* of npossible: unchanged placements */
    struct halving halving;
    struct halving_arm *arms;
    double *rates;         /* scratch, one per setting */
    double arm_s;          /* median time of a setting */
    bool may_add_settings; /* further settings may join the search */
    bool is_fresh;         /* the search is over */
    size_t leader;         /* leading setting of the search; nsearched = all failed in some round */
    double pair_s;         /* time of a fresh round of `none` and one other */
    size_t role[TUNE_ROLES]; /* settings; SETTINGS_MOST = none */
};

/* Adds the arms of the search: for struct arrange, `arg` is the struct tune. */
int tune_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                 struct result *result, struct err *err);

/* Call after each arm: new settings that the search has no time for are postponed. */
void tune_after_arm(struct tune *tune, struct result *result);

/*
 * After the first arm: writes how many settings time allows, and the --max-time that tries all.
 * False: time allows all.
 */
bool tune_read_time(const struct tune *tune, char *buf, size_t size);

/*
 * Call after each round: marks the arms of the next round as not idle, and raises rounds_planned if
 * there is one. Adds the arms of the fresh rounds. `analysis`: of the current result.
 */
int tune_next(struct tune *tune, const struct analysis *analysis, struct result *result,
              struct err *err);

/*
 * Appends the findings after fresh rounds; nothing before: the recommendation
 * (verdict/recommend.h) with its gain over `none` and its command, the outcome of the
 * search's leader, the cost of fewer cores, and what there was no time for.
 */
void tune_judge(const struct tune *tune, const struct analysis *analysis,
                struct findings *findings);

void tune_free(struct tune *tune);

/* The settings for tables and JSON, live or from a stored result: needs only the record of the
 * arms. */
struct tune_line {
    size_t arm;
    bool fresh;
    double rate; /* median of its rounds; NaN = no rounds */
    /* Throughput, paired by round: in the search relative to the leader, in fresh rounds relative
     * to none. */
    struct evidence against;
    bool is_reference; /* `against` is relative to this line */
    bool recommended;  /* verdict/recommend.h */
};

struct tune_lines {
    size_t n;
    struct tune_line *all; /* owned; the search first, then the fresh; best last */
};

/* Free with tune_lines_free, also after an error: -ENOMEM only. */
int tune_lines_make(const struct analysis *analysis, struct tune_lines *lines, struct err *err);
void tune_lines_free(struct tune_lines *lines);

/* Internal to the files of tune from here on. */

/* The largest share of the time for the search. */
#define TUNE_SEARCH_SHARE 0.55
/* Fresh rounds: an interval needs TUNE_FRESH_LEAST (lib/stats.h). A slow `none` is cut
 * off if it leaves time for fewer than TUNE_FRESH_FEW rounds of the other settings. */
enum { TUNE_FRESH_LEAST = 6, TUNE_FRESH_MOST = 15, TUNE_FRESH_FEW = 3 };
/* A setting that takes this many times as long as others may be cut off to save time. */
#define TUNE_SLOW 4

/* Ends the search: idles its arms, and adds those of the fresh rounds. */
int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err);

/* After a fresh round: decides whether there is another one, and which arms it has. */
void tune_next_fresh(struct tune *tune, const struct analysis *analysis, struct result *result);

/* "90", "8m": seconds as an option's value, rounded up. */
const char *tune_format_time(double seconds);

/* The time that tries all settings, if each takes as long as those already tried. */
double tune_time_for_all(const struct tune *tune);

/* The time of the arm's last round; 0 = no round. */
double tune_took_s(const struct result *result, size_t arm);

#endif
