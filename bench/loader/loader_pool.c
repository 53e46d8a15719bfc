#include "bench/loader/loader_pool.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

/* Values of token.slot that are messages, as in batches.py. */
#define AT_REST 0xFFFFFFFEu
#define BEGIN 0xFFFFFFFDu
/* The message of a thread that cannot work; token.batch is then the errno. */
#define FAILED QUEUE_END

int loader_pool_open(struct loader_pool *loader_pool, const struct load *load, struct err *err)
{
    *loader_pool = (struct loader_pool){.load = load};
    return process_pool_open(&loader_pool->process_pool, load, err);
}

static void *thread_main(void *arg)
{
    struct loader_pool_thread *thread = arg;
    thread->rc = load_serve(thread->load);
    if (thread->rc)
        (void)queue_put(thread->load->queue,
                        (struct token){.slot = FAILED, .batch = (uint32_t)-thread->rc});
    return NULL;
}

static void join_threads(struct loader_pool *loader_pool, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)pthread_join(loader_pool->threads[i].handle, NULL);
}

static int start_threads(struct loader_pool *loader_pool, unsigned loaders, struct err *err)
{
    for (unsigned i = 0; i < loaders; i++) {
        struct loader_pool_thread *thread = &loader_pool->threads[i];
        *thread = (struct loader_pool_thread){.load = loader_pool->load};
        int rc = -pthread_create(&thread->handle, NULL, thread_main, thread);
        if (!rc)
            continue;
        (void)queue_end(loader_pool->load->queue, i);
        join_threads(loader_pool, i);
        (void)err_sys(err, rc, "cannot start thread %u of %u", i + 1, loaders);
        return err ? (err->code = -ENOTSUP) : -ENOTSUP;
    }
    return 0;
}

/* Sleeps until the queue has a token, or the process pool reports a lost loader. */
static int sleep_for_token(struct loader_pool *loader_pool, struct token *token, struct err *err)
{
    const struct queue *queue = loader_pool->load->queue;
    while (!queue_take(queue, token)) {
        struct pollfd in[2] = {
            {.fd = queue_ready_fd(queue), .events = POLLIN},
            {.fd = process_pool_fd(&loader_pool->process_pool), .events = POLLIN}};
        if (poll(in, 2, -1) < 0 && errno != EINTR)
            return err_sys(err, -errno, "cannot wait for loaders");
        if (in[1].revents && !in[0].revents) {
            loader_pool->lost = true;
            return process_pool_lost(&loader_pool->process_pool, err);
        }
    }
    if (token->slot != FAILED)
        return 0;
    (void)err_sys(err, -(int)token->batch, "a loader cannot go on");
    return err ? (err->code = -ENOTSUP) : -ENOTSUP;
}

/* Waits until PyTorch is at rest: no batch comes after that. */
static int await_rest(struct loader_pool *loader_pool, struct err *err)
{
    struct token token = {0};
    int rc = 0;
    while (!rc && token.slot != AT_REST)
        rc = sleep_for_token(loader_pool, &token, err);
    return rc;
}

static int begin_torch(struct loader_pool *loader_pool, unsigned loaders, unsigned prefetch,
                       bool fresh, uint64_t *since_ns, struct err *err)
{
    unsigned each = (prefetch + loaders - 1) / loaders;
    struct token begin = {BEGIN, (each ? each : 1) << 16 | loaders};
    int rc = fresh ? await_rest(loader_pool, err) : 0;
    *since_ns = clock_now_ns();
    if (!rc && write(loader_pool->load->begin_fds[1], &begin, sizeof(begin)) != sizeof(begin))
        rc = err_set(err, -EIO, "cannot give PyTorch its orders");
    return rc;
}

int loader_pool_start(struct loader_pool *loader_pool, enum load_mode mode, unsigned loaders,
                      unsigned prefetch, uint64_t *since_ns, struct err *err)
{
    bool fresh = false;
    *since_ns = clock_now_ns();
    loader_pool->lost = false;
    loader_pool->mode = mode;
    if (mode == LOAD_THREAD) {
        int rc = start_threads(loader_pool, loaders, err);
        loader_pool->loaders = rc ? 0 : loaders;
        return rc;
    }
    int rc = process_pool_start(&loader_pool->process_pool, mode, loaders, &fresh, err);
    if (rc)
        return rc;
    loader_pool->loaders = loaders;
    return mode == LOAD_PYTORCH ? begin_torch(loader_pool, loaders, prefetch, fresh, since_ns, err)
                                : 0;
}

/* Drops orders that PyTorch did not read before it died: no other process reads them. */
static void drop_orders(int fd)
{
    struct token token;
    int bytes = 0;
    while (!ioctl(fd, FIONREAD, &bytes) && bytes && read(fd, &token, sizeof(token)) > 0)
        continue;
}

int loader_pool_await(struct loader_pool *loader_pool, struct token *token, struct err *err)
{
    return sleep_for_token(loader_pool, token, err);
}

int loader_pool_stop(struct loader_pool *loader_pool, struct err *err)
{
    struct queue *queue = loader_pool->load->queue;
    int rc = 0;
    if (loader_pool->loaders) {
        rc = queue_end(queue, loader_pool->loaders);
        if (rc)
            (void)err_sys(err, rc, "cannot tell loaders to end");
    }
    if (loader_pool->loaders && loader_pool->mode == LOAD_THREAD)
        join_threads(loader_pool, loader_pool->loaders);
    if (loader_pool->loaders && loader_pool->mode == LOAD_PYTORCH && !rc && !loader_pool->lost)
        rc = await_rest(loader_pool, err);
    if (loader_pool->loaders && loader_pool->mode == LOAD_PYTORCH && loader_pool->lost)
        drop_orders(loader_pool->load->begin_fds[0]);
    if (loader_pool->loaders && loader_pool->mode != LOAD_THREAD) {
        int rc_stop = process_pool_stop(&loader_pool->process_pool, rc ? NULL : err);
        rc = rc ? rc : rc_stop;
    }
    loader_pool->loaders = 0;
    queue_reset(queue);
    return rc;
}

void loader_pool_close(struct loader_pool *loader_pool)
{
    if (!loader_pool->load)
        return;
    if (loader_pool->loaders)
        (void)loader_pool_stop(loader_pool, NULL);
    process_pool_close(&loader_pool->process_pool);
    *loader_pool = (struct loader_pool){0};
}
