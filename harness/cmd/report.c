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

#include "harness/cmd/cmd.h"
#include "harness/cmd/summary.h"
#include "harness/draw/files.h"
#include "harness/plot/figures.h"
#include "harness/say/log.h"
#include "harness/store/directory.h"
#include "harness/sys/signals.h"

static void tell_drawn(void *path, const char *name)
{
    const char *dir = *(const char **)path;
    size_t length = strlen(dir);
    log_info("drew %s%splots/%s.svg, %s.png", dir, length && dir[length - 1] == '/' ? "" : "/",
             name, name);
}

/* 0 or a negative errno: -ENOENT no figures are there. */
static int redraw(const char *path, int dir_fd, struct signals *signals, struct err *err)
{
    int plots_fd = plot_files_open(dir_fd, false, err);
    if (plots_fd < 0)
        return plots_fd;
    int rc = figures_redraw(plots_fd, signals, tell_drawn, &path, err);
    (void)close(plots_fd);
    return rc == -ENOENT ? -ENOTSUP : rc; /* of gnuplot, not of figures */
}

/* Table and findings on stdout, or what keeps them from there. 0 or as recorded_read. */
static int say_again(const char *path, int dir_fd, const struct cmd_env *env, struct err *err)
{
    struct recorded recorded;
    int rc = recorded_read(dir_fd, env->benches, &recorded, err);
    if (!rc) {
        summary_print(&recorded, stdout, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
        summary_print_source(&recorded, path);
    } else if (rc == -EPROTO) { /* of another version: figures, and this */
        (void)printf("%s: %s\n", path, err->msg);
        rc = 0;
    }
    recorded_free(&recorded);
    return rc;
}

/* Exit code of a directory of which both were tried. */
static int judge(const char *path, int said, const struct err *saying, int drawn,
                 const struct err *drawing)
{
    bool no_figures = drawn == -ENOENT || drawn == -ENODATA;
    if (drawn == -EINTR)
        return EXIT_INTERRUPTED;
    if (said == -ENOENT && no_figures) {
        log_error("'%.150s' is no result directory: no run.json, and %s", path,
                  drawn == -ENOENT ? "no plots" : "plots has no .dat file of a figure");
        return EXIT_USAGE;
    }
    if (said == -ENOENT)
        log_warn("'%.150s' has no run.json: no table and no findings", path);
    else if (said)
        log_error("'%.150s': %s", path, saying->msg);
    if (drawn == -ENOTSUP && !said) {
        log_info("no figures of '%.150s': %s", path, drawing->msg);
        return EXIT_GOOD;
    }
    if (drawn == -ENODATA)
        log_warn("'%.150s/plots' %s", path, drawing->msg);
    else if (drawn && drawn != -ENOENT)
        log_error("'%.150s': %s", path, drawing->msg);
    if ((said && said != -ENOENT) || drawn == -ENOTDIR)
        return EXIT_USAGE;
    return !drawn || no_figures ? EXIT_GOOD : EXIT_NOT_RUN;
}

static int report(const char *path, const struct cmd_env *env, struct signals *signals)
{
    struct err saying = {0}, drawing = {0};
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        (void)err_sys(&saying, -errno, "cannot open the result directory '%.150s'", path);
        log_error("%s", saying.msg);
        return EXIT_USAGE;
    }
    /* Its files may be of a result that was about to be replaced. */
    directory_recover(dir_fd, figures_remove);
    int said = say_again(path, dir_fd, env, &saying);
    int drawn = redraw(path, dir_fd, signals, &drawing);
    (void)close(dir_fd);
    return judge(path, said, &saying, drawn, &drawing);
}

static int report_main(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    int code;
    if (!cmd_parse(env, &report_command, argc, argv, NULL, &cli, &code))
        return code;
    if (!cli.npositional) {
        log_error("which result directory? 'contend report DIR'");
        return EXIT_USAGE;
    }
    struct signals signals;
    if (signals_open(&signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    code = EXIT_GOOD;
    for (size_t i = 0; i < cli.npositional && code != EXIT_INTERRUPTED; i++) {
        int one = report(cli.positional[i], env, &signals);
        code = one > code ? one : code;
    }
    signals_close(&signals);
    int written = cmd_finish();
    return code ? code : written;
}

const struct command report_command = {
    .name = "report",
    .main = report_main,
    .summary = "the figures of an earlier run, drawn again",
    .operands = "DIR...",
    .about = "Prints the table and the findings of result directories again, and draws their "
             "figures: SVG and PNG from the .dat files in DIR/plots. Measure on a machine without "
             "gnuplot, copy DIR, read and draw here.",
};
