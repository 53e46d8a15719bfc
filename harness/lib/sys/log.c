#include "harness/lib/sys/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

static void (*before_line)(void);
static bool is_quiet;

void log_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

/* Sets a hook that runs before each line, such as erasing a progress bar. NULL = none. */
static void log_set_before(void (*before)(void))
{
    before_line = before;
}

__attribute__((format(printf, 2, 0))) static void log_line(const char *level, const char *fmt,
                                                           va_list ap)
{
    if (is_quiet)
        return;
    if (before_line)
        before_line();
    char line[4096];
    size_t most = sizeof(line) - 1; /* room for the line's end */
    size_t used = (size_t)snprintf(line, most, "contend: %s", level);
    int more = vsnprintf(line + used, most - used, fmt, ap);
    used += more < 0 ? 0 : (size_t)more < most - used ? (size_t)more : most - used - 1;
    line[used++] = '\n';
    /* One write per line: other processes of a job write to the same file. */
    (void)fwrite(line, 1, used, stderr);
}

void log_info(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line("", fmt, ap);
    va_end(ap);
}

void log_warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line("warning: ", fmt, ap);
    va_end(ap);
}

void log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line("error: ", fmt, ap);
    va_end(ap);
}

enum { CELLS_MOST = 24, CELLS_LEAST = 8, LABEL_MOST = 30, COLUMNS_UNKNOWN = 80 };

/* There is one terminal, so there is one bar. */
static struct {
    bool active, drawn;
    const char *label;
    size_t done, total;
    double expected_s;
    uint64_t start_ns;
} bar;

static void erase(void)
{
    if (bar.drawn)
        (void)fputs("\r\033[K", stderr);
    bar.drawn = false;
}

char *progress_format(const struct progress *progress, unsigned columns, char *buf, size_t size)
{
    char count[48], left[32];
    int room = (int)columns - 1; /* some terminals wrap after the last column */
    int fixed = snprintf(count, sizeof(count), "%zu/%zu", progress->done, progress->total) +
                snprintf(left, sizeof(left), "  %.0f s left", progress->left_s);
    int label = (int)strnlen(progress->label, LABEL_MOST);
    int cells = room - fixed - label - (int)strlen("[]   ");
    cells = cells > CELLS_MOST ? CELLS_MOST : cells;
    if (cells >= CELLS_LEAST) {
        int filled = progress->total ? (int)(progress->done * (size_t)cells / progress->total) : 0;
        (void)snprintf(buf, size, "[%.*s%*s] %s  %.*s%s", filled,
                       "========================", cells - filled, "", count, label,
                       progress->label, left);
        return buf;
    }
    label = room - fixed - 2 < label ? room - fixed - 2 : label;
    (void)snprintf(buf, size, "%s%s%.*s%s", count, label > 0 ? "  " : "", label > 0 ? label : 0,
                   progress->label, left);
    if (room >= 0 && (size_t)room < size)
        buf[room] = '\0';
    return buf;
}

void progress_tick(void)
{
    char line[160];
    if (!bar.active)
        return;
    double elapsed_s = (double)(clock_now_ns() - bar.start_ns) * 1e-9;
    /* Until a quarter is done, the plan's estimate is better than the pace so far. */
    double pace_s = bar.done * 4 >= bar.total && bar.done
                        ? elapsed_s / (double)bar.done * (double)bar.total
                        : bar.expected_s;
    double left_s = pace_s > elapsed_s ? pace_s - elapsed_s : 0;
    struct progress progress = {bar.label, bar.done, bar.total, left_s};
    unsigned columns = terminal_columns(STDERR_FILENO); /* each time: the user may resize it */
    (void)fprintf(
        stderr, "\r\033[K%s",
        progress_format(&progress, columns ? columns : COLUMNS_UNKNOWN, line, sizeof(line)));
    (void)fflush(stderr);
    bar.drawn = true;
}

void progress_set(const char *label, size_t done, size_t total, double expected_s)
{
    if (!bar.active) {
        if (!terminal_has_escapes(STDERR_FILENO))
            return;
        bar.active = true;
        bar.start_ns = clock_now_ns();
        log_set_before(erase);
    }
    bar.label = label;
    bar.done = done;
    bar.total = total;
    bar.expected_s = expected_s;
    progress_tick();
}

void progress_end(void)
{
    erase();
    bar.active = false;
    log_set_before(NULL);
}

/* The value of COLUMNS; 0 = unset, or not a number up to 9999. */
static unsigned wanted_columns(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long columns = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    return end && !*end && columns <= 9999 ? (unsigned)columns : 0;
}

unsigned terminal_columns(int fd)
{
    struct winsize size = {0};
    if (!isatty(fd))
        return 0;
    unsigned there = ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col, wanted = wanted_columns();
    return there && (!wanted || there < wanted) ? there : wanted;
}

unsigned terminal_rows(int fd)
{
    struct winsize size = {0};
    return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_row : 0;
}

bool terminal_has_escapes(int fd)
{
    const char *name = getenv("TERM");
    return isatty(fd) && name && *name && strcmp(name, "dumb") != 0;
}

bool terminal_has_color(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    return terminal_has_escapes(fd) && !(no_color && *no_color);
}
