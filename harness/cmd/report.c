/*
 * contend report: says again what an earlier run said, draws its figures, such as where gnuplot was
 * missing, and writes the page that others read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/comms_files.h"
#include "harness/cmd/page.h"
#include "harness/cmd/summary.h"
#include "harness/draw/files.h"
#include "harness/plot/figures.h"
#include "harness/report/markdown_result.h"
#include "harness/say/log.h"
#include "harness/store/directory.h"
#include "harness/sys/signals.h"
#include "harness/sys/terminal.h"

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

struct report_options {
    const char *html;
    bool md;
};

static const struct opt option_table[] = {
    OPT_TEXT("html", report_options, html, NULL, "FILE",
             "Write the page there, not as report.html into each DIR"),
    OPT_FLAG("md", report_options, md, NULL,
             "Print Markdown for a pull request in place of the table, and write nothing"),
    {.name = NULL},
};

/* One of the directories, and what became of reading and drawing it. */
struct side {
    const char *path;
    int dir_fd, said, drawn; /* said: -EMEDIUMTYPE of what has no table or page of a result */
    struct recorded recorded;
    struct err saying, drawing;
};

struct session {
    const struct cmd_env *env;
    struct report_options options;
    struct signals signals;
    size_t n;
    struct side sides[CLI_LIST_MAX];
};

/* Table and findings on stdout, or what keeps them from there. */
static void say_again(const struct session *session, const struct side *side)
{
    const struct recorded *recorded = &side->recorded;
    if (!side->said && session->options.md) {
        markdown_print_result(recorded, side->path, stdout);
    } else if (!side->said) {
        summary_print(recorded, stdout, terminal_has_color(STDOUT_FILENO));
        summary_print_source(recorded, side->path);
    } else if (side->said == -EPROTO && !session->options.md) {
        (void)printf("%s: %s\n", side->path, side->saying.msg); /* and its figures */
    }
}

/* Exit code of a directory of which both were tried. */
static int judge(const struct side *side)
{
    const char *path = side->path;
    int drawn = side->drawn, said = side->said == -EPROTO ? 0 : side->said;
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
        log_error("'%.150s': %s", path, side->saying.msg);
    if (drawn == -ENOTSUP && !said) {
        log_info("no figures of '%.150s': %s", path, side->drawing.msg);
        return EXIT_GOOD;
    }
    if (drawn == -ENODATA)
        log_warn("'%.150s/plots' %s", path, side->drawing.msg);
    else if (drawn && drawn != -ENOENT)
        log_error("'%.150s': %s", path, side->drawing.msg);
    if ((said && said != -ENOENT) || drawn == -ENOTDIR)
        return EXIT_USAGE;
    return !drawn || no_figures ? EXIT_GOOD : EXIT_NOT_RUN;
}

/* Of Markdown, which draws nothing. */
static int judge_reading(const struct side *side)
{
    if (side->said == -ENOENT)
        log_error("'%.150s' is no result directory: no run.json", side->path);
    else if (side->said)
        log_error("'%.150s': %s", side->path, side->saying.msg);
    return side->said ? EXIT_USAGE : EXIT_GOOD;
}

/* Logs of NCCL calls have another page, which is written at once. */
static int report_comms(const struct session *session, struct side *side)
{
    side->said = -EMEDIUMTYPE;
    if (!session->options.md)
        return comms_show_directory(side->path, session->options.html);
    log_error("'%.150s' has logs of NCCL calls, of which there is no Markdown", side->path);
    return EXIT_USAGE;
}

