#include "harness/show/summary/tune.h"

#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/lib/say/log.h"
#include "harness/verdict/advice/advice.h"
#include "harness/verdict/search/tune.h"

enum { CELL = 32, SHOWN = 24 }; /* of the search: the best */

/* Setting, threads a worker, rounds, work per second, relative to none or the best, its interval.
 */
#define LINE "%-32.32s %7s %6s %9.9s %8s %12s\n"

static void print_title(const struct analysis *analysis, FILE *out, bool color)
{
    const struct result *result = analysis->result;
    (void)fprintf(out, "%stune %s, %s, %u round%s%s\n", color ? "\033[1m" : "", result->scenario,
                  device_infos[result->device].title, result->rounds_done,
                  result->rounds_done == 1 ? "" : "s", color ? "\033[0m" : "");
}

static void print_head(const struct analysis *analysis, const struct tune_line *line, FILE *out,
                       bool color)
{
    char rate[CELL];
    const struct arm *arm = &analysis->result->arms[line->arm];
    (void)bench_rate_unit(arm->bench, rate, sizeof(rate));
    (void)fprintf(out, "\n%s", color ? "\033[2m" : "");
    (void)fprintf(out, LINE, line->fresh ? "fresh rounds" : "search", "threads", "rounds", rate,
                  line->fresh ? "speed-up" : "of best", line->fresh ? "interval" : "");
    (void)fputs(color ? "\033[0m" : "", out);
}

static void print_line(const struct analysis *analysis, const struct tune_line *line, FILE *out)
{
    char threads[CELL], rounds[CELL], rate[CELL], ratio[CELL], low[CELL], interval[2 * CELL] = "";
    char name[sizeof(((struct variant *)NULL)->name) + 1];
    const struct arm *arm = &analysis->result->arms[line->arm];
    const struct paired_ratio *against = &line->against;
    if (arm->plan.status != PLAN_OK) {
        int column = fprintf(out, "%-32.32s ", line->name);
        text_wrap(arm->plan.reason, column, 2, out);
        return;
    }
    (void)snprintf(threads, sizeof(threads), "%u", arm->plan.workers[0].threads);
    (void)snprintf(rounds, sizeof(rounds), "%zu", analysis->rounds.arms[line->arm].n);
    (void)snprintf(name, sizeof(name), "%s%s", line->name, line->recommended ? "*" : "");
    if (line->fresh && !line->is_reference && !isnan(against->low)) {
        (void)advice_format_ratio(against->low, low, sizeof(low));
        low[strlen(low) - 1] = '\0'; /* "1.9-2.1x" */
        (void)snprintf(interval, sizeof(interval), "%s-%s", low,
                       advice_format_ratio(against->high, ratio, sizeof(ratio)));
    }
    (void)fprintf(out, LINE, name, threads, rounds, units_format_si(line->rate, rate, sizeof(rate)),
                  !line->fresh         ? text_percent(against->median, ratio, sizeof(ratio))
                  : line->is_reference ? "1x"
                                       : advice_format_ratio(against->median, ratio, sizeof(ratio)),
                  interval);
}

void tune_print(const struct analysis *analysis, FILE *out, bool color)
{
    struct tune_lines lines;
    size_t searched = 0;
    bool starred = false;
    print_title(analysis, out, color);
    if (tune_lines_make(analysis, &lines, NULL)) {
        log_error("out of memory for the summary table; rows.csv has everything");
        tune_lines_free(&lines);
        return;
    }
    while (searched < lines.n && !lines.all[searched].fresh)
        searched++;
    size_t first = searched > SHOWN ? searched - SHOWN : 0;
    for (size_t i = first; i < lines.n; i++) {
        if (i == first || i == searched)
            print_head(analysis, &lines.all[i], out, color);
        if (i == first && first)
            (void)fprintf(out, "%zu slower ones are in rows.csv\n", first);
        print_line(analysis, &lines.all[i], out);
        starred = starred || lines.all[i].recommended;
    }
    if (starred)
        (void)fputs("speed-up: throughput relative to none, paired by round; *: recommended\n",
                    out);
    tune_lines_free(&lines);
}
