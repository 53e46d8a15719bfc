#include "harness/doctor/tables_live.h"

#include <math.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"

enum { COLUMNS = 80, LABEL = 9, LINE_MAX_BYTES = 512, HEAD_ROWS = 2, STRIP_HEAD_ROWS = 2 };

/* Share of the time: a CPU counts as used by a worker from this share on. */
static const double used_least = 0.05;

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

/* Cuts the line to the terminal: a wrapped line would push the others down. */
static void put_line(const struct live_style *style, const char *color, const char *text, FILE *out)
{
    size_t most = style->columns ? style->columns : LINE_MAX_BYTES, length = strlen(text);
    length = length < most ? length : most;
    while (length && text[length - 1] == ' ')
        length--;
    (void)fprintf(out, "%s%.*s%s%s", style->color ? color : "", (int)length, text,
                  style->color && color[0] ? PLAIN : "", style->line_end);
}

/* "1.25", "12.5", "125"; "-" = unknown. */
static const char *format_cpus(double cpus)
{
    return str_fmt(isnan(cpus)    ? "-"
                   : cpus < 9.995 ? "%.2f"
                   : cpus < 99.95 ? "%.1f"
                                  : "%.0f",
                   cpus);
}

static const char *format_share(double share)
{
    return str_fmt(isnan(share) ? "-" : "%.0f%%", 100 * share);
}

static void put_machine(const struct live *live, const struct live_style *style, FILE *out)
{
    const char *line =
        str_fmt("%zu worker%s, %zu CPUs %s busy, %s stolen, load %.1f, pressure %s, own %s",
                live->nworkers, live->nworkers == 1 ? "" : "s", live->ncpus,
                format_share(live->busy), format_share(live->steal), live->load,
                format_share(live->pressure), text_percent(live->own));
    put_line(style, "", line, out);
}

static void put_worker(const struct live_worker *worker, const struct live_style *style, FILE *out)
{
    bool waits = worker->queue > 0.1 * (worker->queue + worker->oncpu) && worker->queue > 0.05;
    const char *moves = !isnan(worker->migrations) ? str_fmt("%.0f", worker->migrations) : "-";
    const char *line =
        str_fmt("%8d %-15s %4u %5s %5s %5s %5s %5s %4s %s", (int)worker->pid, worker->name,
                worker->nthreads, format_cpus(worker->oncpu), format_cpus(worker->queue),
                format_cpus(worker->blocked), moves, format_share(worker->throttled),
                format_share(worker->gpu_busy), worker->wait_cause);
    put_line(style, waits ? RED : "", line, out);
}

/* Number of CPUs that a mark stands for. */
static size_t cpus_a_mark(const struct live *live, const struct live_style *style)
{
    size_t columns = style->columns ? style->columns : COLUMNS;
    size_t room = columns > LABEL + 1 ? columns - LABEL : 1;
    return (live->ncpus + room - 1) / room;
}

static char mark_of(const struct live *live, const struct live_worker *worker, size_t from,
                    size_t to)
{
    double most = 0;
    bool its_own = false;
    for (size_t c = from; c < to && c < live->ncpus; c++) {
        most = fmax(most, worker->used[c]);
        its_own = its_own || bitset_test(&worker->cpus, live->os_cpu[c]);
    }
    return most >= 0.66 ? '#' : most >= 0.33 ? '+' : most >= used_least ? '-' : its_own ? '.' : ' ';
}

static char count_of(const struct live *live, size_t from, size_t to)
{
    unsigned most = 0;
    for (size_t c = from; c < to && c < live->ncpus; c++) {
        unsigned n = 0;
        for (size_t w = 0; w < live->nworkers; w++)
            n += live->workers[w].used[c] >= used_least;
        most = n > most ? n : most;
    }
    return most == 0 ? '.' : most > 9 ? '*' : (char)('0' + most);
}

static void put_strip(const struct live *live, const struct live_worker *worker,
                      const struct live_style *style, FILE *out)
{
    char line[LINE_MAX_BYTES];
    size_t step = cpus_a_mark(live, style), used;
    used = (size_t)(worker ? snprintf(line, sizeof(line), "%8d ", (int)worker->pid)
                           : snprintf(line, sizeof(line), "%8s ", "workers"));
    for (size_t c = 0; c < live->ncpus && used + 1 < sizeof(line); c += step)
        line[used++] = worker ? mark_of(live, worker, c, c + step) : count_of(live, c, c + step);
    line[used] = '\0';
    put_line(style, "", line, out);
}

static void put_strips(const struct live *live, size_t n, const struct live_style *style, FILE *out)
{
    char line[LINE_MAX_BYTES];
    size_t step = cpus_a_mark(live, style);
    if (!live->ncpus)
        return;
    put_line(style, "", "", out);
    int used = snprintf(line, sizeof(line), "%8s %u to %u", "CPU", live->os_cpu[0],
                        live->os_cpu[live->ncpus - 1]);
    if (step > 1 && used > 0)
        (void)snprintf(line + used, sizeof(line) - (size_t)used, ", %zu a mark", step);
    put_line(style, BOLD, line, out);
    for (size_t w = 0; w < n; w++)
        put_strip(live, &live->workers[w], style, out);
    put_strip(live, NULL, style, out);
}

void live_print(const struct live *live, const struct live_style *style, FILE *out)
{
    size_t rows = style->rows ? style->rows - 1 : SIZE_MAX / 2; /* the last row stays empty */
    size_t n = live->nworkers, strips = n;
    if (HEAD_ROWS + n > rows)
        n = rows > HEAD_ROWS + 1 ? rows - HEAD_ROWS - 1 : 0;
    size_t left = rows > HEAD_ROWS + n + 1 ? rows - HEAD_ROWS - n - (n < live->nworkers) : 0;
    if (STRIP_HEAD_ROWS + strips + 1 > left)
        strips = left > STRIP_HEAD_ROWS + 1 ? left - STRIP_HEAD_ROWS - 1 : 0;
    put_machine(live, style, out);
    const char *line = str_fmt("%8s %-15s %4s %5s %5s %5s %5s %5s %4s %s", "PID", "NAME", "THR",
                               "ON", "QUEUE", "BLOCK", "MOVES", "QUOTA", "GPU", "BECAUSE OF");
    put_line(style, BOLD, line, out);
    for (size_t w = 0; w < n; w++)
        put_worker(&live->workers[w], style, out);
    if (n < live->nworkers) {
        line = str_fmt("%8s and %zu more", "", live->nworkers - n);
        put_line(style, "", line, out);
    }
    if (strips)
        put_strips(live, strips, style, out);
}
