#include "bench/loader/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/common/memory.h"

/* At the start of the shared memory; batches.py reads `over`. */
struct header {
    _Atomic uint32_t over;
    _Atomic uint64_t read_bytes; /* loaders in C only */
};

enum { PAGE = 4096 };

static size_t stride(size_t cells)
{
    return (cells * sizeof(float) + PAGE - 1) / PAGE * PAGE;
}

static struct header *header_of(const struct queue *queue)
{
    return (struct header *)(void *)queue->base;
}

static int open_memory(struct queue *queue, struct err *err)
{
    int rc = memory_check_fits(queue->bytes, "the queue of batches", err);
    if (rc)
        return rc;
    queue->memory_fd = memfd_create("contend-loader", MFD_CLOEXEC);
    if (queue->memory_fd < 0 || ftruncate(queue->memory_fd, (off_t)queue->bytes))
        return err_sys(err, -errno, "cannot make shared memory for batches");
    void *base = mmap(NULL, queue->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, queue->memory_fd, 0);
    if (base == MAP_FAILED)
        return err_sys(err, -errno, "cannot map %zu bytes for batches", queue->bytes);
    queue->base = base;
    return 0;
}

static int open_pipes(struct queue *queue, struct err *err)
{
    if (pipe2(queue->free_fds, O_CLOEXEC) || pipe2(queue->ready_fds, O_CLOEXEC) ||
        fcntl(queue->ready_fds[0], F_SETFL, O_NONBLOCK))
        return err_sys(err, -errno, "cannot make a pipe");
    return 0;
}

int queue_open(struct queue *queue, size_t cells, unsigned slots, const float *sources,
               struct err *err)
{
    *queue = (struct queue){
        .bytes = PAGE + (QUEUE_SOURCES + slots) * stride(cells),
        .cells = cells,
        .slots = slots,
        .memory_fd = -1,
        .free_fds = {-1, -1},
        .ready_fds = {-1, -1},
    };
    int rc = open_memory(queue, err);
    if (!rc)
        rc = open_pipes(queue, err);
    if (rc) {
        queue_close(queue);
        return rc;
    }
    for (size_t s = 0; s < QUEUE_SOURCES; s++)
        memcpy(queue->base + PAGE + s * stride(cells), sources + s * cells, cells * sizeof(float));
    return 0;
}

static void close_one(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void queue_close(struct queue *queue)
{
    if (!queue->bytes)
        return;
    if (queue->base)
        (void)munmap(queue->base, queue->bytes);
    close_one(queue->memory_fd);
    for (int end = 0; end < 2; end++) {
        close_one(queue->free_fds[end]);
        close_one(queue->ready_fds[end]);
    }
    *queue = (struct queue){0};
}

float *queue_slot(const struct queue *queue, unsigned slot)
{
    return (float *)(void *)(queue->base + PAGE + (QUEUE_SOURCES + slot) * stride(queue->cells));
}

const float *queue_source(const struct queue *queue, uint64_t batch)
{
    return (const float *)(const void *)(queue->base + PAGE +
                                         batch % QUEUE_SOURCES * stride(queue->cells));
}

size_t queue_offset(const struct queue *queue, const float *batch)
{
    return (size_t)((const char *)batch - queue->base) / sizeof(float);
}

static int write_token(int fd, struct token token)
{
    ssize_t wrote;
    do
        wrote = write(fd, &token, sizeof(token));
    while (wrote < 0 && errno == EINTR);
    return wrote == sizeof(token) ? 0 : wrote < 0 ? -errno : -EPIPE;
}

static bool read_token(int fd, struct token *token)
{
    ssize_t got;
    do
        got = read(fd, token, sizeof(*token));
    while (got < 0 && errno == EINTR);
    return got == sizeof(*token);
}

int queue_ask(struct queue *queue, unsigned slot)
{
    return write_token(queue->free_fds[1], (struct token){slot, queue->next++});
}

int queue_put(const struct queue *queue, struct token token)
{
    return write_token(queue->ready_fds[1], token);
}

bool queue_await(const struct queue *queue, struct token *token)
{
    return read_token(queue->free_fds[0], token) && token->slot != QUEUE_END &&
           !atomic_load(&header_of(queue)->over);
}

bool queue_take(const struct queue *queue, struct token *token)
{
    return read_token(queue->ready_fds[0], token);
}

int queue_ready_fd(const struct queue *queue)
{
    return queue->ready_fds[0];
}

void queue_add_read(const struct queue *queue, uint64_t bytes)
{
    atomic_fetch_add(&header_of(queue)->read_bytes, bytes);
}

uint64_t queue_read_bytes(const struct queue *queue)
{
    return atomic_load(&header_of(queue)->read_bytes);
}

static unsigned tokens_in(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) ? 0 : (unsigned)bytes / (unsigned)sizeof(struct token);
}

int queue_end(struct queue *queue, unsigned loaders)
{
    int rc = 0;
    atomic_store(&header_of(queue)->over, 1);
    for (unsigned i = 0; i < loaders && !rc; i++)
        rc = write_token(queue->free_fds[1], (struct token){.slot = QUEUE_END});
    return rc;
}

void queue_reset(struct queue *queue)
{
    struct token token;
    while (tokens_in(queue->free_fds[0]) && read_token(queue->free_fds[0], &token))
        continue;
    while (queue_take(queue, &token))
        continue;
    atomic_store(&header_of(queue)->over, 0);
    queue->next = 0;
}
