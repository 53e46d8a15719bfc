/*
 * contend report: says again what an earlier run said, and draws its figures, such as where gnuplot
 * was missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cli.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/summary.h"
#include "harness/plot/figures.h"
#include "harness/plot/files.h"
#include "harness/store/directory.h"
#include "harness/sys/log.h"
#include "harness/sys/signals.h"

static const struct opt report_options[] = {{.name = NULL}};

static void print_usage(FILE *out)
{
    (void)fprintf(out, "usage: contend report DIR...\n\n"
                       "Prints the table and the findings of result directories again, and draws "
                       "their\nfigures: SVG and PNG from the .dat files in DIR/plots. Measure on a "
                       "machine without\ngnuplot, copy DIR, read and draw here.\n");
}

static void tell_drawn(void *path, const char *name)
{
    const char *dir = *(const char **)path;
    size_t length = strlen(dir);
    log_info("drew %s%splots/%s.svg, %s.png", dir, length && dir[length - 1] == '/' ? "" : "/",
             name, name);
}

/* Exit code of the figures of one directory. */
static int redraw(const char *path, int dir_fd, struct signals *signals)
{
    struct err err = {0};
    int plots_fd = plot_files_open(dir_fd, false, &err);
    if (plots_fd == -ENOENT) {
        log_info("'%.150s' has no figures", path);
        return EXIT_GOOD;
    }
    int rc = plots_fd < 0 ? plots_fd : figures_redraw(plots_fd, signals, tell_drawn, &path, &err);
    if (plots_fd >= 0)
        (void)close(plots_fd);
    if (rc == -ENODATA)
        log_info("'%.150s/plots' %s", path, err.msg);
    else if (rc)
        log_error("'%.150s': %s", path, err.msg);
    return rc == -EINTR            ? EXIT_INTERRUPTED
           : !rc || rc == -ENODATA ? EXIT_GOOD
           : rc == -ENOTDIR        ? EXIT_USAGE
                                   : EXIT_NOT_RUN;
}

/* Exit code of the table and the findings of one directory. */
static int say_again(const char *path, int dir_fd, const struct cmd_env *env)
{
    struct err err = {0};
    struct recorded recorded;
    int rc = recorded_read(dir_fd, env->benches, &recorded, &err);
    if (!rc) {
        summary_print(&recorded, stdout, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
        (void)printf("\nResults: %s\n", path);
    } else if (rc == -EPROTO) {
        (void)printf("%s: %s\n", path, err.msg);
    } else if (rc == -ENOENT) {
        log_error("'%.150s' is no result directory: %s", path, err.msg);
    } else {
        log_error("'%.150s': %s", path, err.msg);
    }
    recorded_free(&recorded);
    return !rc || rc == -EPROTO ? EXIT_GOOD : EXIT_USAGE;
}

/* Exit code of one directory. */
static int report(const char *path, const struct cmd_env *env, struct signals *signals)
{
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        struct err err;
        (void)err_sys(&err, -errno, "cannot open the result directory '%.150s'", path);
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    /* Its files may be of a result that was about to be replaced. */
    directory_recover(dir_fd, figures_remove);
    int said = say_again(path, dir_fd, env);
    int drawn = redraw(path, dir_fd, signals);
    (void)close(dir_fd);
    return drawn > said ? drawn : said;
}

int cmd_report(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
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
        int one = report(cli.positional[i], env, &signals);
        code = one > code ? one : code;
    }
    signals_close(&signals);
    int written = cmd_finish();
    return code ? code : written;
}
