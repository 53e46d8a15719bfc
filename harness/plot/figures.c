#include "harness/plot/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/plot/dat.h"
#include "harness/plot/files.h"
#include "harness/plot/gnuplot.h"
#include "harness/plot/scripts.h"
#include "harness/rows/key.h"
#include "harness/rows/rounds.h"
#include "harness/sys/log.h"

static const double gnuplot_limit_s = 60;

/* The slowest to draw first, as two are drawn at a time. */
static const struct figure {
    const char *name;
    const char *needs; /* a metric of which a scan has a row, "METRIC;PART": with that part in its
                          key; NULL = the run has steps */
    const char *script;
    figure_writer *write;
} figures[] = {
    {"occupancy", NULL, plot_occupancy_gp, figure_occupancy},
    {"step_time", NULL, plot_step_time_gp, figure_step_time},
    {"efficiency", NULL, plot_efficiency_gp, figure_efficiency},
    {"loss", NULL, plot_loss_gp, figure_loss},
    {"core_to_core", "pair_latency", plot_heat_map_gp, figure_core_to_core},
    {"smt_pairs", "pair_slowdown", plot_heat_map_gp, figure_smt_pairs},
    {"numa_bandwidth", "node_bandwidth", plot_heat_map_gp, figure_numa_bandwidth},
    {"numa_latency", "node_latency", plot_heat_map_gp, figure_numa_latency},
    {"gpu_copy", "peer_access", plot_heat_map_gp, figure_gpu_copy},
    {"host_copy", "copy_bandwidth", plot_heat_map_gp, figure_host_copy},
    {"latency_curve", "latency", plot_latency_curve_gp, figure_latency_curve},
    {"loaded_latency", "loaded_latency", plot_loaded_latency_gp, figure_loaded_latency},
    {"bandwidth", "bandwidth", plot_bandwidth_gp, figure_bandwidth},
    {"cache_thrash", "victim_slowdown", plot_cache_thrash_gp, figure_cache_thrash},
    {"collective_bandwidth", "collective_busbw", plot_by_size_gp, figure_collective_bandwidth},
    {"collective_latency", "collective_latency", plot_by_size_gp, figure_collective_latency},
    {"retention", "retention;size", plot_by_size_gp, figure_retention},
};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static bool has_values(const struct figure_data *data, const char *needs)
{
    char metric[VALUE_KEY_MAX], key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    const char *part = strchr(needs, ';');
    (void)snprintf(metric, sizeof(metric), "%.*s", (int)strcspn(needs, ";"), needs);
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &data->result->arms[i];
        for (const struct row *row;
             arm->bench->scan && (row = key_next_row(data->rows, arm, metric, &at));)
            if (!part || key_get(key_copy(row, key), part + 1, value))
                return true;
    }
    return false;
}

/* Whether the run measured what the figure shows: others are not missing, but out of place. */
static bool is_wanted(const struct figure_data *data, const struct figure *figure)
{
    if (figure->needs)
        return has_values(data, figure->needs);
    for (size_t i = 0; i < data->result->narms; i++)
        if (!data->result->arms[i].bench->scan)
            return true;
    return false;
}

static void remove_pictures(int dir_fd, const char *name)
{
    plot_files_remove(dir_fd, name, ".svg");
    plot_files_remove(dir_fd, name, ".png");
}

/* What is there after figures_remove is not ours. */
static bool is_taken(int dir_fd, const char *name)
{
    return plot_files_has(dir_fd, name, ".dat") || plot_files_has(dir_fd, name, ".svg") ||
           plot_files_has(dir_fd, name, ".png");
}

static int write_data(const struct figure_data *data, const struct figure *figure, int dir_fd,
                      struct err *err)
{
    int fd = plot_files_memory(err);
    if (fd < 0)
        return fd;
    FILE *out = fdopen(fd, "w");
    if (!out) {
        (void)close(fd);
        return err_set(err, -ENOMEM, "no memory for plots/%s.dat", figure->name);
    }
    int rc = figure->write(data, out, err);
    if (!rc && (fflush(out) || ferror(out)))
        rc = err_set(err, -ENOMEM, "no memory for plots/%s.dat", figure->name);
    if (!rc)
        rc = plot_files_put(dir_fd, figure->name, ".dat", fd, err);
    (void)fclose(out);
    return rc;
}

