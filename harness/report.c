#include "harness/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/log.h"
#include "harness/gnuplot.h"
#include "harness/plots_embedded.h"
#include "harness/report_dat.h"
#include "harness/scan_rows.h"
#include "harness/summary.h"

static const double gnuplot_limit_s = 60;

/* The slowest to draw first, as two are drawn at a time. */
static const struct figure {
    const char *name;
    const char *needs; /* a metric of which a scan has a row, "METRIC;PART": with that part in its
                          key; NULL = the run has steps */
    const char *script;
    report_writer *write;
} figures[] = {
    {"occupancy", NULL, plot_occupancy_gp, report_write_occupancy},
    {"step_time", NULL, plot_step_time_gp, report_write_step_time},
    {"efficiency", NULL, plot_efficiency_gp, report_write_efficiency},
    {"loss", NULL, plot_loss_gp, report_write_loss},
    {"core_to_core", "pair_latency", plot_heat_map_gp, report_write_core_to_core},
    {"smt_pairs", "pair_slowdown", plot_heat_map_gp, report_write_smt_pairs},
    {"numa_bandwidth", "node_bandwidth", plot_heat_map_gp, report_write_numa_bandwidth},
    {"numa_latency", "node_latency", plot_heat_map_gp, report_write_numa_latency},
    {"gpu_copy", "peer_access", plot_heat_map_gp, report_write_gpu_copy},
    {"host_copy", "copy_bandwidth", plot_heat_map_gp, report_write_host_copy},
    {"latency_curve", "latency", plot_latency_curve_gp, report_write_latency_curve},
    {"loaded_latency", "loaded_latency", plot_loaded_latency_gp, report_write_loaded_latency},
    {"bandwidth", "bandwidth", plot_bandwidth_gp, report_write_bandwidth},
    {"cache_thrash", "victim_slowdown", plot_cache_thrash_gp, report_write_cache_thrash},
    {"collective_bandwidth", "collective_busbw", plot_by_size_gp,
     report_write_collective_bandwidth},
    {"collective_latency", "collective_latency", plot_by_size_gp, report_write_collective_latency},
    {"retention", "retention;size", plot_by_size_gp, report_write_retention},
};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static void remove_file(int dir_fd, const char *name, const char *suffix)
{
    char file[64];
    (void)snprintf(file, sizeof(file), "%s%s", name, suffix);
    (void)unlinkat(dir_fd, file, 0);
}

static bool has_values(const struct report *report, const char *needs)
{
    char metric[VALUE_KEY_MAX], key[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    const char *part = strchr(needs, ';');
    (void)snprintf(metric, sizeof(metric), "%.*s", (int)strcspn(needs, ";"), needs);
    for (size_t i = 0; i < report->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &report->result->arms[i];
        for (const struct row *row;
             arm->bench->scan && (row = scan_next(report->rows, arm, metric, &at));)
            if (!part || scan_key_get(scan_key(row, key), part + 1, value))
                return true;
    }
    return false;
}

/* Whether the run measured what the figure shows: others are not missing, but out of place. */
static bool is_wanted(const struct report *report, const struct figure *figure)
{
    if (figure->needs)
        return has_values(report, figure->needs);
    for (size_t i = 0; i < report->result->narms; i++)
        if (!report->result->arms[i].bench->scan)
            return true;
    return false;
}

/* Pictures of an earlier or broken attempt would be taken for this run's. */
static void remove_pictures(int dir_fd, const char *name)
{
    remove_file(dir_fd, name, ".svg");
    remove_file(dir_fd, name, ".png");
}

static int write_data(const struct report *report, const struct figure *figure, int dir_fd,
                      struct err *err)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s.dat", figure->name);
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        int rc = err_sys(err, -errno, "cannot write plots/%s", name);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    int rc = figure->write(report, out, err);
    int failed = ferror(out);
    if ((fclose(out) || failed) && !rc)
        rc = err_sys(err, errno ? -errno : -EIO, "cannot write plots/%s", name);
    if (rc)
        (void)unlinkat(dir_fd, name, 0);
    return rc;
}

