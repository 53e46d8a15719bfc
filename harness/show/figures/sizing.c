/* Work per second of a worker over its cores, alone and beside the others, as lines. */
#include "harness/verdict/search/sizing.h"

#include <errno.h>
#include <math.h>

#include "harness/show/data/dat.h"
#include "harness/show/data/names.h"

enum { LABEL_MOST = 60 };

static double best_of(const struct sizing_curves *curves)
{
    double best = NAN;
    for (size_t i = 0; i < curves->n; i++)
        best = fmax(best, fmax(curves->alone[i].rate, curves->all[i].rate / curves->workers));
    return best;
}

static void put_head(const struct figure_data *data, const struct sizing_curves *curves, FILE *out)
{
    char label[LABEL_MOST], unit[32];
    dat_put_heading(data, "work done per second by a worker, over its cores", curves->workers,
                    "Medians of the rounds", out);
    dat_put_text(out, "cores of each worker", LABEL_MOST);
    (void)snprintf(label, sizeof(label), "%s of one worker",
                   bench_rate_unit(curves->arm->bench, unit, sizeof(unit)));
    dat_put_text(out, label, LABEL_MOST);
    /* One panel, linear axes from 0. */
    (void)fprintf(out, " 1 %d %d 0 0 0 0 %.9g 0 %.9g 0 0\n", curves->workers > 1 ? 2 : 1,
                  curves->workers > 1 ? 2 : 1, curves->alone[curves->n - 1].cores * 1.05,
                  best_of(curves) * 1.12);
    dat_end_block(out);
}

static void put_names(const struct sizing_curves *curves, FILE *out)
{
    struct names names = {0};
    char name[NAMES_TEXT];
    (void)names_add(&names, "one worker alone");
    (void)snprintf(name, sizeof(name), "each of %u workers", curves->workers);
    if (curves->workers > 1)
        (void)names_add(&names, name);
    names_put_lines(&names, out);
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
    (void)fprintf(out, "%u %.9g", points[at].cores, points[at].rate * share);
    dat_put_text(out, text, sizeof(text));
    (void)fputc('\n', out);
}

static void put_crosses(const struct knee_point *points, size_t knee, size_t enough, size_t n,
                        double share, FILE *out)
{
    put_cross(points, enough, n, knee == enough ? "enough, knee" : "enough", share, out);
    if (knee != enough)
        put_cross(points, knee, n, "knee", share, out);
}

static void put_points(const struct knee_point *points, size_t n, double share, FILE *out)
{
    dat_start_block(out, "NaN NaN NaN NaN");
    for (size_t i = 0; i < n; i++)
        if (!isnan(points[i].rate))
            (void)fprintf(out, "%u %.9g NaN NaN\n", points[i].cores, points[i].rate * share);
    dat_end_block(out);
}

int figure_sizing(const struct figure_data *data, FILE *out, struct err *err)
{
    struct sizing_curves curves;
    const struct analysis analysis = {.result = data->result, .rounds = *data->rounds};
    if (!sizing_read(&analysis, &curves) || isnan(best_of(&curves)))
        return err_set(err, -ENODATA, "no count of cores was measured");
    put_head(data, &curves, out);
    put_names(&curves, out);
    dat_start_block(out, "NaN 0 0 0 \"\""); /* no marks */
    dat_end_block(out);
    dat_start_block(out, "NaN NaN \"\"");
    put_crosses(curves.alone, curves.knee, curves.enough, curves.n, 1, out);
    if (curves.workers > 1)
        put_crosses(curves.all, curves.knee_all, curves.enough_all, curves.n, 1.0 / curves.workers,
                    out);
    dat_end_block(out);
    put_points(curves.alone, curves.n, 1, out);
    if (curves.workers > 1)
        put_points(curves.all, curves.n, 1.0 / curves.workers, out);
    return 0;
}
