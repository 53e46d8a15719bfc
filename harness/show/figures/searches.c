#include <errno.h>
#include <math.h>

#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/series.h"
#include "harness/verdict/runs/dosing.h"
#include "harness/verdict/runs/mix.h"
#include "harness/verdict/runs/predict.h"
#include "harness/verdict/runs/sizing.h"

/* Line chart of the throughput that each placement keeps, over the dose of contention. */

/* The value on the x axis: shares are in percent. */
static double x_of(const struct dosing_curves *curves, double level)
{
    return dose_is_share(curves->kind) ? 100 * level : level;
}

/* The x of a point: the dose that was held, or the nominal dose if that is unknown. */
static double x_at(const struct dosing_curves *curves, size_t p, size_t i)
{
    double held = curves->point[p][i].held;
    return x_of(curves, isnan(held) ? curves->level[i] : held);
}

/* Sets the ends of both axes so that all points fit. */
static void find_ends(const struct dosing_curves *of, struct curves *curves)
{
    double low = x_of(of, of->level[0]), high = low, most = 100;
    for (size_t p = 0; p < of->nplacements; p++)
        for (size_t i = 0; i < of->n; i++) {
            low = fmin(low, fmin(x_at(of, p, i), x_of(of, of->level[i])));
            high = fmax(high, fmax(x_at(of, p, i), x_of(of, of->level[i])));
            most = fmax(most, fmax(100 * of->point[p][i].retention.ratio,
                                   100 * of->point[p][i].retention.high));
        }
    double margin = 0.05 * (high - low);
    curves->x_ends[0] = dose_is_share(of->kind) ? 0 : low - margin;
    curves->x_ends[1] = high + margin;
    curves->y_ends[1] = most * 1.12;
}

