#include "harness/show/figures/found.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_WORDS "# contend "

static const char *const kinds[] = {
    [FIGURE_LINES] = "line_chart",
    [FIGURE_BARS] = "bar_chart",
    [FIGURE_HEAT] = "heat_map",
    [FIGURE_DOTS] = "dot_chart",
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), LINE_MOST = 40 };

void found_put_kind(enum figure_kind kind, FILE *out)
{
    (void)fprintf(out, FIRST_WORDS "%s\n", kinds[kind]);
}

/* "loss" for "loss.dat"; false if the file is not named like a figure. */
static bool take_name(const char *file, char name[static FIGURE_NAME_MAX])
{
    size_t length = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || length >= FIGURE_NAME_MAX || strcmp(file + length, ".dat") != 0)
        return false;
    (void)snprintf(name, FIGURE_NAME_MAX, "%.*s", (int)length, file);
    return true;
}

/* Returns the kind that the first line names; KINDS: none. */
static size_t read_kind(int plots_fd, const char *file)
{
    char line[LINE_MOST], wanted[LINE_MOST];
    struct stat status;
    size_t kind = KINDS;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = openat(plots_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return KINDS;
    ssize_t n = fstat(fd, &status) || !S_ISREG(status.st_mode) ? -1 : pread(fd, line, LINE_MOST, 0);
    for (size_t i = 0; i < KINDS && n > 0; i++) {
        int length = snprintf(wanted, sizeof(wanted), FIRST_WORDS "%s\n", kinds[i]);
        if (n >= length && memcmp(line, wanted, (size_t)length) == 0)
            kind = i;
    }
    (void)close(fd);
    return kind;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

size_t found_list(int plots_fd, struct found found[static FOUND_MOST])
{
    size_t n = 0;
    int fd = openat(plots_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            (void)close(fd);
        return 0;
    }
    for (const struct dirent *entry; n < FOUND_MOST && (entry = readdir(directory));) {
        size_t kind = KINDS;
        if (take_name(entry->d_name, found[n].name))
            kind = read_kind(plots_fd, entry->d_name);
        if (kind < KINDS)
            found[n++].kind = (enum figure_kind)kind;
    }
    (void)closedir(directory);
    qsort(found, n, sizeof(*found), compare);
    return n;
}
