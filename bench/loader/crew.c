#include "bench/loader/crew.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

/* In the place of slots, as batches.py has them. */
#define AT_REST 0xFFFFFFFEu
#define BEGIN 0xFFFFFFFDu
/* And of a thread that cannot begin. */
#define FAILED QUEUE_END

int crew_open(struct crew *crew, const struct load *load, struct err *err)
{
    *crew = (struct crew){.load = load};
    return process_pool_open(&crew->process_pool, load, err);
}

static void *thread_main(void *arg)
{
    struct crew_thread *thread = arg;
    thread->rc = load_serve(thread->load);
    if (thread->rc)
        (void)queue_put(thread->load->queue, (struct token){.slot = FAILED});
    return NULL;
}

static void join_threads(struct crew *crew, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)pthread_join(crew->threads[i].handle, NULL);
}

static int start_threads(struct crew *crew, unsigned loaders, struct err *err)
{
    for (unsigned i = 0; i < loaders; i++) {
        struct crew_thread *thread = &crew->threads[i];
        *thread = (struct crew_thread){.load = crew->load};
        int rc = -pthread_create(&thread->handle, NULL, thread_main, thread);
        if (!rc)
            continue;
        (void)queue_end(crew->load->queue, i);
        join_threads(crew, i);
        (void)err_sys(err, rc, "cannot start thread %u of %u", i + 1, loaders);
        return err ? (err->code = -ENOTSUP) : -ENOTSUP;
    }
    return 0;
}

/* Sleeps until there is something in the queue, or from the process pool. */
static int sleep_for_token(struct crew *crew, struct token *token, struct err *err)
{
    const struct queue *queue = crew->load->queue;
    while (!queue_take(queue, token)) {
        struct pollfd in[2] = {{.fd = queue_ready_fd(queue), .events = POLLIN},
                               {.fd = process_pool_fd(&crew->process_pool), .events = POLLIN}};
        if (poll(in, 2, -1) < 0 && errno != EINTR)
            return err_sys(err, -errno, "cannot wait for loaders");
        if (in[1].revents && !in[0].revents) {
            crew->lost = true;
            return process_pool_lost(&crew->process_pool, err);
        }
    }
    return token->slot == FAILED ? err_set(err, -ENOTSUP, "no memory for a loader, or no CPU") : 0;
}

/* Until PyTorch has nothing more to do: no batch comes behind that. */
static int await_rest(struct crew *crew, struct err *err)
{
    struct token token = {0};
    int rc = 0;
    while (!rc && token.slot != AT_REST)
        rc = sleep_for_token(crew, &token, err);
    return rc;
}

static int begin_torch(struct crew *crew, unsigned loaders, unsigned ahead, bool fresh,
                       uint64_t *since_ns, struct err *err)
{
    unsigned each = (ahead + loaders - 1) / loaders;
    struct token begin = {BEGIN, (each ? each : 1) << 16 | loaders};
    int rc = fresh ? await_rest(crew, err) : 0;
    *since_ns = clock_now_ns();
    if (!rc && write(crew->load->begin_fds[1], &begin, sizeof(begin)) != sizeof(begin))
        rc = err_set(err, -EIO, "cannot give PyTorch its orders");
    return rc;
}

int crew_start(struct crew *crew, enum load_mode mode, unsigned loaders, unsigned ahead,
               uint64_t *since_ns, struct err *err)
{
    bool fresh = false;
    *since_ns = clock_now_ns();
    crew->lost = false;
    crew->mode = mode;
    if (mode == LOAD_THREAD) {
        int rc = start_threads(crew, loaders, err);
        crew->loaders = rc ? 0 : loaders;
        return rc;
    }
    int rc = process_pool_start(&crew->process_pool, mode, loaders, &fresh, err);
    if (rc)
        return rc;
    crew->loaders = loaders;
    return mode == LOAD_PYTORCH ? begin_torch(crew, loaders, ahead, fresh, since_ns, err) : 0;
}

/* What PyTorch was told and died of; nobody else reads it now. */
static void forget_begin(int fd)
{
    struct token token;
    int bytes = 0;
    while (!ioctl(fd, FIONREAD, &bytes) && bytes && read(fd, &token, sizeof(token)) > 0)
        continue;
}

int crew_await(struct crew *crew, struct token *token, struct err *err)
{
    return sleep_for_token(crew, token, err);
}

int crew_stop(struct crew *crew, struct err *err)
{
    struct queue *queue = crew->load->queue;
    int rc = 0;
    if (crew->loaders) {
        rc = queue_end(queue, crew->loaders);
        if (rc)
            (void)err_sys(err, rc, "cannot tell loaders to end");
    }
    if (crew->loaders && crew->mode == LOAD_THREAD)
        join_threads(crew, crew->loaders);
    if (crew->loaders && crew->mode == LOAD_PYTORCH && !rc && !crew->lost)
        rc = await_rest(crew, err);
    if (crew->loaders && crew->mode == LOAD_PYTORCH && crew->lost)
        forget_begin(crew->load->begin_fds[0]);
    if (crew->loaders && crew->mode != LOAD_THREAD) {
        int rc_stop = process_pool_stop(&crew->process_pool, rc ? NULL : err);
        rc = rc ? rc : rc_stop;
    }
    crew->loaders = 0;
    queue_reset(queue);
    return rc;
}

void crew_close(struct crew *crew)
{
    if (!crew->load)
        return;
    if (crew->loaders)
        (void)crew_stop(crew, NULL);
    process_pool_close(&crew->process_pool);
    *crew = (struct crew){0};
}