static struct gnuplot_job job_of(const struct figure *figure)
{
    return (struct gnuplot_job){.name = figure->name, .scripts = {plot_common_gp, figure->script}};
}

/* Writes all data files; jobs are the figures that have something to show. */
static int write_all_data(const struct report *report, int dir_fd,
                          struct gnuplot_job jobs[static FIGURES], size_t *njobs, struct err *err)
{
    for (size_t i = 0; i < FIGURES; i++) {
        struct err why;
        remove_pictures(dir_fd, figures[i].name);
        if (!is_wanted(report, &figures[i])) {
            remove_file(dir_fd, figures[i].name, ".dat");
            continue;
        }
        int rc = write_data(report, &figures[i], dir_fd, &why);
        if (rc == -ENODATA)
            log_info("no plot of %s: %s", figures[i].name, why.msg);
        else if (rc)
            return err_set(err, rc, "%s", why.msg);
        else
            jobs[(*njobs)++] = job_of(&figures[i]);
    }
    return 0;
}

static int draw(int dir_fd, struct gnuplot_job *jobs, size_t njobs, struct err *err)
{
    int rc = gnuplot_run(dir_fd, jobs, njobs, gnuplot_limit_s, err);
    for (size_t i = 0; i < njobs; i++)
        if (jobs[i].rc)
            remove_pictures(dir_fd, jobs[i].name);
    return rc;
}

void report_remove(int out_dir_fd)
{
    int dir_fd = openat(out_dir_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir_fd < 0)
        return;
    for (size_t i = 0; i < FIGURES; i++) {
        remove_pictures(dir_fd, figures[i].name);
        remove_file(dir_fd, figures[i].name, ".dat");
    }
    (void)close(dir_fd);
    (void)unlinkat(out_dir_fd, "plots", AT_REMOVEDIR);
}

static int open_plots(int out_dir_fd, struct err *err)
{
    if (mkdirat(out_dir_fd, "plots", 0755) && errno != EEXIST)
        return err_sys(err, -errno, "cannot make the directory plots");
    int dir_fd = openat(out_dir_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return dir_fd < 0 ? err_sys(err, -errno, "cannot open the directory plots") : dir_fd;
}

int report_redraw(int plots_fd, void (*drawn)(void *arg, const char *name), void *arg,
                  struct err *err)
{
    struct gnuplot_job jobs[FIGURES];
    size_t njobs = 0;
    for (size_t i = 0; i < FIGURES; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%s.dat", figures[i].name);
        if (faccessat(plots_fd, name, R_OK, 0) == 0)
            jobs[njobs++] = job_of(&figures[i]);
    }
    if (!njobs)
        return err_set(err, -ENODATA, "has no .dat file of a figure");
    int rc = draw(plots_fd, jobs, njobs, err);
    for (size_t i = 0; i < njobs; i++)
        if (!jobs[i].rc)
            drawn(arg, jobs[i].name);
    return rc;
}

int report_plots(const struct result *result, const struct rows *rows, const char *title_host,
                 int out_dir_fd, struct err *err)
{
    int dir_fd = open_plots(out_dir_fd, err);
    if (dir_fd < 0)
        return dir_fd;
    struct summary summary = {0};
    struct gnuplot_job jobs[FIGURES];
    size_t njobs = 0;
    int rc = summary_make(result, &summary, err);
    if (rc)
        goto free_summary;
    struct report report = {result, rows, &summary, title_host};
    rc = write_all_data(&report, dir_fd, jobs, &njobs, err);
    if (!rc)
        rc = draw(dir_fd, jobs, njobs, err);
    if (rc == -ENOENT) {
        log_info("gnuplot is not installed: no plots; 'contend report DIR' draws them where it is");
        rc = 0;
    }
free_summary:
    summary_free(&summary);
    (void)close(dir_fd);
    return rc;
}