static struct gnuplot_job job_of(const struct figure *figure)
{
    return (struct gnuplot_job){.name = figure->name, .scripts = {plot_common_gp, figure->script}};
}

/* Writes all data files; jobs are the figures that have something to show. */
static int write_all_data(const struct figure_data *data, int dir_fd,
                          struct gnuplot_job jobs[static FIGURES], size_t *njobs, struct err *err)
{
    for (size_t i = 0; i < FIGURES; i++) {
        struct err why;
        if (!is_wanted(data, &figures[i]))
            continue;
        if (is_taken(dir_fd, figures[i].name)) {
            log_warn("no plot of %s: plots/ has a file of that name that is not of a run",
                     figures[i].name);
            continue;
        }
        int rc = write_data(data, &figures[i], dir_fd, &why);
        if (rc == -ENODATA)
            log_info("no plot of %s: %s", figures[i].name, why.msg);
        else if (rc)
            return err_set(err, rc, "%s", why.msg);
        else
            jobs[(*njobs)++] = job_of(&figures[i]);
    }
    return 0;
}

static int draw(int dir_fd, struct gnuplot_job *jobs, size_t njobs, struct signals *signals,
                struct err *err)
{
    int rc = gnuplot_run(dir_fd, jobs, njobs, gnuplot_limit_s, signals, err);
    /* Pictures of an earlier attempt would be taken for this one's. */
    for (size_t i = 0; i < njobs; i++)
        if (jobs[i].rc == -EIO || jobs[i].rc == -ETIMEDOUT)
            remove_pictures(dir_fd, jobs[i].name);
    return rc;
}

void figures_remove(int directory_fd)
{
    int dir_fd = plot_files_open(directory_fd, false, NULL);
    if (dir_fd < 0)
        return;
    for (size_t i = 0; i < FIGURES; i++) {
        remove_pictures(dir_fd, figures[i].name);
        plot_files_remove(dir_fd, figures[i].name, ".dat");
    }
    (void)close(dir_fd);
    (void)unlinkat(directory_fd, "plots", AT_REMOVEDIR);
}

int figures_redraw(int plots_fd, struct signals *signals,
                   void (*drawn)(void *arg, const char *name), void *arg, struct err *err)
{
    struct gnuplot_job jobs[FIGURES];
    size_t njobs = 0;
    for (size_t i = 0; i < FIGURES; i++)
        if (plot_files_has(plots_fd, figures[i].name, ".dat"))
            jobs[njobs++] = job_of(&figures[i]);
    if (!njobs)
        return err_set(err, -ENODATA, "has no .dat file of a figure");
    int rc = draw(plots_fd, jobs, njobs, signals, err);
    for (size_t i = 0; i < njobs; i++)
        if (!jobs[i].rc)
            drawn(arg, jobs[i].name);
    return rc;
}

int figures_draw(const struct analysis *analysis, const char *title_host, bool pictures,
                 int directory_fd, struct signals *signals, struct err *err)
{
    int dir_fd = plot_files_open(directory_fd, true, err);
    if (dir_fd < 0)
        return dir_fd;
    struct gnuplot_job jobs[FIGURES];
    size_t njobs = 0;
    const struct figure_data data = {analysis->result, &analysis->rows, &analysis->rounds,
                                     title_host};
    int rc = write_all_data(&data, dir_fd, jobs, &njobs, err);
    if (!rc && pictures)
        rc = draw(dir_fd, jobs, njobs, signals, err);
    if (rc == -ENOENT) {
        log_info("gnuplot is not installed: no plots; 'contend report DIR' draws them where it is");
        rc = 0;
    }
    (void)close(dir_fd);
    return rc;
}
