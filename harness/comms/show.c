#include "harness/comms/show.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/page.h"
#include "harness/comms/figures.h"
#include "harness/comms/files_comms.h"
#include "harness/comms/html_comms.h"
#include "harness/comms/json.h"
#include "harness/comms/plugin/host.h"
#include "harness/comms/tables.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/sys/terminal.h"

void comms_files_add_links(const char *directory, const struct gpu_link *link, size_t n)
{
    struct err err = {0};
    char host[COMMS_HOST_MAX];
    comms_host_find(host); /* the name that logs use */
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0 && comms_ports_write(dir_fd, host, link, n, &err))
        log_warn("%s", err.msg);
    if (dir_fd >= 0)
        (void)close(dir_fd);
}

static int print_page(const void *page, FILE *out, struct err *err)
{
    return html_comms_print(page, out, err);
}

static int write_page(const char *directory, int dir_fd, const struct comms_view *view,
                      struct err *err)
{
    struct page_figures *figures = page_read_figures(dir_fd);
    if (!figures)
        return err_set(err, -ENOMEM, "no memory for the page");
    struct html_comms page = {.path = directory, .view = view};
    page.figures = page_list_figures(figures, &page.nfigures);
    int rc = page_put(print_page, &page, dir_fd, PAGE_NAME, err);
    page_free_figures(figures);
    return rc;
}

static int write_in(const char *directory, int dir_fd, const struct comms_view *view,
                    struct err *err)
{
    struct signals signals;
    int rc = comms_csv_write(dir_fd, view, err);
    if (rc)
        return rc;
    rc = signals_open(&signals, err);
    if (rc)
        return rc;
    rc = view->logs.n ? comms_figures_draw(view, dir_fd, &signals, err) : 0;
    signals_close(&signals);
    return rc ? rc : write_page(directory, dir_fd, view, err);
}

static int write_files(const char *directory, const struct comms_view *view)
{
    struct err err = {0};
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = dir_fd < 0 ? err_sys(&err, -errno, "cannot open it")
                        : write_in(directory, dir_fd, view, &err);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    switch (rc) {
    case 0:
        log_info("wrote matrix.csv, calls.csv, ranks.csv, timeline.csv%s into '%.150s', "
                 "and " PAGE_NAME,
                 view->logs.n ? " and plots/" : "", directory);
        return EXIT_GOOD;
    case -EACCES:
    case -EROFS:
        log_info("no files in '%.150s', which cannot be written", directory);
        return EXIT_GOOD;
    case -EINTR:
        return EXIT_INTERRUPTED;
    default:
        log_error("'%.150s': %s", directory, err.msg);
        return rc == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN;
    }
}

static int print(const struct comms_view *view, const struct comms_showing *showing,
                 struct err *err)
{
    struct doc doc = {0};
    if (showing->json)
        return json_value_print(comms_to_json(view), 1, err);
    comms_add_verdict_to_doc(view, &doc);
    comms_add_tables_to_doc(view, &doc);
    doc_print(&doc, showing->out, terminal_has_color(fileno(showing->out)), showing->verbose);
    doc_free(&doc);
    return 0;
}

int comms_show(const struct comms_showing *showing, struct comms_found *found)
{
    struct err err = {0};
    struct comms_view view;
    bool refused;
    int rc = comms_view_read(showing->directory, &view, &refused, &err);
    *found = (struct comms_found){view.logs.n, view.unread.n};
    if (!rc && found->logs)
        rc = print(&view, showing, &err);
    if (rc)
        log_error("%s", err.msg);
    int code = !rc ? EXIT_GOOD : refused ? EXIT_USAGE : EXIT_NOT_RUN;
    if (!rc && found->logs && showing->files) {
        (void)fflush(showing->out);
        code = write_files(showing->directory, &view);
    }
    comms_view_free(&view);
    return code;
}

int comms_show_logs(const struct comms_showing *showing)
{
    struct comms_found found;
    int code = comms_show(showing, &found);
    if (!code && !found.logs) {
        log_error("no log (*" COMMS_SUFFIX ") in '%s'", showing->directory);
        return EXIT_USAGE;
    }
    return code;
}
