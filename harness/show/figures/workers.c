/* Work per second of all workers, and their efficiency, over how many they are, as lines. */
#include "harness/rows/scaling.h"

#include <errno.h>
#include <math.h>

#include "harness/rows/metric.h"
#include "harness/show/data/dat.h"
#include "harness/show/data/names.h"

enum { LABEL_MOST = 60 };

/* What one of the figures shows. */
struct curves {
    const struct figure_data *data;
    const char *metric;
    double most;
    struct scaling scaling;
};

static const struct row *row_at(const struct curves *curves, size_t count, size_t placement)
{
    int arm = curves->scaling.arm[count][placement];
    const struct row *row =
        arm < 0 ? NULL
                : rows_find(curves->data->rows, &curves->data->result->arms[arm], curves->metric);
    return row && !isnan(row->median) ? row : NULL;
}

static int read_curves(const struct figure_data *data, const char *metric, struct curves *curves,
                       struct err *err)
{
    *curves = (struct curves){.data = data, .metric = metric};
    if (!scaling_read(data->result, &curves->scaling))
        return err_set(err, -ENODATA, "one number of workers makes no curve");
    for (size_t c = 0; c < curves->scaling.ncounts; c++)
        for (size_t p = 0; p < curves->scaling.nplacements; p++) {
            const struct row *row = row_at(curves, c, p);
            if (row)
                curves->most = fmax(curves->most, fmax(row->median, row->ci_high));
        }
    return curves->most > 0 ? 0 : err_set(err, -ENODATA, "no placement finished a round");
}

static void put_head(const struct curves *curves, const char *what, const char *label, FILE *out)
{
    const struct scaling *scaling = &curves->scaling;
    char how[80];
    unsigned last = scaling->counts[scaling->ncounts - 1];
    bool log = last >= 16 * scaling->counts[0];
    dat_put_heading(curves->data, what, 0,
                    dat_say_rounds(curves->data, "All workers together", how, sizeof(how)), out);
    dat_put_text(out, "workers", LABEL_MOST);
    dat_put_text(out, label, LABEL_MOST);
    (void)fprintf(out, " 1 %zu %zu %d 0 0 %.9g %.9g 0 %.9g 0 0\n", scaling->nplacements,
                  scaling->nplacements, log, log ? scaling->counts[0] * 0.9 : 0.0, last * 1.05,
                  curves->most * 1.12);
    dat_end_block(out);
}

static void put_curves(const struct curves *curves, FILE *out)
{
    const struct scaling *scaling = &curves->scaling;
    struct names names = {0};
    for (size_t p = 0; p < scaling->nplacements; p++)
        (void)names_add(&names, placement_infos[scaling->placements[p]].name);
    names_put_lines(&names, out);
    dat_start_block(out, "NaN 0 0 0 \"\""); /* no marks */
    dat_end_block(out);
    dat_start_block(out, "NaN NaN \"\""); /* no crosses */
    dat_end_block(out);
    for (size_t p = 0; p < scaling->nplacements; p++) {
        dat_start_block(out, "NaN NaN NaN NaN");
        for (size_t c = 0; c < scaling->ncounts; c++) {
            const struct row *row = row_at(curves, c, p);
            if (row)
                (void)fprintf(out, "%u %.9g %.9g %.9g\n", scaling->counts[c], row->median,
                              row->ci_low, row->ci_high);
        }
        dat_end_block(out);
    }
}

int figure_workers(const struct figure_data *data, FILE *out, struct err *err)
{
    struct curves curves;
    char label[LABEL_MOST];
    int rc = read_curves(data, METRIC_RATE, &curves, err);
    if (rc)
        return rc;
    const char *unit = "";
    for (size_t i = 0; i < data->result->narms && !unit[0]; i++)
        unit = data->rounds->arms[i].rate_unit;
    (void)snprintf(label, sizeof(label), "%s of all workers", unit);
    put_head(&curves, "work done per second by all workers, over their number", label, out);
    put_curves(&curves, out);
    return 0;
}

int figure_workers_efficiency(const struct figure_data *data, FILE *out, struct err *err)
{
    struct curves curves;
    int rc = read_curves(data, "efficiency", &curves, err);
    if (rc)
        return rc;
    put_head(&curves, "parallel efficiency, over the number of workers",
             "efficiency (alone on a slice: 1)", out);
    put_curves(&curves, out);
    return 0;
}
