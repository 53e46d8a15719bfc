#include "harness/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/log.h"
#include "harness/report.h"

/* mkdir -p; *made says whether the last directory is ours. */
static int make_directories(const char *path, bool *made, struct err *err)
{
    char part[4096];
    size_t length = strlen(path);
    if (!length || length >= sizeof(part))
        return err_set(err, -EINVAL, "output directory '%.80s' has no usable name", path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        (void)snprintf(part, sizeof(part), "%.*s", (int)i, path);
        *made = !mkdir(part, 0777);
        if (!*made && errno != EEXIST)
            return err_sys(err, -errno, "cannot create output directory '%.150s'", part);
    }
    return 0;
}

static int choose_path(struct output *output, const char *out, const char *host,
                       const char *scenario, const char *subdirectory, time_t started,
                       struct err *err)
{
    char utc[32];
    struct tm tm;
    size_t size = sizeof(output->path);
    int n;
    (void)strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", gmtime_r(&started, &tm));
    if (out)
        n = snprintf(output->path, size, "%s%s%s", out, subdirectory ? "/" : "",
                     subdirectory ? subdirectory : "");
    else
        n = snprintf(output->path, size, "results/%s/%s-%s", host, utc, scenario);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, -ENAMETOOLONG, "output directory '%.80s...' has too long a name", out);
    return 0;
}

/* Nothing half-written: a run that could not start leaves no files behind. */
static void undo(struct output *output, bool made)
{
    static const char *const names[] = {"rows.csv", "samples.csv", "run.json"};
    if (output->dir_fd < 0)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unlinkat(output->dir_fd, names[i], 0);
    if (made)
        (void)rmdir(output->path);
}

int output_open(struct output *output, const char *out, const char *host, const char *scenario,
                const char *subdirectory, const struct run_record *record, struct err *err)
{
    bool made = false;
    *output = (struct output){.dir_fd = -1};
    int rc = choose_path(output, out, host, scenario, subdirectory, record->started, err);
    if (!rc)
        rc = make_directories(output->path, &made, err);
    if (rc)
        return rc;
    output->dir_fd = open(output->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->dir_fd < 0)
        return err_sys(err, -errno, "cannot open output directory '%.150s'", output->path);
    if (!faccessat(output->dir_fd, "run.json", F_OK, 0)) {
        log_info("replacing the earlier run in %s", output->path);
        report_remove(output->dir_fd); /* this run may not draw, or not the same figures */
    }
    struct err why = {0};
    rc = samples_file_open(&output->samples, output->dir_fd, &why);
    if (!rc)
        rc = out_csv_rows(output->dir_fd, &output->rows, &why);
    if (!rc)
        rc = out_json_run(output->dir_fd, record, &why);
    if (rc) {
        undo(output, made);
        return err_set(err, rc, "output directory '%.100s': %.140s", output->path, why.msg);
    }
    return 0;
}

int output_round(struct output *output, const struct result *result, unsigned round,
                 struct err *err)
{
    for (size_t a = 0; a < result->narms; a++) {
        const struct arm *arm = &result->arms[a];
        for (size_t o = 0; o < arm->nobservations; o++) {
            if (arm->observations[o].round != round)
                continue;
            int rc = samples_file_append(&output->samples, result, arm, &arm->observations[o], err);
            if (rc)
                return rc;
        }
    }
    rows_free(&output->rows);
    int rc = rows_make(result, &output->rows, err);
    return rc ? rc : out_csv_rows(output->dir_fd, &output->rows, err);
}

int output_end(struct output *output, const struct run_record *record, struct err *err)
{
    int rc = samples_file_close(&output->samples, err);
    int json_rc = out_json_run(output->dir_fd, record, err);
    return rc ? rc : json_rc;
}

void output_close(struct output *output)
{
    (void)samples_file_close(&output->samples, NULL);
    rows_free(&output->rows);
    if (output->dir_fd >= 0)
        (void)close(output->dir_fd);
    output->dir_fd = -1;
}
