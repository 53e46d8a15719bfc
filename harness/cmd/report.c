/*
 * contend report: prints the summary of an earlier run again, draws its figures (gnuplot may have
 * been missing), and writes its page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/fingerprint.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/show/figures/figures.h"
#include "harness/show/figures/files.h"
#include "harness/show/json/collected.h"
#include "harness/show/json/forms.h"
#include "harness/show/result.h"

static void report_drawn(void *path, const char *name)
{
    const char *dir = *(const char **)path;
    size_t length = strlen(dir);
    log_info("drew %s%splots/%s.svg, %s.png", dir, length && dir[length - 1] == '/' ? "" : "/",
             name, name);
}

static void report_nothing(void *arg, const char *name)
{
    (void)arg;
    (void)name;
}

/* `drawn` may be NULL. 0 or a negative errno: -ENOENT no figures, -ENOTSUP no gnuplot. */
static int redraw(const char *path, int dir_fd, struct signals *signals,
                  void (*drawn)(void *path, const char *name), struct err *err)
{
    int plots_fd = plot_files_open(dir_fd, false, err);
    if (plots_fd < 0)
        return plots_fd;
    int rc = figures_redraw(plots_fd, signals, drawn ? drawn : report_nothing, &path, err);
    (void)close(plots_fd);
    return rc == -ENOENT ? -ENOTSUP : rc; /* here -ENOENT means gnuplot */
}

struct report_options {
    const char *html;
    bool markdown, json, verbose;
};

static const struct opt option_table[] = {
    OPT_TEXT("html", report_options, html, NULL, "FILE",
             "Write the page there, not as report.html into each DIR"),
    OPT_FLAG("verbose", report_options, verbose, NULL, CMD_VERBOSE_HELP, .letter = 'v'),
    OPT_FLAG("markdown", report_options, markdown, NULL,
             "Print Markdown for a pull request in place of the table, and write nothing"),
    OPT_FLAG("json", report_options, json, NULL,
             "Print what the command that measured prints with --json, and write nothing"),
    {.name = NULL},
};

/* One directory, and the return codes of reading and drawing it. */
struct side {
    const char *path;
    int dir_fd;
    int read_rc; /* -EMEDIUMTYPE = no single result, so no table and page of it */
    int draw_rc;
    bool last;    /* the directory whose page --html writes */
    bool several; /* it has results of several scenarios */
    struct recorded recorded;
    struct err read_err, draw_err;
};

struct session {
    const struct cmd_env *env;
    struct report_options options;
    struct signals signals;
    size_t n;
    struct side sides[CLI_LIST_MAX];
};

/* True for --markdown and --json, which draw and write nothing. */
static bool prints_only(const struct session *session)
{
    return session->options.markdown || session->options.json;
}

/* Prints the summary, unless reading has failed. */
static void report_again(const struct session *session, struct side *side)
{
    const struct recorded *recorded = &side->recorded;
    if (!side->read_rc && session->options.json) {
        side->read_rc = json_value_print(summary_to_json(recorded), 1, &side->read_err);
    } else if (!side->read_rc && session->options.markdown) {
        result_print_markdown(recorded, side->path, stdout);
    } else if (!side->read_rc) {
        summary_print(recorded, side->path, session->options.verbose, stdout,
                      terminal_has_color(STDOUT_FILENO));
    }
}

