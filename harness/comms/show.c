#include "harness/comms/show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/page.h"
#include "harness/comms/json.h"
#include "harness/comms/plugin/names.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/text.h"
#include "harness/record/csv.h"

typedef void writer(const void *of, FILE *out);

/* ---- matrix.csv ---- */

static void put_pairs(const char *scope, const struct comms_matrix *matrix, FILE *out)
{
    for (uint32_t from = 0; from < matrix->n; from++)
        for (uint32_t to = 0; to < matrix->n; to++) {
            size_t at = (size_t)from * matrix->n + to;
            if (matrix->bytes[at] || matrix->calls[at])
                (void)fprintf(out, "%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%s\n", scope, from, to,
                              matrix->bytes[at], matrix->calls[at], comms_how_name(matrix->how));
        }
    if (matrix->unknown_calls)
        (void)fprintf(out, "%s,,,%" PRIu64 ",%" PRIu64 ",unknown\n", scope, matrix->unknown_bytes,
                      matrix->unknown_calls);
}

static void put_matrices(const void *of, FILE *out)
{
    const struct comms_view *view = of;
    put_pairs("total", &view->total.matrix, out);
    for (size_t c = 0; c < view->comms.n; c++) {
        const char *scope = str_fmt("%zu", c + 1);
        put_pairs(scope, &view->comms.communicator[c].matrix, out);
    }
}

/* ---- calls.csv ---- */

static void put_size(size_t c, const struct comms_line *line, const char *from_bytes,
                     uint64_t calls, const char *bytes, FILE *out)
{
    (void)fprintf(out, "%zu,%s,%s,%s,%d,%s,%" PRIu64 ",%s\n", c + 1, comms_func_name(line->func),
                  comms_algo_name(line->algo), comms_proto_name(line->proto), line->captured,
                  from_bytes, calls, bytes);
}

static void put_line(size_t c, const struct comms_line *line, FILE *out)
{
    const char *bytes, *from;
    for (int b = 0; b < COMMS_SIZES; b++) {
        from = str_fmt("%" PRIu64, b ? (uint64_t)1 << (b - 1) : 0);
        bytes = str_fmt("%" PRIu64, line->size_bytes[b]);
        if (line->sizes[b])
            put_size(c, line, from, line->sizes[b], bytes, out);
    }
    if (line->any_size)
        put_size(c, line, "", line->any_size, "", out);
}

static void put_calls(const void *of, FILE *out)
{
    const struct comms_view *view = of;
    for (size_t c = 0; c < view->comms.n; c++)
        for (size_t i = 0; i < view->comms.communicator[c].work.n; i++)
            put_line(c, &view->comms.communicator[c].work.line[i], out);
}

/* ---- ranks.csv ---- */

/* The work that the rank enqueued, without the program's calls that caused it. */
static void put_done(const struct comms_communicator *communicator, uint32_t rank, FILE *out)
{
    uint64_t calls = 0, bytes = 0;
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_done *done = &communicator->done[i];
        if (done->rank != rank || done->count.key.algo == COMMS_CALLED)
            continue;
        calls += done->count.calls;
        bytes += done->count.bytes;
    }
    (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", calls, bytes);
}

static void put_log(const struct comms_rank *rank, FILE *out)
{
    if (!rank) {
        (void)fputs(",,,,,,", out);
        return;
    }
    (void)fputc(',', out);
    csv_put_text(rank->log->header.host, out);
    (void)fprintf(out, ",%s,%" PRId64 ",", rank->gpu, rank->log->header.pid);
    csv_put_text(rank->log->header.program, out);
    (void)fputc(',', out);
    csv_put_text(rank->log->name, out);
    (void)fprintf(out, ",%s", rank->member->state == COMMS_ALIVE ? "alive" : "finalized");
}

/* A rank without a log is left out, unless the logs of other ranks name it. */
static void put_rank(const struct comms_view *view, size_t c, uint32_t rank, FILE *out)
{
    const struct comms_communicator *communicator = &view->comms.communicator[c];
    const struct comms_rank *first;
    const uint32_t *gpu_of = view->total.gpu_of ? view->total.gpu_of[c] : NULL;
    bool has_gpu = gpu_of && gpu_of[rank] != COMMS_NO_GPU;
    if (!comms_find_rank(communicator, rank, &first) && !has_gpu)
        return;
    (void)fprintf(out, "%zu,%016" PRIx64 ",", c + 1, communicator->id);
    csv_put_text(communicator->name, out);
    (void)fprintf(out, ",%u,%u,%u,", communicator->nranks, communicator->nodes, rank);
    if (has_gpu)
        (void)fprintf(out, "%u", gpu_of[rank]);
    put_log(first, out);
    put_done(communicator, rank, out);
}

static void put_ranks(const void *of, FILE *out)
{
    const struct comms_view *view = of;
    for (size_t c = 0; c < view->comms.n; c++)
        for (uint32_t rank = 0; rank < view->comms.communicator[c].nranks; rank++)
            put_rank(view, c, rank, out);
}

/* ---- timeline.csv ---- */

