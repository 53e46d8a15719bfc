/* Line charts of throughput and of efficiency over the number of workers. */
#include "harness/record/scaling.h"

#include <errno.h>
#include <math.h>

#include "harness/lib/str.h"
#include "harness/record/metric.h"
#include "harness/show/figures/curves.h"
#include "harness/show/figures/dat.h"

/* The input of one figure. */
struct shown {
    const struct figure_data *data;
    const char *metric;
    double most;
    struct scaling scaling;
};

static const struct row *row_at(const struct shown *shown, size_t count, size_t placement)
{
    int arm = shown->scaling.arm[count][placement];
    const struct row *row = arm < 0 ? NULL
                                    : rows_find(&shown->data->analysis->rows,
                                                &shown->data->result->arms[arm], shown->metric);
    return row && !isnan(row->median) ? row : NULL;
}

static int read_curves(const struct figure_data *data, const char *metric, struct shown *shown,
                       struct err *err)
{
    *shown = (struct shown){.data = data, .metric = metric};
    if (!scaling_read(data->result, &shown->scaling))
        return err_set(err, -ENODATA, "one number of workers makes no curve");
    for (size_t c = 0; c < shown->scaling.ncounts; c++)
        for (size_t p = 0; p < shown->scaling.nplacements; p++) {
            const struct row *row = row_at(shown, c, p);
            if (row)
                shown->most = fmax(shown->most, fmax(row->median, row->ci_high));
        }
    return shown->most > 0 ? 0 : err_set(err, -ENODATA, "no placement finished a round");
}

static void put(const struct shown *shown, const char *what, const char *label, FILE *out)
{
    const struct scaling *scaling = &shown->scaling;
    unsigned first = scaling->counts[0], last = scaling->counts[scaling->ncounts - 1];
    bool log = last >= 16 * first;
    struct curves curves = {.x = {.label = "workers", .log = log},
                            .y = {.label = label},
                            .x_ends = {log ? first * 0.9 : 0, last * 1.05},
                            .y_ends = {0, shown->most * 1.12}};
    for (size_t p = 0; p < scaling->nplacements; p++)
        (void)names_add(&curves.names, placement_infos[scaling->placements[p]].name);
    dat_put_heading(shown->data, what, 0,
                    dat_format_rounds(shown->data, "All workers together", "s"), CURVES_COLUMNS,
                    out);
    curves_put_axes(&curves, out);
    for (size_t p = 0; p < scaling->nplacements; p++) {
        curves_put_line(p, out);
        for (size_t c = 0; c < scaling->ncounts; c++) {
            const struct row *row = row_at(shown, c, p);
            if (row)
                curves_put_point(scaling->counts[c], row->median, row->ci_low, row->ci_high, out);
        }
    }
}

int figure_workers(const struct figure_data *data, FILE *out, struct err *err)
{
    struct shown shown;
    int rc = read_curves(data, METRIC_RATE, &shown, err);
    if (rc)
        return rc;
    const char *unit = "";
    for (size_t i = 0; i < data->result->narms && !unit[0]; i++)
        unit = data->analysis->rounds.arms[i].rate_unit;
    const char *label = str_fmt("%s of all workers", unit);
    put(&shown, "throughput of all workers, by their number", label, out);
    return 0;
}

int figure_workers_efficiency(const struct figure_data *data, FILE *out, struct err *err)
{
    struct shown shown;
    int rc = read_curves(data, "efficiency", &shown, err);
    if (!rc)
        put(&shown, "parallel efficiency, by the number of workers",
            "efficiency (alone on a slice: 1)", out);
    return rc;
}
