/* Figures of collectives: bus bandwidth, latency and what is kept of it under load, over size. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/plot/dat.h"
#include "harness/plot/series.h"

enum { LINES_MOST = 6, AXIS_MOST = 60 };

/* One of the figures. */
struct kind {
    const char *metric, *what, *axis;
};

static size_t lines_of(const struct series_list *list)
{
    return list->n < LINES_MOST ? list->n : LINES_MOST;
}

static const char *say_how(const struct figure_data *data, const struct arm *arm, char *buf,
                           size_t size)
{
    enum device device = arm_device(data->result, arm);
    return dat_say_rounds(data, device == DEVICE_NCCL ? "Over NCCL" : "Over MPI on the CPUs", buf,
                          size);
}

/* Ends of the axes: left, right, lower, upper. fmin and fmax pass over what is not a number. */
static void find_ends(const struct series_list *list, double ends[static 4])
{
    ends[0] = ends[2] = INFINITY;
    ends[1] = ends[3] = -INFINITY;
    for (size_t i = 0; i < lines_of(list); i++)
        for (size_t k = 0; k < list->series[i].n; k++) {
            const struct series_point *point = &list->series[i].points[k];
            ends[0] = fmin(ends[0], point->x);
            ends[1] = fmax(ends[1], point->x);
            ends[2] = fmin(ends[2], fmin(point->row->median, point->row->ci_low));
            ends[3] = fmax(ends[3], fmax(point->row->median, point->row->ci_high));
        }
}

static int write_by_size(const struct figure_data *data, const struct kind *kind, FILE *out,
                         struct err *err)
{
    struct series_list list;
    double ends[4] = {0};
    char how[160], rest[120] = "";
    int rc = series_make(data, kind->metric, "size", &list, err);
    if (!rc)
        find_ends(&list, ends);
    if (!rc && !(ends[0] > 0 && ends[0] < ends[1] && ends[2] > 0))
        rc = err_set(err, -ENODATA, "one size makes no line");
    if (rc)
        goto free_list;
    if (list.n > LINES_MOST)
        (void)snprintf(rest, sizeof(rest), "%zu more lines are in rows.csv", list.n - LINES_MOST);
    dat_put_scan_heading(data, list.series[0].arm, kind->what,
                         say_how(data, list.series[0].arm, how, sizeof(how)), rest, out);
    dat_put_text(out, kind->axis, AXIS_MOST);
    (void)fprintf(out, " %zu %.9g %.9g %.9g %.9g\n", lines_of(&list), ends[0], ends[1],
                  dat_round_125(ends[2] / 1.02, false), dat_round_125(ends[3] * 1.02, true));
    dat_end_block(out);
    series_put_names(data, &list, lines_of(&list), out);
    for (size_t i = 0; i < lines_of(&list); i++)
        series_put_points(&list.series[i], out);
free_list:
    series_free(&list);
    return rc;
}

int figure_collective_bandwidth(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct kind kind = {"collective_busbw", "bus bandwidth of collectives by size",
                                     "bus bandwidth (GB/s, log scale)"};
    return write_by_size(data, &kind, out, err);
}

int figure_collective_latency(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct kind kind = {"collective_latency", "time of a collective by size",
                                     "time of an operation (us, log scale)"};
    return write_by_size(data, &kind, out, err);
}

int figure_retention(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct kind kind = {"retention", "what is kept of the speed under CPU load",
                                     "share of the idle speed (ratio, log scale)"};
    return write_by_size(data, &kind, out, err);
}
