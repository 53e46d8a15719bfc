#include "harness/comms/files_comms.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/file.h"
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
} tables[] = {
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

int comms_csv_write(int dir_fd, const struct comms_view *view, struct err *err)
{
    enum { TABLES = sizeof(tables) / sizeof(tables[0]) };
    int rc = 0;
    for (size_t i = 0; i < TABLES && !rc; i++)
        rc = check_replaceable(dir_fd, &tables[i], err);
    for (size_t i = 0; i < TABLES && !rc; i++)
        rc = write_file(dir_fd, &tables[i], view, err);
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
