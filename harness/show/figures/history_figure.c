#include "harness/show/figures/history_figure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/stats.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/files.h"
#include "harness/show/figures/gnuplot.h"
#include "harness/show/figures/scripts.h"
#include "harness/verdict/comparison.h"

/* The last one is the control's (canary), if there is one. */
struct panels {
    size_t n;
    const struct history_series *series[HISTORY_PANELS + 1];
};

/* The largest change of the series, as |ln ratio|. */
static double weight(const struct history_series *series)
{
    double most = 0;
    for (size_t i = 0; i < series->changes.n; i++)
        most = fmax(most, fabs(log(series->changes.change[i].evidence.ratio)));
    return most;
}

static bool has(const struct panels *panels, const struct history_series *series)
{
    for (size_t i = 0; i < panels->n; i++)
        if (panels->series[i] == series)
            return true;
    return false;
}

static void choose(const struct history *history, bool is_control, size_t most,
                   struct panels *panels)
{
    for (size_t i = 0; i < most; i++) {
        const struct history_series *best = NULL;
        for (size_t s = 0; s < history->nseries; s++) {
            const struct history_series *series = &history->series[s];
            if (series->figure.is_control == is_control && series->n && !has(panels, series) &&
                (!best || weight(series) > weight(best)))
                best = series;
        }
        if (best)
            panels->series[panels->n++] = best;
    }
}

static void put_panels(const struct panels *panels, FILE *out)
{
    dat_block("panels", "number name low high", out);
    for (size_t p = 0; p < panels->n; p++) {
        const struct history_series *series = panels->series[p];
        double low = INFINITY, high = 0;
        for (size_t i = 0; i < series->n; i++) {
            low = fmin(low, series->point[i].value);
            high = fmax(high, series->point[i].value);
        }
        double room = fmax((high - low) * 0.15, high * 0.01);
        const char *text = str_fmt("%s, %s: %.200s", series->figure.metric, series->figure.unit,
                                   series->figure.arm);
        for (char *c; (c = memchr(text, '_', strlen(series->figure.metric)));)
            *c = ' '; /* "step time, s" */
        (void)fprintf(out, "%zu %s %.9g %.9g\n", p, dat_text(text, 110).quoted, low - room,
                      high + 2 * room);
    }
}

static void put_points(const struct panels *panels, FILE *out)
{
    dat_block("runs", "panel run value", out);
    for (size_t p = 0; p < panels->n; p++)
        for (size_t i = 0; i < panels->series[p]->n; i++)
            (void)fprintf(out, "%zu %u %.9g\n", p, panels->series[p]->point[i].run + 1,
                          panels->series[p]->point[i].value);
}

/* Writes each level over the runs that it lasted; its value is the median of these runs. */
static int put_levels(const struct panels *panels, FILE *out)
{
    dat_block("levels", "panel first last value", out);
    for (size_t p = 0; p < panels->n; p++) {
        const struct history_series *series = panels->series[p];
        double *values = calloc(series->n + 1, sizeof(*values));
        if (!values)
            return -ENOMEM;
        for (size_t s = 0; s <= series->changes.n; s++) {
            size_t from = changes_begin(&series->changes, s, series->n);
            size_t to = changes_begin(&series->changes, s + 1, series->n);
            for (size_t i = from; i < to; i++)
                values[i - from] = series->point[i].value;
            (void)fprintf(out, "%zu %u %u %.9g\n", p, series->point[from].run + 1,
                          series->point[to - 1].run + 1, stats_sort_median(values, to - from));
        }
        free(values);
    }
    return 0;
}

static void put_changes(const struct panels *panels, FILE *out)
{
    dat_block("changes", "panel run worse text", out);
    for (size_t p = 0; p < panels->n; p++) {
        const struct history_series *series = panels->series[p];
        for (size_t i = 0; i < series->changes.n; i++) {
            const struct change *change = &series->changes.change[i];
            const char *text = comparison_format_ratio(change->evidence.ratio);
            (void)fprintf(out, "%zu %u %d %s\n", p, series->point[change->at].run + 1,
                          history_is_worse(series, change), dat_text(text, 20).quoted);
        }
    }
}

struct written {
    const struct history *history;
    const char *machine;
};

static int write_data(const void *arg, FILE *out, struct err *err)
{
    const struct written *written = arg;
    const struct history *history = written->history;
    struct panels panels = {0};
    choose(history, false, HISTORY_PANELS, &panels);
    choose(history, true, 1, &panels);
    const char *title = str_fmt("Machine %s: %zu runs", written->machine, history->nruns);
    const char *span = str_fmt("%s to %s. One point a run: its median over rounds",
                               history->runs[0].started, history->runs[history->nruns - 1].started);
    dat_begin(title, span, "Line: level. Dashed: a change, orange where it is for the worse",
              "panels runs", out);
    (void)fprintf(out, " %zu %zu\n", panels.n, history->nruns);
    put_panels(&panels, out);
    put_points(&panels, out);
    int rc = put_levels(&panels, out);
    put_changes(&panels, out);
    return rc ? err_set(err, rc, "no memory for plots/history.dat") : 0;
}

static int draw_in(const struct history *history, const char *machine, int plots_fd,
                   struct signals *signals, struct err *err)
{
    struct gnuplot_job job = {.name = "history", .scripts = {plot_common_gp, plot_history_gp}};
    const struct written written = {history, machine};
    int rc = plot_files_write_data(plots_fd, "history", write_data, &written, err);
    if (!rc)
        rc = gnuplot_run(plots_fd, &job, 1, GNUPLOT_LIMIT_S, signals, err);
    if (rc == -ENOENT) {
        log_info("no figure: %s", err->msg);
        return 0;
    }
    return rc;
}

int history_figure_draw(const struct history *history, const char *machine, const char *directory,
                        struct signals *signals, struct err *err)
{
    if (mkdir(directory, 0777) && errno != EEXIST)
        return err_sys(err, -errno, "cannot make the directory '%.150s'", directory);
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", directory);
    int plots_fd = plot_files_open(dir_fd, true, err);
    int rc = plots_fd < 0 ? plots_fd : draw_in(history, machine, plots_fd, signals, err);
    if (plots_fd >= 0)
        (void)close(plots_fd);
    (void)close(dir_fd);
    return rc;
}
