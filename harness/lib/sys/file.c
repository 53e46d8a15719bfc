#include "harness/lib/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is_program(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISREG(found.st_mode) && !access(path, X_OK);
}

int file_find_program(const char *name, bool absolute, char *path, size_t size)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/bin:/bin"; name[0] && *at;) {
        int length = (int)strcspn(at, ":");
        int n = snprintf(path, size, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        bool named = *at == '/' || !absolute;
        if (named && n > 0 && (size_t)n < size && file_is_program(path))
            return 0;
        at += length;
        at += *at == ':';
    }
    return -ENOENT;
}

int file_open_empty(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    return fd < 0 ? -errno : fd;
}

DIR *file_open_folder(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder && fd >= 0)
        (void)close(fd);
    return folder;
}

struct dirent *file_next(DIR **folder)
{
    struct dirent *entry = *folder ? readdir(*folder) : NULL;
    if (*folder && !entry) {
        (void)closedir(*folder);
        *folder = NULL;
    }
    return entry;
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

int file_sync(int fd)
{
    if (!fsync(fd) || errno == EINVAL || errno == EROFS || errno == ENOSYS || errno == ENOTSUP)
        return 0; /* done; or a pipe or file system that does not support fsync */
    return -errno;
}

int file_write(int dir_fd, const char *name, const char *text, size_t size)
{
    int fd = file_open_empty(dir_fd, name);
    if (fd < 0)
        return fd;
    int rc = file_write_at(fd, text, size, 0);
    rc = rc ? rc : file_sync(fd);
    if (close(fd) != 0 && !rc)
        rc = -errno;
    if (rc)
        (void)unlinkat(dir_fd, name, 0);
    return rc;
}

#define BEGUN_FORMAT "contend-%ld-%u.tmp"

/* Opens a new file in the folder of `name`, of which no other writer knows, and sets `tmp` to its
 * name. */
static int open_beside(int dir_fd, const char *name, char *tmp, size_t size)
{
    const char *last = strrchr(name, '/');
    const int folder = last ? (int)(last - name) + 1 : 0;
    for (unsigned i = 0; i < 1000; i++) {
        if ((size_t)snprintf(tmp, size, "%.*s" BEGUN_FORMAT, folder, name, (long)getpid(), i) >=
            size)
            return -ENAMETOOLONG;
        int fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

int file_replace(int dir_fd, const char *name, const char *text, size_t size)
{
    char tmp[4096];
    int fd = open_beside(dir_fd, name, tmp, sizeof(tmp));
    if (fd < 0)
        return fd;
    int rc = file_write_at(fd, text, size, 0);
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc && renameat(dir_fd, tmp, dir_fd, name))
        rc = -errno;
    if (rc)
        (void)unlinkat(dir_fd, tmp, 0);
    return rc;
}

static bool is_process(long pid)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "/proc/%ld", pid);
    return !access(path, F_OK) || access("/proc/self", F_OK);
}

void file_remove_begun(int dir_fd)
{
    DIR *files = file_open_folder(dir_fd, ".");
    for (struct dirent *file; (file = file_next(&files));) {
        long pid = 0;
        unsigned i;
        int end = 0;
        (void)sscanf(file->d_name, BEGUN_FORMAT "%n", &pid, &i, &end);
        if (end && !file->d_name[end] && !is_process(pid))
            (void)unlinkat(dir_fd, file->d_name, 0);
    }
}

int file_read_open(int fd, size_t most, char **text, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    if ((size_t)status.st_size > most)
        return -EFBIG;
    char *bytes = malloc((size_t)status.st_size + 1);
    size_t at = 0;
    while (bytes && at < (size_t)status.st_size) {
        ssize_t n = read(fd, bytes + at, (size_t)status.st_size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = -errno;
            free(bytes);
            return rc;
        }
        if (n == 0)
            break; /* the file shrank */
        at += (size_t)n;
    }
    if (!bytes)
        return -ENOMEM;
    bytes[at] = '\0';
    *text = bytes;
    *size = at;
    return 0;
}

int file_read(int dir_fd, const char *name, size_t most, char **text, size_t *size)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? -EINVAL : -errno;
    int rc = file_read_open(fd, most, text, size);
    (void)close(fd);
    return rc;
}

static int refuse(const struct growing_file *file, int rc, struct err *err)
{
    return rc ? err_sys(err, rc, "cannot write %s", file->name) : 0;
}

int growing_open(struct growing_file *file, int dir_fd, const char *name, struct err *err)
{
    int fd = file_open_empty(dir_fd, name);
    if (fd < 0)
        return err_sys(err, fd, "cannot create %s", name);
    *file = (struct growing_file){.is_open = true, .fd = fd, .name = name};
    return 0;
}

int growing_append(struct growing_file *file, const void *data, size_t size, struct err *err)
{
    int rc = file_write_at(file->fd, data, size, file->valid_bytes);
    if (rc)
        growing_cut(file, file->valid_bytes);
    else
        file->valid_bytes += (off_t)size;
    return refuse(file, rc, err);
}

void growing_cut(struct growing_file *file, off_t valid_bytes)
{
    file->valid_bytes = valid_bytes;
    if (ftruncate(file->fd, valid_bytes) != 0)
        return; /* readers know where the valid part ends */
}

int growing_sync(const struct growing_file *file, struct err *err)
{
    return refuse(file, file_sync(file->fd), err);
}

int growing_close(struct growing_file *file, struct err *err)
{
    struct growing_file closed = *file;
    *file = (struct growing_file){0};
    return closed.is_open && close(closed.fd) ? refuse(&closed, -errno, err) : 0;
}