/* Reads and says one directory, and draws its figures. Returns the exit code. */
static int report(struct session *session, struct side *side)
{
    side->dir_fd = open(side->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (side->dir_fd < 0) {
        side->said = -errno;
        (void)err_sys(&side->saying, -errno, "cannot open the result directory '%.150s'",
                      side->path);
        log_error("%s", side->saying.msg);
        return EXIT_USAGE;
    }
    if (comms_files_are_in(side->dir_fd))
        return report_comms(session, side);
    /* Its files may be of a result that was about to be replaced. */
    directory_recover(side->dir_fd, page_remove_drawn);
    side->said = recorded_read(side->dir_fd, session->env->benches, &side->recorded, &side->saying);
    say_again(session, side);
    if (session->options.md)
        return judge_reading(side);
    side->drawn = redraw(side->path, side->dir_fd, &session->signals, &side->drawing);
    return judge(side);
}

/* A page of the side, or of two, into the directory of the last, or where --html says. */
static int write_page(const struct session *session, struct side *sides, size_t n)
{
    struct err err = {0};
    struct page_side of[2];
    const char *file = session->options.html;
    const struct side *last = &sides[n - 1];
    for (size_t i = 0; i < n; i++)
        of[i] = (struct page_side){sides[i].path, sides[i].dir_fd, &sides[i].recorded};
    int rc = page_write(of, n, file ? AT_FDCWD : last->dir_fd, file ? file : PAGE_NAME, &err);
    if (rc && !file && (rc == -EACCES || rc == -EROFS)) {
        log_info("no page in '%.150s', which cannot be written: --html FILE names another place",
                 last->path);
        return EXIT_GOOD;
    }
    if (rc) {
        log_error("%s%.150s%s%s", file ? "" : "'", file ? "" : last->path,
                  file ? "" : "': ", err.msg);
        return rc == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    size_t length = strlen(last->path);
    log_info("wrote %s%s%s%s", file ? file : last->path,
             file || (length && last->path[length - 1] == '/') ? "" : "/", file ? "" : PAGE_NAME,
             n > 1 ? ", before and after" : "");
    return EXIT_GOOD;
}

/* Two are before and after, in one file; of more, each has its own. */
static int write_pages(struct session *session)
{
    struct side *sides = session->sides;
    bool both = session->n == 2 && !sides[0].said && !sides[1].said;
    int code = EXIT_GOOD;
    if (session->options.md && !session->options.html)
        return EXIT_GOOD;
    for (size_t i = 0; i < session->n; i++) {
        bool last = i + 1 == session->n;
        if (sides[i].said || (session->options.html && !last))
            continue;
        int one = both && last ? write_page(session, sides, 2) : write_page(session, &sides[i], 1);
        code = one > code ? one : code;
    }
    return code;
}

static int report_all(struct session *session)
{
    int code = EXIT_GOOD;
    for (size_t i = 0; i < session->n && code != EXIT_INTERRUPTED; i++) {
        int one = report(session, &session->sides[i]);
        code = one > code ? one : code;
    }
    if (code != EXIT_INTERRUPTED) {
        int written = write_pages(session);
        code = written > code ? written : code;
    }
    for (size_t i = 0; i < session->n; i++) {
        recorded_free(&session->sides[i].recorded);
        if (session->sides[i].dir_fd >= 0)
            (void)close(session->sides[i].dir_fd);
    }
    return code;
}

static int report_main(const struct cmd_env *env, int argc, char **argv)
{
    struct err err = {0};
    struct cli cli;
    int code;
    struct session session = {.env = env};
    if (!cmd_parse(env, &report_command, argc, argv, &session.options, &cli, &code))
        return code;
    if (!cli.npositional) {
        log_error("which result directory? 'contend report DIR'");
        return EXIT_USAGE;
    }
    if (session.options.html && cli.npositional > 2) {
        log_error("--html writes one page, of one directory or of two: before and after");
        return EXIT_USAGE;
    }
    if (signals_open(&session.signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    for (size_t i = 0; i < cli.npositional; i++)
        session.sides[session.n++] = (struct side){.path = cli.positional[i], .dir_fd = -1};
    code = report_all(&session);
    signals_close(&session.signals);
    int written = cmd_finish();
    return code ? code : written;
}

const struct command report_command = {
    .name = "report",
    .main = report_main,
    .summary = "an earlier run again: table, figures, a page to hand on",
    .operands = "DIR...",
    .about = "Prints the table and the findings of result directories again, draws their figures, "
             "SVG and PNG from the .dat files in DIR/plots, and writes DIR/report.html: one page "
             "that needs nothing else, to hand on. Of two directories the page in the second is "
             "before and after. Measure on a machine without gnuplot, copy DIR, read and draw "
             "here. Of what 'contend comms --out DIR' has left it does the same as 'contend comms "
             "--read DIR'.",
    .opts = option_table,
};
