/* contend report: draws the figures of earlier runs again, such as where gnuplot was missing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cli.h"
#include "harness/cmd/cmd.h"
#include "harness/plot/figures.h"
#include "harness/plot/files.h"
#include "harness/store/directory.h"
#include "harness/sys/log.h"
#include "harness/sys/signals.h"

static const struct opt report_options[] = {{.name = NULL}};

static void print_usage(FILE *out)
{
    (void)fprintf(out, "usage: contend report DIR...\n\n"
                       "Draws the figures of result directories again: SVG and PNG from the .dat "
                       "files in\nDIR/plots. For runs on machines without gnuplot: measure there, "
                       "copy DIR, draw here.\n");
}

/* The plots directory of a result, or a negative errno. */
static int open_plots(const char *path, struct err *err)
{
    struct err why;
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(err, -errno, "cannot open the result directory '%.150s'", path);
    /* Its figures may be of a result that was about to be replaced. */
    directory_recover(dir_fd, figures_remove);
    int rc = plot_files_open(dir_fd, false, &why);
    (void)close(dir_fd);
    if (rc == -ENOENT)
        return err_set(err, rc, "'%.120s' is no result directory: it has no directory plots", path);
    return rc < 0 ? err_set(err, rc, "'%.120s': %s", path, why.msg) : rc;
}

static void print_drawn(void *path, const char *name)
{
    const char *dir = *(const char **)path;
    size_t length = strlen(dir);
    (void)printf("%s%splots/%s.svg, %s.png\n", dir, length && dir[length - 1] == '/' ? "" : "/",
                 name, name);
}

/* Exit code of one directory. */
static int redraw(const char *path, struct signals *signals)
{
    struct err err = {0};
    int plots_fd = open_plots(path, &err);
    if (plots_fd < 0) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    int rc = figures_redraw(plots_fd, signals, print_drawn, &path, &err);
    (void)close(plots_fd);
    if (rc == -ENODATA)
        log_error("'%.150s/plots' %s", path, err.msg);
    else if (rc)
        log_error("'%.150s': %s", path, err.msg);
    return rc == -EINTR     ? EXIT_INTERRUPTED
           : rc == -ENODATA ? EXIT_USAGE
           : rc             ? EXIT_NOT_RUN
                            : EXIT_GOOD;
}

int cmd_report(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    (void)env;
    if (cli_parse(report_options, false, argc, argv, NULL, &cli, &err)) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    if (cli.help) {
        print_usage(stdout);
        return EXIT_GOOD;
    }
    if (!cli.npositional) {
        log_error("which result directory? 'contend report DIR'");
        return EXIT_USAGE;
    }
    struct signals signals;
    if (signals_open(&signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    int code = EXIT_GOOD;
    for (size_t i = 0; i < cli.npositional && code != EXIT_INTERRUPTED; i++) {
        int one = redraw(cli.positional[i], &signals);
        code = one > code ? one : code;
    }
    signals_close(&signals);
    int written = cmd_finish();
    return code ? code : written;
}
