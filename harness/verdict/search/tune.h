/*
 * The best setting for what a scenario runs, with proof: successive halving (halving.h) over
 * settings (settings.h), then fresh rounds that the search has not seen. Pure apart from
 * allocation; the rounds are a run's (engine/run/run.h), which asks after each one.
 *
 * Settings join the search as there is time: placements first, then changes of what did well. All
 * of a round are measured in random order.
 *
 * What a search found best is in part what chance favoured (the winner's curse), so that its own
 * rounds say nothing of the gain. The fresh rounds have arms of their own, named "fresh.SETTING":
 * `none`, which is measured there alone, the simplest setting near the leader, a simpler one that
 * may be as good, the leader, and the simplest with a quarter and half of the cores kept free.
 * Ratios are paired by round.
 *
 * The time is kept by what arms were seen to take. What takes far longer than others is cut off,
 * and has fewer rounds. There are as many fresh rounds as there is time for, and at most
 * TUNE_FRESH_MOST; where there was none for enough of them, that is said.
 */
#ifndef CONTEND_VERDICT_SEARCH_TUNE_H
#define CONTEND_VERDICT_SEARCH_TUNE_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"
#include "harness/verdict/search/halving.h"
#include "harness/verdict/search/settings.h"

/* Who are measured in the fresh rounds. */
enum tune_role {
    TUNE_NONE,     /* what people run by default */
    TUNE_SIMPLEST, /* within the tolerance of the leader of the search; or that itself */
    TUNE_POSSIBLE, /* a simpler one that nothing puts behind it (halving_possible) */
    TUNE_LEADER,   /* the leader; or the simplest */
    TUNE_QUARTER,  /* the simplest with a quarter of the cores kept free */
    TUNE_HALF,     /* with half of them */
    TUNE_ROLES
};

/* Zeroed, then what is the caller's; free with tune_free. */
struct tune {
    struct settings_tried tried; /* its `most` is set here */
    double max_time_s;           /* of all rounds; the fresh ones get what the search leaves */
    double tolerance;            /* a share: so near to the best is as good */
    unsigned fresh_rounds;       /* so many, whatever the time; 0 = as there is time for */

    const struct topo *topo; /* from here on its own */
    struct arms_request request;
    struct settings settings; /* those of the search, then the fresh ones */
    size_t nsearched;
    size_t npossible, ntried; /* settings beside `none` that could run, and those that did */
    size_t nplain;            /* of the former, placements as they are */
    struct halving halving;
    struct halving_arm *arms;
    double *rates;           /* scratch, one of each */
    double arm_s;            /* what a setting usually takes */
    bool is_looking;         /* further settings may join the search */
    bool is_fresh;           /* it is over */
    size_t leader;           /* the setting that led it; nsearched = all failed in some round */
    double pair_s;           /* what a fresh round takes, of `none` and one other */
    size_t role[TUNE_ROLES]; /* settings; SETTINGS_MOST = there is none */
};

/* Adds the arms of the search: for struct arrange, `arg` is the struct tune. */
int tune_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                 struct result *result, struct err *err);

/* After each arm: new settings that the search has no time for have to wait. */
void tune_after_arm(struct tune *tune, struct result *result);

/*
 * After the first arm: how many settings there is time for, and the --max-time that tries all.
 * False: there is time for all.
 */
bool tune_read_time(const struct tune *tune, char *buf, size_t size);

/*
 * After each round: says who is in the next one, and by rounds_planned whether there is one; adds
 * the arms of the fresh rounds. `analysis` is of the result as it is.
 */
int tune_next(struct tune *tune, const struct analysis *analysis, struct result *result,
              struct err *err);

/*
 * What is to be said after fresh rounds, and nothing before: what is recommended of them
 * (verdict/advice/recommend.h), its gain over `none` with the command for it, what came of the
 * leader of the search, what fewer cores would cost, and what there was no time for.
 */
void tune_judge(const struct tune *tune, const struct analysis *analysis,
                struct findings *findings);

void tune_free(struct tune *tune);

/* The settings as tables and JSON show them, live or read back: what is on record of the arms is
 * enough. */
struct tune_line {
    size_t arm;
    const char *name; /* of the setting */
    bool fresh;
    double rate; /* median of its rounds; NaN = it has none */
    /* Throughput, paired by round: of the search a share of the leader's, of fresh rounds relative
     * to none. */
    struct paired_ratio against;
    bool is_reference; /* that is what the others are held against */
    bool recommended;  /* verdict/advice/recommend.h */
};

struct tune_lines {
    size_t n;
    struct tune_line *all; /* owned; those of the search first, then the fresh; the best last */
};

/* Free with tune_lines_free, also after an error: -ENOMEM only. */
int tune_lines_make(const struct analysis *analysis, struct tune_lines *lines, struct err *err);
void tune_lines_free(struct tune_lines *lines);

/* From here on between the files of a tune. */

/* The largest share of the time for the search. */
#define TUNE_SEARCH_SHARE 0.55
/* Fresh rounds: from six on they can show something (lib/stats/sequential.h), and enough is enough.
 * A slow `none` is cut off before it leaves time for fewer than TUNE_FRESH_FEW of the others. */
enum { TUNE_FRESH_LEAST = 6, TUNE_FRESH_MOST = 15, TUNE_FRESH_FEW = 3 };
/* A setting that takes so many times as long as others may be cut off to save time. */
#define TUNE_SLOW 4

/* Ends the search: its arms rest, and those of the fresh rounds are added. */
int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err);

/* After a fresh round: who is in the next one, if there is one. */
void tune_next_fresh(struct tune *tune, const struct analysis *analysis, struct result *result);

/* "90", "8m": what an option takes, rounded up. */
enum { TUNE_TIME_MAX = 32 };
char *tune_format_time(double seconds, char buf[TUNE_TIME_MAX]);

/* The time in which all settings would be tried, if they take what those took that were. */
double tune_time_for_all(const struct tune *tune);

/* The time of the arm's last round; 0 = it had none. */
double tune_took_s(const struct result *result, size_t arm);

#endif
