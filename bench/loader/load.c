#include "bench/loader/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/common/memory.h"
#include "harness/lib/sys/affinity.h"

const char *const load_mode_titles[LOAD_MODES] = {
    [LOAD_PROCESS] = "processes in C",
    [LOAD_THREAD] = "threads in C",
    [LOAD_PYTHON_PROCESS] = "processes in Python",
    [LOAD_PYTHON_THREAD] = "threads in Python",
    [LOAD_PYTHON_FREE] = "threads in Python without its lock",
    [LOAD_PYTORCH] = "workers of PyTorch",
};

int load_bind(const struct bitset *cpus)
{
    struct bitset now;
    if (!cpus)
        return 0;
    int rc = affinity_set(0, cpus);
    rc = rc ? rc : affinity_get(0, &now);
    return rc || bitset_equal(&now, cpus) ? rc : -EXDEV;
}

/*
 * Drops what it read from the page cache: a data set larger than memory is not in the page cache
 * either when its next epoch begins.
 */
static int prepare(const struct load *load, const struct batches *mine, struct token token)
{
    struct sample sample = {0};
    uint64_t source = token.batch;
    if (load->file) {
        int rc = batch_file_read(load->file, token.batch, mine->sources, NULL);
        if (rc)
            return rc;
        batch_file_drop(load->file, token.batch);
        queue_add_read(load->queue, load->file->batch_bytes);
        source = 0;
    }
    (load->raw ? batches_copy : batches_prepare)(mine, source, queue_slot(load->queue, token.slot),
                                                 &sample);
    return 0;
}

int load_serve(const struct load *load)
{
    struct batches mine;
    struct token token;
    float *raw = NULL; /* a batch of the file, instead of the raw batches in memory */
    int rc = load_bind(load->cpus);
    if (rc)
        return rc;
    rc = batches_open_borrower(&mine, load->batches, NULL);
    if (!rc && load->file)
        rc = batches_allocate(&raw, mine.cells, NULL);
    if (raw)
        mine.sources = raw;
    while (!rc && queue_await(load->queue, &token)) {
        rc = prepare(load, &mine, token);
        if (!rc)
            rc = queue_put(load->queue, token);
    }
    batches_close_borrower(&mine);
    free(raw);
    return rc;
}

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
