#include "harness/lib/sys/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/text.h"

void proc_copy_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text) < size ? strlen(text) : size - 1;
    memmove(out, text, length);
    out[length] = '\0';
}

/* root + path; "" if too long. */
static const char *join(char full[PATH_MAX], const char *root, const char *fmt, va_list ap)
{
    int used = snprintf(full, PATH_MAX, "%s", root);
    int n = used < PATH_MAX ? vsnprintf(full + used, (size_t)(PATH_MAX - used), fmt, ap) : -1;
    return n >= 0 && n < PATH_MAX - used ? full : "";
}

static bool read_text(const char *path, char *out, size_t size)
{
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) != 0) {
        if (n > 0)
            used += (size_t)n;
        else if (errno != EINTR)
            break;
    }
    (void)close(fd);
    while (used > 0 && isspace((unsigned char)out[used - 1]))
        used--;
    out[used] = '\0';
    return used > 0;
}

bool proc_read_text(const char *root, char *out, size_t size, const char *path, ...)
{
    char full[PATH_MAX];
    va_list ap;
    va_start(ap, path);
    bool known = read_text(join(full, root, path, ap), out, size);
    va_end(ap);
    return known;
}

double proc_read_number(const char *root, const char *path, ...)
{
    char full[PATH_MAX], text[64], *end = text;
    va_list ap;
    va_start(ap, path);
    double value =
        read_text(join(full, root, path, ap), text, sizeof(text)) ? strtod(text, &end) : NAN;
    va_end(ap);
    return end != text && *end == '\0' ? value : NAN;
}

double proc_read_count(const char *root, const char *name, char separator, const char *path, ...)
{
    char full[PATH_MAX], text[64];
    va_list ap;
    va_start(ap, path);
    bool known =
        proc_read_field("", join(full, root, path, ap), name, separator, text, sizeof(text));
    va_end(ap);
    return known ? strtod(text, NULL) : NAN;
}

bool proc_read_list(const char *root, struct bitset *set, const char *path, ...)
{
    char full[PATH_MAX], text[BITSET_BITS * 5]; /* the longest list */
    va_list ap;
    va_start(ap, path);
    bool known =
        read_text(join(full, root, path, ap), text, sizeof(text)) && !bitset_parse(text, set, NULL);
    va_end(ap);
    if (!known)
        *set = (struct bitset){0};
    return known;
}

double proc_read_memory_bytes(const char *root, const char *name)
{
    return proc_read_count(root, name, ':', "/proc/meminfo") * 1024;
}

bool proc_read_field(const char *root, const char *path, const char *name, char separator,
                     char *out, size_t size)
{
    char full[PATH_MAX], line[4096];
    bool found = false;
    out[0] = '\0';
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    FILE *file = fopen(full, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *at = strchr(line, separator);
        if (!at)
            continue;
        char *value = at + 1 + strspn(at + 1, " \t\"");
        while (at > line && isspace((unsigned char)at[-1]))
            at--;
        *at = '\0';
        found = strcmp(line, name) == 0;
        value[strcspn(value, "\"\n")] = '\0';
        if (found)
            proc_copy_text(out, size, value);
    }
    if (file)
        (void)fclose(file);
    return found && out[0];
}

const char *proc_find(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        size_t blanks = strncmp(at, name, length) == 0 ? strspn(at + length, " \t:") : 0;
        if (blanks)
            return at + length + blanks;
    }
    return NULL;
}

double proc_find_number(const char *text, const char *name)
{
    const char *at = proc_find(text, name);
    return at ? strtod(at, NULL) : (double)NAN;
}

bool proc_find_list(const char *text, const char *name, struct bitset *set)
{
    const char *at = proc_find(text, name);
    if (at && !bitset_parse(str_fmt("%.*s", (int)strcspn(at, "\n"), at), set, NULL))
        return true;
    *set = (struct bitset){0};
    return false;
}

double proc_read_pressure_s(const char *root, const char *path)
{
    char text[PROC_TEXT_MAX];
    const char *total = proc_read_field(root, path, "some", ' ', text, sizeof(text))
                            ? strstr(text, "total=")
                            : NULL;
    return total ? strtod(total + strlen("total="), NULL) * 1e-6 : (double)NAN;
}

bool proc_parse_cpu(const char *line, int *os_cpu, double times_s[static PROC_TIMES])
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    double ticks[FIELDS];
    if (strncmp(line, "cpu", 3) != 0 || !strchr(" 0123456789", line[3]))
        return false;
    *os_cpu = line[3] == ' ' ? -1 : (int)strtoul(line + 3, NULL, 10);
    const char *at = line + strcspn(line, " \n");
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = (double)strtoull(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    const double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    times_s[PROC_USER] = ticks[USER] * tick_s;
    times_s[PROC_NICE] = ticks[NICE] * tick_s;
    times_s[PROC_SYSTEM] = ticks[SYSTEM] * tick_s;
    times_s[PROC_IDLE] = (ticks[IDLE] + ticks[IOWAIT]) * tick_s;
    times_s[PROC_IRQ] = (ticks[IRQ] + ticks[SOFTIRQ]) * tick_s;
    times_s[PROC_STEAL] = ticks[STEAL] * tick_s;
    return true;
}
