#include "harness/cmd/session/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"

static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
static const char between[] = ",\n";
static const char tail[] = "\n]}\n";

static int refuse(const struct trace_file *file, int rc, struct err *err)
{
    if (rc == -EINVAL)
        return err_set(err, rc, "trace '%.150s' is no regular file", file->path);
    return err_sys(err, rc, "cannot write the trace '%.150s'", file->path);
}

int trace_file_open(struct trace_file *file, const char *path, struct err *err)
{
    struct stat st;
    *file = (struct trace_file){.path = path, .fd = -1};
    /* O_NONBLOCK: open would wait for the reader of a pipe, which is refused below. */
    file->fd =
        open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file->fd < 0)
        return refuse(file, errno == ENXIO ? -EINVAL : -errno, err);
    int rc = fstat(file->fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (!rc && ftruncate(file->fd, 0))
        rc = -errno;
    if (!rc)
        rc = file_write_at(file->fd, head, sizeof(head) - 1, 0);
    if (!rc)
        rc = file_write_at(file->fd, tail, sizeof(tail) - 1, sizeof(head) - 1);
    if (rc) {
        (void)close(file->fd);
        return refuse(file, rc, err);
    }
    file->is_open = true;
    file->end = sizeof(head) - 1;
    return 0;
}

/* One write replaces the tail by events and a new tail: a reader always finds a complete file. */
int trace_file_append(struct trace_file *file, const char *events, size_t size, struct err *err)
{
    size_t front = file->any ? sizeof(between) - 1 : 0;
    char *text = size ? malloc(front + size + sizeof(tail)) : NULL;
    if (!text)
        return size ? err_set(err, -ENOMEM, "no memory for %zu bytes of a trace", size) : 0;
    memcpy(text, between, front);
    memcpy(text + front, events, size);
    memcpy(text + front + size, tail, sizeof(tail));
    int rc = file_write_at(file->fd, text, front + size + sizeof(tail) - 1, file->end);
    free(text);
    if (rc) {
        /* There is room for the tail where it was before. */
        if (ftruncate(file->fd, file->end) == 0)
            (void)file_write_at(file->fd, tail, sizeof(tail) - 1, file->end);
        return refuse(file, rc, err);
    }
    file->end += (off_t)(front + size);
    file->any = true;
    return 0;
}

int trace_file_close(struct trace_file *file, struct err *err)
{
    int rc = 0;
    if (file->is_open && close(file->fd))
        rc = refuse(file, -errno, err);
    *file = (struct trace_file){0};
    return rc;
}
