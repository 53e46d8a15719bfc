/* What the files of a tune have in common. */
#ifndef CONTEND_VERDICT_SEARCH_TUNE_PARTS_H
#define CONTEND_VERDICT_SEARCH_TUNE_PARTS_H

#include "harness/verdict/search/tune.h"

/* Of the time, what the search may take at most. */
#define TUNE_SEARCH_SHARE 0.55
/* Fresh rounds: their range is an interval from five on (stats.h), and enough is enough. A slow
 * `none` is cut off before it leaves time for fewer than TUNE_FRESH_FEW of the others. */
enum { TUNE_FRESH_LEAST = 5, TUNE_FRESH_MOST = 15, TUNE_FRESH_FEW = 3 };
/* What takes so many times as long as others may be cut off where there is no time for it. */
#define TUNE_SLOW 4

/* Ends the search: its arms rest, and those of the fresh rounds are added. */
int tune_begin_fresh(struct tune *tune, struct result *result, struct err *err);

/* After a fresh round: who is in the next one, if there is one. */
void tune_next_fresh(struct tune *tune, struct result *result);

/* "90", "8m": what an option takes, rounded up. */
enum { TUNE_TIME_MAX = 32 };
char *tune_say_time(double seconds, char buf[TUNE_TIME_MAX]);

/* The time in which all settings would be tried, if they take what those took that were. */
double tune_time_for_all(const struct tune *tune);

/* What the arm took in its last round; 0 where it had none. */
double tune_took_s(const struct result *result, size_t arm);

#endif
