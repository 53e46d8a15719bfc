#include "harness/show/figures/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/record/analysis.h"
#include "harness/record/rounds.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/files.h"
#include "harness/show/figures/gnuplot.h"
#include "harness/show/figures/scripts.h"

/* Figures of runs with steps. The slowest to draw come first, because two are drawn at a time. */
static const struct drawing {
    const char *name, *script;
    figure_writer *write;
    bool lines; /* kind FIGURE_LINES; drawn only for several numbers of workers */
} step_figures[] = {
    {"occupancy", plot_occupancy_gp, figure_occupancy},
    {"step_time", plot_step_time_gp, figure_step_time},
    {"throughput", plot_dot_chart_gp, figure_throughput},
    {"efficiency", plot_efficiency_gp, figure_efficiency},
    {"loss", plot_loss_gp, figure_loss},
    {"workers", plot_line_chart_gp, figure_workers, .lines = true},
    {"workers_efficiency", plot_line_chart_gp, figure_workers_efficiency, .lines = true},
};
enum { STEP_FIGURES = sizeof(step_figures) / sizeof(step_figures[0]) };

static const struct kind {
    const char *script;
    figure_writer *write;
} kinds[] = {
    [FIGURE_LINES] = {plot_line_chart_gp, figure_lines},
    [FIGURE_BARS] = {plot_bar_chart_gp, figure_bars},
    [FIGURE_HEAT] = {plot_heat_map_gp, figure_heat},
    [FIGURE_DOTS] = {plot_dot_chart_gp, figure_dots},
};

/* Figures to draw: those of steps, and up to FOUND_MOST of benchmarks. */
struct queue {
    bool silent; /* no pictures wanted or nothing measured: log nothing about missing ones */
    size_t n;
    struct gnuplot_job jobs[STEP_FIGURES + FOUND_MOST];
};

static void queue_add(struct queue *queue, const char *name, const char *script)
{
    if (queue->n < sizeof(queue->jobs) / sizeof(queue->jobs[0]))
        queue->jobs[queue->n++] =
            (struct gnuplot_job){.name = name, .scripts = {plot_common_gp, script}};
}

static bool has_metric(const struct figure_data *data, const char *metric)
{
    const struct bench_figure *figure = data->figure;
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &data->result->arms[i];
        for (const struct row *row; arm->bench == data->bench &&
                                    (row = rows_next(&data->analysis->rows, arm, metric, &at));)
            if (dims_has(&row->dims, figure->x.dim) && dims_agree(&row->dims, figure->only))
                return true;
    }
    return false;
}

/* True if the run measured a value of the figure; if not, the figure is skipped silently. */
static bool has_values(const struct figure_data *data)
{
    const struct bench_figure *figure = data->figure;
    bool has = has_metric(data, figure->metric);
    for (const struct figure_panel *panel = figure->panels; panel && panel->metric; panel++)
        has = has || has_metric(data, panel->metric);
    return has;
}

static bool has_steps(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++)
        if (!result->arms[i].bench->scan)
            return true;
    return false;
}

/* A file that figures_remove left is not from a run. */
static bool is_taken(int dir_fd, const char *name)
{
    bool taken = plot_files_has(dir_fd, name, ".dat");
    for (int i = 0; i < PLOT_PICTURES; i++)
        taken = taken || plot_files_has(dir_fd, name, plot_suffixes[i]);
    return taken;
}

struct written {
    const struct figure_data *data; /* data->figure NULL: a figure of steps */
    figure_writer *write;
    bool lines;
};

static int write_figure(const void *arg, FILE *out, struct err *err)
{
    const struct written *written = arg;
    if (written->data->figure)
        found_put_kind(written->data->figure->kind, out);
    else if (written->lines)
        found_put_kind(FIGURE_LINES, out);
    return written->write(written->data, out, err);
}

/* Writes the data file, and queues the figure if it has something to show. */
static int prepare(const struct figure_data *data, const struct drawing *figure, int dir_fd,
                   struct queue *queue, struct err *err)
{
    struct err why;
    if (is_taken(dir_fd, figure->name)) {
        log_warn("no plot of %s: plots/ has a file of that name that is not of a run",
                 figure->name);
        return 0;
    }
    const struct written written = {data, figure->write, figure->lines};
    int rc = plot_files_write_data(dir_fd, figure->name, write_figure, &written, &why);
    if (rc == -ENODATA && !queue->silent)
        log_info("no plot of %s: %s", figure->name, why.msg);
    else if (rc && rc != -ENODATA)
        return err_set(err, rc, "%s", why.msg);
    else if (!rc)
        queue_add(queue, figure->name, figure->script);
    return 0;
}

static int prepare_bench(struct figure_data *data, const struct bench *bench, int dir_fd,
                         struct queue *queue, struct err *err)
{
    int rc = 0;
    data->bench = bench;
    for (data->figure = bench->figures; data->figure && data->figure->name && !rc; data->figure++) {
        const struct kind *kind = &kinds[data->figure->kind];
        const struct drawing figure = {data->figure->name, kind->script, kind->write, false};
        if (has_values(data))
            rc = prepare(data, &figure, dir_fd, queue, err);
    }
    return rc;
}

/* True if no earlier arm has the same benchmark. */
static bool is_first(const struct result *result, size_t arm)
{
    for (size_t i = 0; i < arm; i++)
        if (result->arms[i].bench == result->arms[arm].bench)
            return false;
    return true;
}