/* Logs and returns the exit code of a directory that was read and drawn. */
static int judge(const struct side *side)
{
    const char *path = side->path;
    int draw_rc = side->draw_rc, read_rc = side->read_rc;
    bool no_figures = draw_rc == -ENOENT || draw_rc == -ENODATA;
    if (draw_rc == -EINTR)
        return EXIT_INTERRUPTED;
    if (read_rc == -ENOENT && no_figures) {
        log_error("'%.150s' is no result directory: no run.json, and %s", path,
                  draw_rc == -ENOENT ? "no plots" : "plots has no .dat file of a figure");
        return EXIT_USAGE;
    }
    if (read_rc == -ENOENT)
        log_warn("'%.150s' has no run.json: no table and no findings", path);
    else if (read_rc)
        log_error("'%.150s': %s", path, side->read_err.msg);
    if (draw_rc == -ENOTSUP && !read_rc) {
        log_info("no figures of '%.150s': %s", path, side->draw_err.msg);
        return EXIT_GOOD;
    }
    if (draw_rc == -ENODATA)
        log_warn("'%.150s/plots' %s", path, side->draw_err.msg);
    else if (draw_rc && draw_rc != -ENOENT)
        log_error("'%.150s': %s", path, side->draw_err.msg);
    if ((read_rc && read_rc != -ENOENT) || draw_rc == -ENOTDIR)
        return EXIT_USAGE;
    return !draw_rc || no_figures ? EXIT_GOOD : EXIT_NOT_RUN;
}

/* Logs and returns the exit code of a directory that was only read. */
static int judge_reading(const struct side *side)
{
    if (side->read_rc == -ENOENT)
        log_error("'%.150s' is no result directory: no run.json", side->path);
    else if (side->read_rc)
        log_error("'%.150s': %s", side->path, side->read_err.msg);
    return side->read_rc ? EXIT_USAGE : EXIT_GOOD;
}

