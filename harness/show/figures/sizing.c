/* Line chart of a worker's throughput over its cores, alone and beside other workers. */
#include "harness/verdict/runs/sizing.h"

#include <errno.h>
#include <math.h>

#include "harness/lib/str.h"
#include "harness/show/figures/curves.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/marks.h"

static double best_of(const struct sizing_curves *curves)
{
    double best = NAN;
    for (size_t i = 0; i < curves->n; i++)
        best = fmax(best, fmax(curves->solo[i].rate, curves->all[i].rate / curves->workers));
    return best;
}

static double x_end(const struct sizing_curves *curves)
{
    return curves->solo[curves->n - 1].cores * 1.05;
}

/* Both axes are linear from 0. */
static void put_head(const struct figure_data *data, const struct sizing_curves *of, FILE *out)
{
    const char *label = str_fmt("%s of one worker", bench_rate_unit(of->arm->bench));
    struct curves curves = {.x.label = "cores of each worker",
                            .y.label = label,
                            .x_ends = {0, x_end(of)},
                            .y_ends = {0, best_of(of) * 1.12}};
    (void)names_add(&curves.names, "one worker alone");
    const char *name = str_fmt("each of %u workers", of->workers);
    if (of->workers > 1)
        (void)names_add(&curves.names, name);
    dat_put_heading(data, "throughput of a worker, by its cores", of->workers,
                    "Medians of the rounds", CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
}

/* Adds a mark at a number of cores, and a cross on the curve there. */
static void put_cross(const struct knee_point *point, const char *whose, const char *what,
                      double share, struct marks *marks, FILE *out)
{
    const char *text = str_fmt("%s: %s at %u cores", whose, what, point->cores);
    marks_add(marks, point->cores, false, text);
    (void)fprintf(out, "%u %.9g\n", point->cores, point->rate * share);
}

/* Adds the knee, where a core begins to add less, and `enough`: fewest cores within 5% of the
 * best. */
static void put_crosses(const struct sizing_curves *curves, bool all, double share,
                        struct marks *marks, FILE *out)
{
    const struct knee_point *points = all ? curves->all : curves->solo;
    const size_t knee = all ? curves->knee_all : curves->knee;
    const size_t enough = all ? curves->enough_all : curves->enough;
    const char *whose = all ? "all" : "alone";
    if (enough < curves->n)
        put_cross(&points[enough], whose, knee == enough ? "enough and knee" : "enough", share,
                  marks, out);
    if (knee < curves->n && knee != enough)
        put_cross(&points[knee], whose, "knee", share, marks, out);
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
    struct marks marks = {0};
    if (!sizing_read(data->analysis, &curves) || isnan(best_of(&curves)))
        return err_set(err, -ENODATA, "no count of cores was measured");
    bool several = curves.workers > 1;
    double share = 1.0 / curves.workers;
    put_head(data, &curves, out);
    dat_block("crosses", "x y", out);
    put_crosses(&curves, false, 1, &marks, out);
    if (several)
        put_crosses(&curves, true, share, &marks, out);
    marks_put(&marks, false, (const double[]){0, x_end(&curves)}, out);
    put_points(curves.solo, curves.n, 0, 1, out);
    if (several)
        put_points(curves.all, curves.n, 1, share, out);
    return 0;
}