static void put_head(const struct figure_data *data, const struct dosing_curves *of, FILE *out)
{
    static const char *const labels[DOSE_KINDS] = {
        [DOSE_CPU] = "dose: CPU time taken, %",
        [DOSE_BANDWIDTH] = "dose: memory bandwidth left, relative to idle",
        [DOSE_LATENCY] = "dose: memory latency, relative to idle",
        [DOSE_CACHE] = "dose: speed of reads from the cache, relative to idle",
        [DOSE_H2D] = "dose: time of the host-to-device link left",
        [DOSE_THROTTLE] = "dose: throttled time, %"};
    struct curves curves = {.x.label = labels[of->kind], .y.label = "throughput kept, %"};
    for (size_t p = 0; p < of->nplacements; p++)
        (void)names_add(&curves.names, placement_infos[of->placement[p]].name);
    (void)names_add(&curves.names, "loss of the dose alone");
    find_ends(of, &curves);
    dat_put_heading(data, "throughput kept, by the dose of contention", of->workers,
                    dat_format_rounds(data, "Relative to no dose", "s"), CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
}

static bool is_measured(const struct dosing_curves *curves)
{
    for (size_t p = 0; p < curves->nplacements; p++)
        for (size_t i = 1; i < curves->n; i++)
            if (!isnan(curves->point[p][i].retention.ratio))
                return true;
    return false;
}

int figure_dosing(const struct figure_data *data, FILE *out, struct err *err)
{
    struct dosing_curves curves;
    if (!dosing_read(data->analysis, &curves) || !is_measured(&curves))
        return err_set(err, -ENODATA, "no dose was measured");
    put_head(data, &curves, out);
    for (size_t p = 0; p < curves.nplacements; p++) {
        curves_put_line(p, out);
        for (size_t i = 0; i < curves.n; i++) {
            const struct evidence *kept = &curves.point[p][i].retention;
            if (!isnan(kept->ratio))
                curves_put_point(x_at(&curves, p, i), 100 * kept->ratio, 100 * kept->low,
                                 100 * kept->high, out);
        }
    }
    curves_put_line(curves.nplacements, out);
    for (size_t i = 0; i < curves.n; i++)
        curves_put_point(x_of(&curves, curves.level[i]),
                         100 * dosing_expected(curves.kind, curves.level[i]), NAN, NAN, out);
    return 0;
}

/* Line chart of a worker's throughput over its cores, alone and beside other workers. */

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
static void sizing_put_head(const struct figure_data *data, const struct sizing_curves *of,
                            FILE *out)
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
    sizing_put_head(data, &curves, out);
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

/* Line chart of what each of several jobs keeps, over the cores of the first. */

/* Cores of the first job under the arm, "4+12"; 0 = they are not divided by jobs. */
static unsigned first_cores(const struct arm *arm)
{
    unsigned cores = 0;
    return arm->variant && sscanf(arm->variant->name, "%u+", &cores) == 1 ? cores : 0;
}

static void put_kept(const struct analysis *analysis, size_t line, const char *metric, FILE *out)
{
    curves_put_line(line, out);
    for (size_t i = 0; i < analysis->result->narms; i++) {
        const struct arm *arm = &analysis->result->arms[i];
        const struct row *row = first_cores(arm) ? rows_find(&analysis->rows, arm, metric) : NULL;
        if (row && !isnan(row->median))
            curves_put_point(first_cores(arm), row->median, row->ci_low, row->ci_high, out);
    }
}

int figure_mix(const struct figure_data *data, FILE *out, struct err *err)
{
    const struct rows *rows = &data->analysis->rows;
    struct curves curves = {.y.label = "rate relative to the job alone"};
    const char *jobs[NEIGHBOURS_MOST];
    const struct arm *of = NULL;
    size_t njobs = 0;
    for (size_t i = 0; i < rows->n && njobs < NEIGHBOURS_MOST; i++) {
        const struct row *row = &rows->row[i];
        if (!first_cores(row->arm) || !mix_kept_by(row->metric))
            continue;
        of = of ? of : row->arm;
        if (row->arm == of)
            jobs[njobs++] = row->metric;
        curves.x_ends[1] = fmax(curves.x_ends[1], first_cores(row->arm) * 1.05);
        curves.y_ends[1] = fmax(curves.y_ends[1], fmax(1, row->median) * 1.12);
    }
    if (!njobs)
        return err_set(err, -ENODATA, "cores were not divided among the jobs");
    for (size_t j = 0; j < njobs; j++)
        (void)names_add(&curves.names, str_fmt("%.*s", (int)mix_kept_by(jobs[j]), jobs[j]));
    curves.x.label =
        str_fmt("cores of %.*s; the others have the rest", (int)mix_kept_by(jobs[0]), jobs[0]);
    dat_put_heading(data, "what each job keeps, by the cores of the first", of->planned_workers,
                    "Medians of the rounds", CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
    dat_block("crosses", "x y", out);
    marks_put(&(struct marks){0}, false, curves.x_ends, out);
    for (size_t j = 0; j < njobs; j++)
        put_kept(data->analysis, j, jobs[j], out);
    return 0;
}

/* Line chart of what is predicted, by the number of workers, with what was measured as crosses. */

static void put_predicted(const struct prediction *prediction, enum placement placement,
                          size_t line, FILE *out)
{
    curves_put_line(line, out);
    for (size_t i = 0; i < prediction->n; i++) {
        const struct predict_cell *cell = &prediction->cell[i];
        if (cell->arm->placement != placement || isnan(cell->rate))
            continue;
        curves_put_point(cell->arm->planned_workers, cell->rate, cell->is_profile ? NAN : cell->low,
                         cell->is_profile ? NAN : cell->high, out);
    }
}

int figure_predict(const struct figure_data *data, FILE *out, struct err *err)
{
    struct prediction prediction;
    struct curves curves = {.x.label = "workers"};
    enum placement lines[PLACEMENTS];
    size_t n = 0;
    if (!predict_read(data->analysis, &prediction))
        return err_set(err, -ENODATA, "the profile gives no prediction");
    for (size_t i = 0; i < prediction.n; i++) {
        const struct predict_cell *cell = &prediction.cell[i];
        size_t at = 0;
        while (at < n && lines[at] != cell->arm->placement)
            at++;
        if (at == n) {
            lines[n++] = cell->arm->placement;
            (void)names_add(&curves.names, placement_infos[cell->arm->placement].name);
        }
        curves.x_ends[1] = fmax(curves.x_ends[1], cell->arm->planned_workers * 1.05);
        if (!isnan(cell->rate))
            curves.y_ends[1] = fmax(curves.y_ends[1], 1.12 * cell->high);
        if (!isnan(cell->measured))
            curves.y_ends[1] = fmax(curves.y_ends[1], 1.12 * cell->measured);
    }
    curves.y.label =
        str_fmt("%s of all workers", bench_rate_unit(data->analysis->result->arms[0].bench));
    dat_put_heading(data, "throughput predicted from one and two workers", 1,
                    "Bars: 90% intervals; crosses: measured", CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
    struct marks marks = {0};
    dat_block("crosses", "x y", out);
    for (size_t i = 0; i < prediction.n; i++)
        if (!isnan(prediction.cell[i].measured))
            (void)fprintf(out, "%u %.9g\n", prediction.cell[i].arm->planned_workers,
                          prediction.cell[i].measured);
    marks_put(&marks, false, curves.x_ends, out);
    for (size_t at = 0; at < n; at++)
        put_predicted(&prediction, lines[at], at, out);
    return 0;
}
