/* Line chart of the throughput that each placement keeps, over the dose of contention. */
#include "harness/verdict/runs/dosing.h"

#include <errno.h>
#include <math.h>

#include "harness/show/figures/curves.h"
#include "harness/show/figures/dat.h"

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
