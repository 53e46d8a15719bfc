#include "bench/limits/data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/magic.h>

#include "harness/lib/files/file.h"
#include "harness/lib/sys/process.h"

/* So many batches at least, and so large that half of it is no small change. */
enum { SOURCES = 4, MIB = 1 << 20, BATCHES_LEAST = 12, DATA_LEAST = 16 * MIB };

/* A multiple of SOURCES. */
unsigned limits_data_batches(const struct batch_params *params)
{
    double batch_bytes = (double)params->rows * (double)params->cols * sizeof(float);
    double n = fmax(BATCHES_LEAST, DATA_LEAST / batch_bytes);
    return (unsigned)ceil(n / SOURCES) * SOURCES;
}

double limits_data_bytes(const struct batch_params *params)
{
    return (double)params->rows * (double)params->cols * sizeof(float) *
           limits_data_batches(params);
}

static const char *data_dir(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && dir[0] ? dir : "/var/tmp";
}

/* By a child of ours, as it makes the batches with an OpenMP team. */
struct writer {
    const struct bench_ctx *ctx;
    int fd;
};

static int write_batches(void *arg)
{
    const struct writer *writer = arg;
    struct bench_ctx ctx = *writer->ctx;
    struct batches batches = {0};
    struct err ignored;
    ctx.err = &ignored;
    ctx.least_team = NULL;
    ctx.cpu_samples = NULL;
    int rc = batches_open(&batches, ctx.params, &ctx);
    size_t bytes = rc ? 0 : SOURCES * batches.cells * sizeof(float);
    const char *sources = (const char *)batches.sources;
    for (unsigned i = 0; i < limits_data_batches(ctx.params) / SOURCES && !rc; i++)
        rc = file_write_at(writer->fd, sources, bytes, (off_t)(i * bytes));
    return rc == -ENOSPC ? ENOSPC : rc ? EIO : 0;
}

static int absent_data(struct err *why, int rc, const char *dir, const char *what)
{
    (void)err_sys(why, rc, "%s a file in %.100s", what, dir);
    return why->code = -ENOTSUP;
}

int limits_data_open(struct limits_data *data, const struct bench_ctx *ctx, struct err *why)
{
    const char *dir = data_dir();
    struct statfs fs;
    double need = limits_data_bytes(ctx->params);
    data->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (data->fd < 0)
        return absent_data(why, -errno, dir, "cannot make");
    data->is_open = true;
    if (fstatfs(data->fd, &fs))
        return absent_data(why, -errno, dir, "cannot look at");
    if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
        return err_set(why, -ENOTSUP,
                       "%.100s is in memory (tmpfs), of which nothing can be reclaimed: name a "
                       "directory on a disk in TMPDIR",
                       dir);
    if ((double)fs.f_bavail * (double)fs.f_bsize < 2 * need)
        return err_set(why, -ENOTSUP, "%.100s has no %.0f MiB free", dir, 2 * need / MIB);
    struct writer writer = {ctx, data->fd};
    struct process process;
    int status = 0;
    int rc = process_start(&process, false, write_batches, &writer);
    if (rc)
        return absent_data(why, rc, dir, "cannot write");
    process_wait(&process, &status);
    rc = status ? (WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO) : 0;
    if (!rc && fsync(data->fd))
        rc = -errno;
    return rc ? absent_data(why, rc, dir, "cannot write") : 0;
}

void limits_data_close(struct limits_data *data)
{
    if (data->is_open)
        (void)close(data->fd);
    data->is_open = false;
}

int limits_data_fd(const struct limits_data *data)
{
    return data->is_open ? data->fd : -1;
}

void limits_data_uncache(const struct limits_data *data)
{
    if (data->is_open)
        (void)posix_fadvise(data->fd, 0, 0, POSIX_FADV_DONTNEED);
}