/* Logs whether a page was written. Returns the exit code. */
static int report_written(const struct side *side, const char *file, const char *of, int rc,
                          const struct err *err)
{
    if (rc && !file && (rc == -EACCES || rc == -EROFS)) {
        log_info("no page in '%.150s', which cannot be written: --html FILE names another place",
                 side->path);
        return EXIT_GOOD;
    }
    if (rc) {
        log_error("%s%.150s%s%s", file ? "" : "'", file ? "" : side->path,
                  file ? "" : "': ", err->msg);
        return rc == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    size_t length = strlen(side->path);
    log_info("wrote %s%s%s%s", file ? file : side->path,
             file || (length && side->path[length - 1] == '/') ? "" : "/", file ? "" : PAGE_NAME,
             of);
    return EXIT_GOOD;
}

/* ---- results of several scenarios ---- */

/* State while the results below a directory are read. */
struct renewing {
    struct session *session;
    const char *path;
    int code;
    struct err no_gnuplot; /* logged once for all results */
};

static void fail_one(struct renewing *renewing, const char *path, const struct err *err)
{
    log_error("'%.150s': %s", path, err->msg);
    renewing->code = EXIT_NOT_RUN;
}

/* Draws the figures of one result and writes its page. */
static int renew(void *arg, const char *name, int dir_fd, struct recorded *recorded)
{
    struct renewing *renewing = arg;
    struct err err = {0};
    const char *path = str_fmt("%s/%s", renewing->path, name);
    const struct page_side side = {path, dir_fd, recorded};
    int drawn = redraw(path, dir_fd, &renewing->session->signals, NULL, &err);
    if (drawn == -EINTR)
        return drawn;
    if (drawn == -ENOTSUP)
        renewing->no_gnuplot = err;
    else if (drawn && drawn != -ENOENT && drawn != -ENODATA)
        fail_one(renewing, path, &err);
    int rc = renewing->session->options.html ? 0 : page_write(&side, 1, dir_fd, PAGE_NAME, &err);
    if (rc && rc != -EACCES && rc != -EROFS) /* write_collection reports a read-only place */
        fail_one(renewing, path, &err);
    return 0;
}

/* Writes the page of all results. With --html it has no links, as they are relative. */
static int write_collection(const struct session *session, const struct side *side,
                            struct collection *collection)
{
    struct err err = {0};
    const char *file = session->options.html;
    for (size_t i = 0; file && i < collection->n; i++)
        collection->all[i].has_page = false;
    int rc = page_write_collection(collection, file ? AT_FDCWD : side->dir_fd,
                                   file ? file : PAGE_NAME, &err);
    return report_written(side, file, "", rc, &err);
}

static void print_collection(const struct session *session, const struct side *side,
                             const struct collected_dir *dir)
{
    const struct collection *collection = &dir->collection;
    if (dir->machines_differ)
        log_warn("the results below '%.150s' are of several machines", side->path);
    struct doc doc = {0};
    collection_add_to_doc(collection, &doc);
    doc_gap(&doc);
    doc_text(&doc, "Results: %s", side->path);
    doc_text(&doc, "The tables of one: contend report %s/%s", side->path,
             collection->all[0].scenario);
    if (session->options.markdown)
        doc_print_markdown(&doc, stdout);
    else
        doc_print(&doc, stdout, terminal_has_color(STDOUT_FILENO), false);
    doc_free(&doc);
}

/* A directory with a single result below it counts only if that result is from a 'run all'. */
static bool is_collection(const struct collected_dir *dir)
{
    return dir->collection.n > 1 || (dir->collection.n && dir->all);
}

/* Prints what was read, and writes the page. Returns the exit code. */
static int show_collection(struct session *session, const struct side *side,
                           const struct renewing *renewing, struct collected_dir *dir)
{
    bool page = session->options.html ? side->last : !session->options.markdown;
    if (renewing->no_gnuplot.code)
        log_info("no figures below '%.150s': %s", side->path, renewing->no_gnuplot.msg);
    print_collection(session, side, dir);
    int code = page ? write_collection(session, side, &dir->collection) : EXIT_GOOD;
    int read = dir->damaged ? EXIT_USAGE : EXIT_GOOD;
    return cmd_worse(cmd_worse(code, read), renewing->code);
}

/* Reports a directory that is no result itself. False: it has no results below it either. */
static bool report_collection(struct session *session, struct side *side, int *code)
{
    struct renewing renewing = {.session = session, .path = side->path, .code = EXIT_GOOD};
    struct collected_request request = {.benches = session->env->benches,
                                        .scenarios = session->env->scenarios,
                                        .remove_figures = page_remove_drawn,
                                        .arg = &renewing};
    struct collected_dir dir;
    struct err err = {0};
    int rc = collected_read(side->dir_fd, PAGE_NAME, &request, &dir, &err);
    side->several = !rc && is_collection(&dir);
    if (side->several && session->options.json) {
        rc = err_set(&err, -EINVAL,
                     "results of several scenarios: 'contend report --json %.150s/%s'", side->path,
                     dir.collection.all[0].scenario);
    } else if (side->several && !session->options.markdown) {
        collected_free(&dir);
        request.found = renew;
        rc = collected_read(side->dir_fd, PAGE_NAME, &request, &dir, &err);
    }
    if (side->several || rc)
        side->read_rc = -EMEDIUMTYPE;
    if (rc && rc != -EINTR)
        log_error("'%.150s': %s", side->path, err.msg);
    if (rc)
        *code = rc == -EINTR ? EXIT_INTERRUPTED : rc == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN;
    else if (side->several)
        *code = show_collection(session, side, &renewing, &dir);
    collected_free(&dir);
    return side->read_rc == -EMEDIUMTYPE;
}

/* Prints a fingerprint, and writes its page where that of a result would be. */
static int report_fingerprint(const struct session *session, const struct side *side)
{
    const char *page;
    struct fingerprint_form form = {session->options.json, session->options.markdown,
                                    session->options.html};
    struct stat at;
    if (form.html && session->n > 1) {
        log_error("'contend compare --html FILE' writes one page of several fingerprints");
        return EXIT_USAGE;
    }
    if (!form.html && !prints_only(session) && !stat(side->path, &at) && S_ISDIR(at.st_mode)) {
        page = str_fmt("%.4000s/" PAGE_NAME, side->path);
        form.html = page;
    }
    return fingerprint_report_main(side->path, &form);
}

/* Reads and prints one directory, and draws its figures. Returns the exit code. */
static int report(struct session *session, struct side *side)
{
    int code = EXIT_GOOD;
    if (fingerprint_is_at(side->path)) {
        side->read_rc = -EMEDIUMTYPE;
        return report_fingerprint(session, side);
    }
    side->dir_fd = open(side->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (side->dir_fd < 0) {
        side->read_rc = -errno;
        (void)err_sys(&side->read_err, -errno, "cannot open the result directory '%.150s'",
                      side->path);
        log_error("%s", side->read_err.msg);
        return EXIT_USAGE;
    }
    /* An interrupted run may have left its files half-way through a replacement. */
    directory_recover(side->dir_fd, page_remove_drawn);
    side->read_rc =
        recorded_read(side->dir_fd, session->env->benches, &side->recorded, &side->read_err);
    if (side->read_rc == -ENOENT && report_collection(session, side, &code))
        return code;
    report_again(session, side);
    if (prints_only(session))
        return judge_reading(side);
    side->draw_rc =
        redraw(side->path, side->dir_fd, &session->signals, report_drawn, &side->draw_err);
    return judge(side);
}

/* Writes the page of one or two sides, into the last side's directory or to --html. */
static int write_page(const struct session *session, struct side *sides, size_t n)
{
    struct err err = {0};
    struct page_side of[2] = {0};
    const char *file = session->options.html;
    const struct side *last = &sides[n - 1];
    for (size_t i = 0; i < n; i++)
        of[i] = (struct page_side){sides[i].path, sides[i].dir_fd, &sides[i].recorded};
    int rc = page_write(of, n, file ? AT_FDCWD : last->dir_fd, file ? file : PAGE_NAME, &err);
    return report_written(last, file, n > 1 ? ", before and after" : "", rc, &err);
}

/* Two results share a page, before and after, in the second's directory; else each has its own. */
static int write_pages(struct session *session)
{
    struct side *sides = session->sides;
    bool both = session->n == 2 && !sides[0].read_rc && !sides[1].read_rc;
    if (session->n == 2 && sides[0].several && sides[1].several)
        log_info("before and after are results of one scenario: 'contend report %s/NAME %s/NAME'",
                 sides[0].path, sides[1].path);
    int code = EXIT_GOOD;
    if (prints_only(session) && !session->options.html)
        return EXIT_GOOD;
    for (size_t i = 0; i < session->n; i++) {
        bool last = i + 1 == session->n;
        if (sides[i].read_rc || (session->options.html && !last))
            continue;
        int one = both && last ? write_page(session, sides, 2) : write_page(session, &sides[i], 1);
        code = cmd_worse(code, one);
    }
    return code;
}

static int report_all(struct session *session)
{
    int code = EXIT_GOOD;
    for (size_t i = 0; i < session->n && code != EXIT_INTERRUPTED; i++) {
        int one = report(session, &session->sides[i]);
        code = cmd_worse(code, one);
    }
    if (code != EXIT_INTERRUPTED) {
        int written = write_pages(session);
        code = cmd_worse(code, written);
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
        session.sides[session.n++] = (struct side){
            .path = cli.positional[i], .dir_fd = -1, .last = i + 1 == cli.npositional};
    code = report_all(&session);
    signals_close(&session.signals);
    int written = cmd_finish();
    return code ? code : written;
}

const struct command report_command = {
    .name = "report",
    .group = "Look",
    .main = report_main,
    .summary = "an earlier run again: table, figures, a page to hand on",
    .operands = "DIR...",
    .about = "Prints the table and the findings of result directories again, draws their figures, "
             "SVG and PNG from the .dat files in DIR/plots, and writes DIR/report.html: one page "
             "that needs nothing else, to hand on. With two directories, the page in the second "
             "shows before and after. In a directory of 'contend run all' it renews the page over "
             "all scenarios, and that of each. Measure on a machine without gnuplot, copy DIR, "
             "read and draw "
             "here.",
    .opts = option_table,
    .examples = {{"contend report results/HOST/RUN", "the table again, and report.html"}},
};
