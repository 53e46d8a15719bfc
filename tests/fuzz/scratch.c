#include "tests/fuzz/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"

static char directory[] = "/dev/shm/contend-fuzz-XXXXXX"; /* in memory */
static int dir_fd = -1;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_directory(void)
{
    (void)nftw(directory, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

int scratch_fd(void)
{
    if (dir_fd >= 0)
        return dir_fd;
    dir_fd = mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir_fd < 0 || atexit(remove_directory))
        abort();
    return dir_fd;
}

const char *scratch_path(void)
{
    (void)scratch_fd();
    return directory;
}

void scratch_put(const char *name, const uint8_t *data, size_t size)
{
    char parent[64];
    const char *slash = strchr(name, '/');
    int fd = scratch_fd();
    if (!data) {
        (void)unlinkat(fd, name, 0);
        return;
    }
    (void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - name) : 0, name);
    if (slash)
        (void)mkdirat(fd, parent, 0777);
    if (file_write(fd, name, (const char *)data, size))
        abort();
}

const uint8_t *scratch_next_part(const uint8_t **data, size_t *left, size_t *size)
{
    const uint8_t *part = *data;
    const uint8_t *end = part && *left ? memchr(part, 0x1e, *left) : NULL;
    *size = part ? *left : 0;
    if (end)
        *size = (size_t)(end - part);
    *data = end ? end + 1 : NULL;
    *left -= end ? *size + 1 : *left;
    return part;
}

void check_refusal(int rc, const struct err *err)
{
    if (rc && (err->code != rc || !err->msg[0] || strchr(err->msg, '\n')))
        abort();
}
