/* Work per second of a worker over its cores, alone and beside the others, as lines. */
#include "harness/verdict/search/sizing.h"

#include <errno.h>
#include <math.h>

#include "harness/show/data/curves.h"
#include "harness/show/data/dat.h"

static double best_of(const struct sizing_curves *curves)
{
    double best = NAN;
    for (size_t i = 0; i < curves->n; i++)
        best = fmax(best, fmax(curves->alone[i].rate, curves->all[i].rate / curves->workers));
    return best;
}

/* Linear axes from 0. */
static void put_head(const struct figure_data *data, const struct sizing_curves *of, FILE *out)
{
    char label[60], unit[32], name[NAMES_TEXT];
    (void)snprintf(label, sizeof(label), "%s of one worker",
                   bench_rate_unit(of->arm->bench, unit, sizeof(unit)));
    struct curves curves = {.x.label = "cores of each worker",
                            .y.label = label,
                            .x_ends = {0, of->alone[of->n - 1].cores * 1.05},
                            .y_ends = {0, best_of(of) * 1.12}};
    (void)names_add(&curves.names, "one worker alone");
    (void)snprintf(name, sizeof(name), "each of %u workers", of->workers);
    if (of->workers > 1)
        (void)names_add(&curves.names, name);
    dat_put_heading(data, "work done per second by a worker, over its cores", of->workers,
                    "Medians of the rounds", CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
}

/* Of a curve, the knee, from where on a core adds less, or `enough`: the fewest cores within 5% of
 * the best. */
static void put_cross(const struct knee_point *points, size_t at, size_t n, const char *what,
                      double share, FILE *out)
{
    char text[64];
    if (at == n)
        return;
    (void)snprintf(text, sizeof(text), "%u %s", points[at].cores, what);
    (void)fprintf(out, "%u %.9g %s\n", points[at].cores, points[at].rate * share,
                  dat_text(text, sizeof(text)).quoted);
}

static void put_crosses(const struct knee_point *points, size_t knee, size_t enough, size_t n,
                        double share, FILE *out)
{
    put_cross(points, enough, n, knee == enough ? "enough, knee" : "enough", share, out);
    if (knee != enough)
        put_cross(points, knee, n, "knee", share, out);
}

static void put_points(const struct knee_point *points, size_t n, size_t line, double share,
                       FILE *out)
{
    curves_put_line(line, out);
    for (size_t i = 0; i < n; i++)
        if (!isnan(points[i].rate))
            curves_put_point(points[i].cores, points[i].rate * share, NAN, NAN, out);
}

int figure_sizing(const struct figure_data *data, FILE *out, struct err *err)
{
    struct sizing_curves curves;
    if (!sizing_read(data->analysis, &curves) || isnan(best_of(&curves)))
        return err_set(err, -ENODATA, "no count of cores was measured");
    bool several = curves.workers > 1;
    double share = 1.0 / curves.workers;
    put_head(data, &curves, out);
    dat_block("crosses", "x y text", out);
    put_crosses(curves.alone, curves.knee, curves.enough, curves.n, 1, out);
    if (several)
        put_crosses(curves.all, curves.knee_all, curves.enough_all, curves.n, share, out);
    put_points(curves.alone, curves.n, 0, 1, out);
    if (several)
        put_points(curves.all, curves.n, 1, share, out);
    return 0;
}
