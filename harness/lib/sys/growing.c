#include "harness/lib/sys/growing.h"

#include <errno.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"

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