static void put_timeline(const void *of, FILE *out)
{
    const struct comms_view *view = of;
    for (size_t i = 0; i < view->timeline.n; i++) {
        const struct comms_moment *moment = &view->timeline.moment[i];
        const struct comms_key key = comms_key_unpack(moment->key);
        (void)fprintf(out, "%.9f,%u,%u,%s,%s,%s,%u,", (double)moment->time_ns * 1e-9,
                      moment->communicator + 1, moment->rank, comms_func_name(key.func),
                      comms_algo_name(key.algo), comms_proto_name(key.proto), key.captured);
        if (key.peer >= 0)
            (void)fprintf(out, "%d", key.peer);
        (void)fprintf(out, ",%" PRIu64 ",", moment->bytes);
        if (moment->duration_ns)
            (void)fprintf(out, "%.9f", (double)moment->duration_ns * 1e-9);
        (void)fputc('\n', out);
    }
}

/* ---- files ---- */

static const struct table {
    const char *name, *columns; /* the first line, with its end */
    writer *put;
} csv_tables[] = {
    {"matrix.csv", "scope,from,to,bytes,calls,how\n", put_matrices},
    {"calls.csv", "communicator,collective,algorithm,protocol,captured,from_bytes,calls,bytes\n",
     put_calls},
    {"ranks.csv",
     "communicator,id,name,ranks,nodes,rank,gpu,host,pci,pid,program,file,state,calls,bytes\n",
     put_ranks},
    {"timeline.csv",
     "time_s,communicator,rank,collective,algorithm,protocol,captured,peer,bytes,duration_s\n",
     put_timeline},
};

/* The directory is the user's: only a file that contend wrote may be replaced. */
static int check_replaceable(int dir_fd, const struct table *table, struct err *err)
{
    char line[200] = "";
    struct stat status;
    int fd = openat(dir_fd, table->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    bool ours = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
                read(fd, line, sizeof(line) - 1) > 0 &&
                strncmp(line, table->columns, strlen(table->columns)) == 0;
    if (fd >= 0)
        (void)close(fd);
    return ours ? 0
                : err_set(err, -EEXIST, "'%s' is not replaced: it is no file of contend",
                          table->name);
}

static int write_file(int dir_fd, const struct table *table, const void *of, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for %s", table->name);
    (void)fputs(table->columns, out);
    table->put(of, out);
    bool failed = ferror(out) != 0;
    failed |= fclose(out) != 0;
    int rc = failed ? -ENOMEM : file_replace(dir_fd, table->name, text, size);
    free(text);
    return rc ? err_sys(err, rc, "cannot write %s", table->name) : 0;
}

/*
 * Replaces each file as a whole. -EEXIST: a file of that name is not of contend, and no file is
 * written; -ENOMEM, or an error of writing.
 */
static int comms_csv_write(int dir_fd, const struct comms_view *view, struct err *err)
{
    enum { TABLES = sizeof(csv_tables) / sizeof(csv_tables[0]) };
    int rc = 0;
    for (size_t i = 0; i < TABLES && !rc; i++)
        rc = check_replaceable(dir_fd, &csv_tables[i], err);
    for (size_t i = 0; i < TABLES && !rc; i++)
        rc = write_file(dir_fd, &csv_tables[i], view, err);
    return rc;
}

/* ---- links.csv ---- */

struct links {
    const char *host;
    const struct gpu_link *link;
    size_t n;
};

static void put_links(const void *of, FILE *out)
{
    const struct links *links = of;
    for (size_t i = 0; i < links->n; i++) {
        const struct gpu_link *link = &links->link[i];
        (void)fprintf(out, "%s,%s,%s,%s,%u,%.6g\n", links->host, link->pci, gpu_way_name(link->way),
                      link->to, link->links, link->gbps);
    }
}

int comms_ports_write(int dir_fd, const char *host, const struct gpu_link *link, size_t n,
                      struct err *err)
{
    static const struct table table = {COMMS_PORTS_NAME, COMMS_PORTS_COLUMNS "\n", put_links};
    const struct links links = {host, link, n};
    bool fits = n && strlen(host) < COMMS_HOST_MAX && !strpbrk(host, ",\"\r\n");
    int rc = fits ? check_replaceable(dir_fd, &table, err) : 0;
    return fits && !rc ? write_file(dir_fd, &table, &links, err) : rc;
}

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
    int rc = comms_view_read(showing->directory, showing->last_s, &view, &refused, &err);
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

static void print_head(const struct html_comms *page, FILE *out)
{
    html_begin(text_one_line(str_fmt("contend comms: %.200s", page->path)), out);
    (void)fputs("<header>\n<h1>Who sent how much to whom over NCCL</h1>\n", out);
    html_line("p", out, "%s: %zu processes, %zu communicators", page->path, page->view->logs.n,
              page->view->comms.n);
    (void)fputs("</header>\n<main>\n", out);
}

int html_comms_print(const struct html_comms *page, FILE *out, struct err *err)
{
    struct doc verdict = {0}, tables = {0};
    print_head(page, out);
    comms_add_verdict_to_doc(page->view, &verdict);
    html_doc(&verdict, out);
    for (size_t i = 0; i < page->nfigures; i++)
        html_figure(&page->figures[i], out);
    comms_add_tables_to_doc(page->view, &tables);
    html_doc(&tables, out);
    (void)fputs("<h2>Again</h2>\n", out);
    html_line("pre", out, "contend comms --read %s", text_shell_word(page->path));
    (void)fputs("</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
