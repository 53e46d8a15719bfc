#include "harness/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int file_open_empty(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    return fd < 0 ? -errno : fd;
}

int file_write_at(int fd, const char *text, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, text, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        text += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}

int file_write(int dir_fd, const char *name, const char *text, size_t size)
{
    int fd = file_open_empty(dir_fd, name);
    if (fd < 0)
        return fd;
    int rc = file_write_at(fd, text, size, 0);
    if (close(fd) != 0 && !rc)
        rc = -errno;
    if (rc)
        (void)unlinkat(dir_fd, name, 0);
    return rc;
}
