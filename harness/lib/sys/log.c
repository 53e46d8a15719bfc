#include "harness/lib/sys/log.h"

#include <stdarg.h>
#include <stdio.h>

static void (*before_line)(void);
static bool is_quiet;

void log_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

void log_set_before(void (*before)(void))
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
