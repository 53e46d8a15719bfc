#include "harness/doctor/doctor_tables.h"

#include <math.h>
#include <string.h>

#include "harness/doctor/reader/host.h"
#include "harness/lib/text.h"
#include "harness/show/doc.h"

static void format_refused(const struct view *view, const char **text)
{
    const unsigned n = view->host ? view->host->hung.refused : 0;
    if (n)
        str_add(text, "", "%s would also see whether %u process%s hang%s. ",
                view->is_root ? "With CAP_SYS_PTRACE root"
                              : "Root (or the owner, with kernel.yama.ptrace_scope=0)",
                n, n == 1 ? " that slept" : "es that slept", n == 1 ? "s" : "");
}

static void format_hidden(const struct view *view, const char **text)
{
    const struct view_hidden *hidden = &view->hidden;
    const char *group = "";
    const char *pids = "";
    for (unsigned i = 0; i < hidden->npids && i < VIEW_HIDDEN_MAX; i++)
        str_add(&pids, "", "%s %d", i ? "," : "", hidden->pids[i]);
    if (hidden->group[0])
        group = str_fmt(" or a member of group %s", hidden->group);
    if (hidden->any)
        str_add(text, "",
                "/proc hides processes of other users%s%s (hidepid%s%s); hidden ones "
                "used up to %.1f of %u CPUs meanwhile. Root%s would see them. ",
                pids[0] ? ", also" : "", pids, hidden->how[0] ? "=" : "", hidden->how,
                view->wall_s > 0 ? view_unattributed_s(view) / view->wall_s : 0,
                bitset_count(&view->online), group);
}

const char *doctor_format_unread(const struct view *view)
{
    const char *text = "";
    if (!view->has_schedstat)
        str_add(&text, "",
                "This kernel does not report how long tasks wait (no schedstat): checks "
                "of the run queue were skipped. ");
    if (view->environs_refused && !view->is_root)
        str_add(&text, "",
                "Root would also see the environment, libraries and pages of "
                "%u process%s that this user may not read. ",
                view->environs_refused, view->environs_refused == 1 ? "" : "es");
    if (view->environs_refused && view->is_root)
        str_add(&text, "",
                "The environment, the libraries and the pages of %u "
                "process%s are not shown to this root: it lacks CAP_SYS_PTRACE (docker "
                "run --cap-add SYS_PTRACE). ",
                view->environs_refused, view->environs_refused == 1 ? "" : "es");
    format_refused(view, &text);
    format_hidden(view, &text);
    if (view->pages_skipped)
        str_add(&text, "", "The pages of %u process%s too large to list were skipped. ",
                view->pages_skipped, view->pages_skipped == 1 ? "" : "es");
    return str_fmt("%.*s", text[0] ? (int)strlen(text) - 1 : 0, text);
}

static size_t count_watched(const struct view *view, size_t *tasks)
{
    size_t n = 0;
    *tasks = 0;
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view->processes[i].watched) {
            n++;
            *tasks += view->processes[i].ntasks;
        }
    return n;
}

bool doctor_sees_no_process(const struct view *view, const struct diagnosis *diagnosis)
{
    size_t tasks;
    return view->hidden.any && !diagnosis->n && !count_watched(view, &tasks);
}

const char *doctor_format_none_found(const struct view *view)
{
    size_t tasks;
    return view->plan                    ? "No thread is outside the plan."
           : !view->hidden.any           ? "Nothing found that costs time."
           : count_watched(view, &tasks) ? "Nothing found that costs these time: others are hidden."
                                         : "No visible process was busy.";
}

int doctor_print(const struct view *view, const struct diagnosis *diagnosis, FILE *out, bool color,
                 struct err *err)
{
    struct findings findings = {0};
    size_t tasks, n = count_watched(view, &tasks), bad = 0;
    diagnosis_findings(diagnosis, &findings);
    for (size_t i = 0; i < findings.n; i++)
        bad += findings.all[i].severity == FINDING_BAD;
    if (bad)
        (void)fprintf(out, "%zu problem%s", bad, bad == 1 ? "" : "s");
    (void)fprintf(out, "%s in %zu process%s with %zu thread%s, watched for %.1f s\n",
                  bad ? "" : "No problem", n, n == 1 ? "" : "es", tasks, tasks == 1 ? "" : "s",
                  view->wall_s);
    if (!diagnosis->n)
        (void)fprintf(out, "\n%s\n", doctor_format_none_found(view));
    doc_print_findings(&findings, out, color);
    (void)fputc('\n', out);
    const char *unread = doctor_format_unread(view);
    if (unread[0])
        text_wrap(unread, 0, 0, out);
    (void)fprintf(out, "Watching took %s of one CPU.\n", text_percent(view->own_s / view->wall_s));
    int rc = findings_check(&findings, err);
    findings_free(&findings);
    return rc;
}

void doctor_print_checks(bool markdown, FILE *out)
{
    if (markdown)
        (void)fputs("| # | id | finds | reads |\n|---|---|---|---|\n", out);
    for (const struct check *check = checks; check->finds; check++) {
        if (markdown) {
            (void)fprintf(out, "| %u | `%s` | %s | %s |\n", check->number, check->id, check->finds,
                          check->reads);
            continue;
        }
        int column = fprintf(out, "%3u %-22s ", check->number, check->id);
        text_wrap(check->finds, column, column, out);
        (void)fprintf(out, "%*s", column, "");
        text_wrap(check->reads, column, column, out);
    }
}

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