/* Prepares the figures of steps, if the run has steps, and those of its benchmarks. */
static int prepare_all(struct figure_data *data, int dir_fd, struct queue *queue, struct err *err)
{
    /* Only this figure shows how the arms of these runs differ. */
    static const struct drawing alone[PURPOSES] = {
        [PURPOSE_SIZING] = {"sizing", plot_line_chart_gp, figure_sizing, .lines = true},
        [PURPOSE_DOSE] = {"dosing", plot_line_chart_gp, figure_dosing, .lines = true},
        [PURPOSE_MIX] = {"mix", plot_line_chart_gp, figure_mix, .lines = true},
        [PURPOSE_PREDICT] = {"predict", plot_line_chart_gp, figure_predict, .lines = true}};
    struct scaling scaling;
    int rc = 0;
    if (alone[data->result->purpose].name)
        return prepare(data, &alone[data->result->purpose], dir_fd, queue, err);
    bool curves = scaling_read(data->result, &scaling);
    for (size_t i = 0; i < STEP_FIGURES && has_steps(data->result) && !rc; i++)
        if (curves || !step_figures[i].lines)
            rc = prepare(data, &step_figures[i], dir_fd, queue, err);
    for (size_t i = 0; i < data->result->narms && !rc; i++)
        if (is_first(data->result, i))
            rc = prepare_bench(data, data->result->arms[i].bench, dir_fd, queue, err);
    return rc;
}

static int draw(int dir_fd, struct queue *queue, struct signals *signals, struct err *err)
{
    int rc = gnuplot_run(dir_fd, queue->jobs, queue->n, GNUPLOT_LIMIT_S, signals, err);
    /* Pictures of an earlier attempt would be mistaken for those of this one. */
    for (size_t i = 0; i < queue->n; i++)
        if (queue->jobs[i].rc == -EIO || queue->jobs[i].rc == -ETIMEDOUT)
            plot_files_remove_pictures(dir_fd, queue->jobs[i].name);
    return rc;
}

void figures_remove(int directory_fd)
{
    struct found found[FOUND_MOST];
    file_remove_begun(directory_fd);
    int dir_fd = plot_files_open(directory_fd, false, NULL);
    if (dir_fd < 0)
        return;
    for (size_t i = 0; i < STEP_FIGURES; i++)
        plot_files_remove_all(dir_fd, step_figures[i].name);
    size_t nfound = found_list(dir_fd, found);
    for (size_t i = 0; i < nfound; i++)
        plot_files_remove_all(dir_fd, found[i].name);
    file_remove_begun(dir_fd);
    (void)close(dir_fd);
    (void)unlinkat(directory_fd, "plots", AT_REMOVEDIR);
}

static bool is_of_steps(const char *name)
{
    for (size_t i = 0; i < STEP_FIGURES; i++)
        if (strcmp(step_figures[i].name, name) == 0)
            return true;
    return false;
}

/* The queue borrows the names from `found`. */
static void queue_what_is_there(int plots_fd, struct found found[static FOUND_MOST],
                                struct queue *queue)
{
    for (size_t i = 0; i < STEP_FIGURES; i++)
        if (plot_files_has(plots_fd, step_figures[i].name, ".dat"))
            queue_add(queue, step_figures[i].name, step_figures[i].script);
    size_t nfound = found_list(plots_fd, found);
    for (size_t i = 0; i < nfound; i++)
        if (!is_of_steps(found[i].name) && plot_files_has(plots_fd, found[i].name, ".dat"))
            queue_add(queue, found[i].name, kinds[found[i].kind].script);
}

int figures_redraw(int plots_fd, struct signals *signals,
                   void (*drawn)(void *arg, const char *name), void *arg, struct err *err)
{
    struct found found[FOUND_MOST];
    struct queue queue = {0};
    queue_what_is_there(plots_fd, found, &queue);
    if (!queue.n)
        return err_set(err, -ENODATA, "has no .dat file of a figure");
    int rc = draw(plots_fd, &queue, signals, err);
    for (size_t i = 0; i < queue.n; i++)
        if (!queue.jobs[i].rc)
            drawn(arg, queue.jobs[i].name);
    return rc;
}

/* Without any round, another message says so, and missing figures are not worth one. */
static bool has_rounds(const struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->narms; i++)
        if (rounds->arms[i].n)
            return true;
    return false;
}

int figures_draw(const struct analysis *analysis, const char *title_host, bool pictures,
                 int directory_fd, struct signals *signals, struct err *err)
{
    int dir_fd = plot_files_open(directory_fd, true, err);
    if (dir_fd < 0)
        return dir_fd;
    struct result own;
    const struct analysis measured = analysis_measured(analysis, &own);
    struct queue queue = {.silent = !pictures || !has_rounds(&measured.rounds)};
    struct figure_data data = {.analysis = &measured, .result = &own, .host = title_host};
    int rc = prepare_all(&data, dir_fd, &queue, err);
    if (!rc && pictures)
        rc = draw(dir_fd, &queue, signals, err);
    if (rc == -ENOENT) {
        if (!queue.silent)
            log_info(
                "gnuplot is not installed: no plots; 'contend report DIR' draws them where it is");
        rc = 0;
    }
    (void)close(dir_fd);
    return rc;
}
