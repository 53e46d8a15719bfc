#include "harness/show/summary/sizing.h"

#include <math.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/verdict/search/sizing.h"

enum { CELL = 32 };

/* Cores, one worker, of its best, all workers, of their best, predicted, its error. */
#define LINE "%-8s%12s%9s%14s%9s%12s%9s\n"

static double best_of(const struct knee_point *points, size_t n)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, points[i].rate);
    return best;
}

static char *format_error(double error, char *buf)
{
    if (isfinite(error))
        (void)snprintf(buf, CELL, "%+.1f%%", 100 * error);
    else
        (void)snprintf(buf, CELL, "-");
    return buf;
}

static void print_point(const struct sizing_curves *curves, size_t i, FILE *out)
{
    char cores[CELL], one[CELL], share[CELL], all[CELL], of[CELL], predicted[CELL], error[CELL];
    const struct knee_point *alone = &curves->alone[i], *many = &curves->all[i];
    double has = isnan(many->rate) ? NAN : curves->predicted[i];
    (void)snprintf(cores, sizeof(cores), "%u", alone->cores);
    (void)fprintf(out, LINE, cores, units_format_si(alone->rate, one, sizeof(one)),
                  text_percent(alone->rate / best_of(curves->alone, curves->n), share, CELL),
                  units_format_si(many->rate, all, sizeof(all)),
                  text_percent(many->rate / best_of(curves->all, curves->n), of, CELL),
                  units_format_si(has, predicted, sizeof(predicted)),
                  format_error(curves->error[i], error));
}

void sizing_print(const struct analysis *analysis, FILE *out, bool color)
{
    struct sizing_curves curves;
    char workers[CELL], unit[CELL];
    const struct result *result = analysis->result;
    if (!sizing_read(analysis, &curves))
        return;
    (void)fprintf(out, "%ssizing %s, %s, %u round%s%s\n", color ? "\033[1m" : "", result->scenario,
                  device_infos[result->device].title, result->rounds_done,
                  result->rounds_done == 1 ? "" : "s", color ? "\033[0m" : "");
    (void)fprintf(out, "%s of all workers, each with so many cores, as %s\n\n",
                  bench_rate_unit(curves.arm->bench, unit, sizeof(unit)),
                  placement_infos[curves.arm->placement].name);
    (void)snprintf(workers, sizeof(workers), "%u workers", curves.workers);
    (void)fputs(color ? "\033[2m" : "", out);
    (void)fprintf(out, LINE, "cores", "one alone", "of best", workers, "of best", "predicted",
                  "error");
    (void)fputs(color ? "\033[0m" : "", out);
    for (size_t i = 0; i < curves.n; i++)
        print_point(&curves, i, out);
}
