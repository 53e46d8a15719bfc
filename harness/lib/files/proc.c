#include "harness/lib/files/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void proc_copy_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text) < size ? strlen(text) : size - 1;
    memmove(out, text, length);
    out[length] = '\0';
}

bool proc_read_text(const char *root, const char *path, char *out, size_t size)
{
    char full[PATH_MAX];
    out[0] = '\0';
    if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
        return false;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
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

double proc_read_number(const char *root, const char *path)
{
    char text[64];
    if (!proc_read_text(root, path, text, sizeof(text)))
        return NAN;
    char *end;
    double value = strtod(text, &end);
    return end != text && *end == '\0' ? value : NAN;
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
