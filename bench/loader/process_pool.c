#include "bench/loader/process_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

enum { STOP, START };
struct order {
    uint32_t type, mode, loaders;
};

enum { STARTED, STARTED_FRESH, REFUSED, STOPPED, LOST };
struct message {
    uint32_t type;
    int32_t code; /* REFUSED: -errno; LOST: status as of waitpid */
};

/* How long a loader may take to finish its current batch. */
static const uint64_t end_limit_ns = 10000000000ull;

enum { POLL_MS = 20, PYTORCH_CHILD = LOADERS_MOST, CHILDREN = LOADERS_MOST + 1, NUMBER_MAX = 24 };

/* State of the process that starts loaders. */
struct starter {
    const struct load *load;
    int fd, worker_fd; /* both ends of the socket pair */
    struct order order;
    bool active;
    struct process children[CHILDREN];
};

static bool is_python(enum load_mode mode)
{
    return mode >= LOAD_PYTHON_PROCESS;
}

/* Several loaders may share one process. */
static unsigned processes_of(const struct order *order)
{
    return order->mode == LOAD_PROCESS || order->mode == LOAD_PYTHON_PROCESS ? order->loaders : 1;
}

static bool keep_open(int fd)
{
    return fcntl(fd, F_SETFD, 0) == 0;
}

static const char *format_number(char text[NUMBER_MAX], long long value)
{
    (void)snprintf(text, NUMBER_MAX, "%lld", value);
    return text;
}

/* Becomes an interpreter; returns an exit code if that fails. */
static int become_python(const struct load *load, const struct order *order)
{
    const struct queue *queue = load->queue;
    const struct prep_params *prep = &load->batches->prep;
    bool torch = order->mode == LOAD_PYTORCH, lock_free = order->mode == LOAD_PYTHON_FREE;
    const struct python *python = lock_free ? &load->free_python : &load->python;
    const long long numbers[] = {
        order->mode == LOAD_PYTHON_PROCESS ? 1 : order->loaders,
        queue->memory_fd,
        queue->free_fds[0],
        queue->ready_fds[1],
        load->begin_fds[0],
        (long long)prep->rows,
        (long long)prep->cols,
        load->python_rows,
    };
    const long long offsets[] = {
        (long long)queue_offset(queue, queue_source(queue, 0)),
        (long long)queue_offset(queue, queue_slot(queue, 0)),
        (long long)(queue_slot(queue, 0) - queue_source(queue, QUEUE_SOURCES - 1)),
    };
    enum { NUMBERS = 8, OFFSETS = 3, WORDS = 8 + NUMBERS + 1 + OFFSETS };
    char text[NUMBERS + OFFSETS][NUMBER_MAX], alpha[NUMBER_MAX];
    const char *words[WORDS] = {python->path};
    size_t n = 1;
    if (!torch) {
        words[n++] = "-IS"; /* only the standard library; ignores the environment */
        if (!lock_free && !python->has_lock)
            words[n++] = "-Xgil=1";
    }
    words[n++] = "-c";
    words[n++] = loader_batches_py;
    words[n++] = torch ? "pytorch" : lock_free ? "free" : "loops";
    for (size_t i = 0; i < NUMBERS; i++)
        words[n++] = format_number(text[i], numbers[i]);
    (void)snprintf(alpha, sizeof(alpha), "%.9g", (double)prep->alpha);
    words[n++] = alpha;
    for (size_t i = 0; i < OFFSETS; i++)
        words[n++] = format_number(text[NUMBERS + i], offsets[i]);
    if (!keep_open(queue->memory_fd) || !keep_open(queue->free_fds[0]) ||
        !keep_open(queue->ready_fds[1]) || (torch && !keep_open(load->begin_fds[0])))
        return 1;
    if (load_bind(load->cpus))
        return 1;
    (void)execv(python->path, (char *const *)words);
    return 1;
}

/* Runs in a new loader process, which does not need the socket. */
static int child_main(void *arg)
{
    const struct starter *starter = arg;
    (void)close(starter->fd);
    if (is_python((enum load_mode)starter->order.mode))
        return become_python(starter->load, &starter->order);
    return load_serve(starter->load) ? 1 : 0;
}

static void send_message(const struct starter *starter, uint32_t type, int code)
{
    struct message message = {type, code};
    while (send(starter->fd, &message, sizeof(message), MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

static void kill_children(struct process *children, unsigned n)
{
    int status;
    for (unsigned i = 0; i < n; i++)
        (void)process_signal_group(&children[i], SIGKILL);
    for (unsigned i = 0; i < n; i++)
        process_wait(&children[i], &status);
}

static void start(struct starter *starter)
{
    bool torch = starter->order.mode == LOAD_PYTORCH, fresh = false;
    struct process *first = &starter->children[torch ? PYTORCH_CHILD : 0];
    unsigned n = processes_of(&starter->order), started = 0;
    int rc = 0;
    for (; started < n && !rc; started += !rc)
        if (!torch || first->pid == 0) {
            rc = process_start(&first[started], is_python((enum load_mode)starter->order.mode),
                               child_main, starter);
            fresh = true;
        }
    if (rc) {
        kill_children(first, started);
        send_message(starter, REFUSED, rc);
        return;
    }
    starter->active = true;
    send_message(starter, fresh ? STARTED_FRESH : STARTED, 0);
}

/* Sleeps until an order comes or a child ends; for POLL_MS at most if a child has no pidfd. */
static void await_event(const struct starter *starter)
{
    struct pollfd ends[1 + CHILDREN] = {{.fd = starter->fd, .events = POLLIN}};
    nfds_t n = 1;
    bool all = true;
    for (unsigned i = 0; i < CHILDREN; i++)
        if (starter->children[i].pid > 0) {
            ends[n++] = (struct pollfd){.fd = starter->children[i].pidfd, .events = POLLIN};
            all = all && starter->children[i].pidfd >= 0;
        }
    (void)poll(ends, n, all ? -1 : POLL_MS);
}

/* Reaps children and returns how many loaders are left, without PyTorch's process. If `reports`,
 * reports failed children as lost; a child with status 0 had no more work. */
static unsigned reap_children(struct starter *starter, bool reports)
{
    unsigned left = 0;
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status = 0;
        if (starter->children[i].pid == 0)
            continue;
        left += i != PYTORCH_CHILD;
        if (!process_ended(&starter->children[i], &status))
            continue;
        left -= i != PYTORCH_CHILD;
        bool is_current = (i == PYTORCH_CHILD) == (starter->order.mode == LOAD_PYTORCH);
        if (reports && starter->active && is_current && status != 0)
            send_message(starter, LOST, status);
    }
    return left;
}

static void stop(struct starter *starter)
{
    uint64_t end_ns = clock_now_ns() + end_limit_ns;
    while (reap_children(starter, false) && clock_now_ns() < end_ns) {
        struct timespec pause = {.tv_nsec = 1000000};
        (void)nanosleep(&pause, NULL);
    }
    kill_children(starter->children, LOADERS_MOST);
    starter->active = false;
    send_message(starter, STOPPED, 0);
}

/* False: the worker has no more orders. */
static bool read_order(struct starter *starter)
{
    struct pollfd in = {.fd = starter->fd, .events = POLLIN};
    struct order order;
    if (poll(&in, 1, 0) <= 0)
        return true;
    ssize_t got = recv(starter->fd, &order, sizeof(order), 0);
    if (got != sizeof(order))
        return got < 0 && errno == EINTR;
    if (order.type == START) {
        starter->order = order;
        start(starter);
    } else {
        stop(starter);
    }
    return true;
}

static int process_pool_main(void *arg)
{
    struct starter *starter = arg;
    const struct queue *queue = starter->load->queue;
    (void)prctl(PR_SET_NAME, "contend-loaders");
    (void)close(starter->worker_fd);
    (void)close(starter->load->begin_fds[1]);
    (void)close(queue->free_fds[1]);
    (void)close(queue->ready_fds[0]);
    if (load_bind(starter->load->start_cpus))
        return 1;
    while (read_order(starter)) {
        (void)reap_children(starter, true);
        await_event(starter);
    }
    kill_children(starter->children, CHILDREN);
    return 0;
}

static int process_pool_open(struct process_pool *process_pool, const struct load *load,
                             struct err *err)
{
    int fds[2];
    *process_pool = (struct process_pool){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
        return err_sys(err, -errno, "cannot make a pair of sockets");
    struct starter starter = {.load = load, .fd = fds[1], .worker_fd = fds[0]};
    int rc = process_start(&process_pool->process, false, process_pool_main, &starter);
    (void)close(fds[1]);
    process_pool->fd = fds[0];
    if (!rc)
        return 0;
    (void)close(fds[0]);
    return err_sys(err, rc, "cannot start the process that starts loaders");
}

static int set_pool_lost(struct err *err)
{
    return err_set(err, -EIO, "the process that starts loaders is gone");
}

static int send_order(struct process_pool *process_pool, struct order order, struct err *err)
{
    if (!process_pool->process.pid)
        return set_pool_lost(err);
    return send(process_pool->fd, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order)
               ? 0
               : set_pool_lost(err);
}

static bool receive(struct process_pool *process_pool, struct message *message)
{
    ssize_t got;
    do
        got = recv(process_pool->fd, message, sizeof(*message), 0);
    while (got < 0 && errno == EINTR);
    return got == sizeof(*message);
}

/*
 * Returns when the processes exist; they may not work yet. *fresh: PyTorch's process is new.
 * -ENOTSUP if the system refuses to start them; -EIO if the process that starts loaders is gone.
 */
static int process_pool_start(struct process_pool *process_pool, enum load_mode mode,
                              unsigned loaders, bool *fresh, struct err *err)
{
    struct message message;
    int rc = send_order(process_pool, (struct order){START, mode, loaders}, err);
    if (rc)
        return rc;
    if (!receive(process_pool, &message))
        return set_pool_lost(err);
    *fresh = message.type == STARTED_FRESH;
    if (message.type != REFUSED)
        return 0;
    (void)err_sys(err, message.code, "cannot start %u loaders", loaders);
    return err ? (err->code = -ENOTSUP) : -ENOTSUP;
}

/* Call it after queue_end: waits for all loaders, and kills those that do not end. */
static int process_pool_stop(struct process_pool *process_pool, struct err *err)
{
    struct message message = {.type = LOST};
    int rc = send_order(process_pool, (struct order){.type = STOP}, err);
    while (!rc && message.type != STOPPED) /* skips a LOST that came before */
        if (!receive(process_pool, &message))
            rc = set_pool_lost(err);
    return rc;
}

static int process_pool_fd(const struct process_pool *process_pool)
{
    return process_pool->fd;
}

/* Reads how a loader ended: -EIO, or -ENOTSUP if the loader cannot work here. */
static int process_pool_lost(struct process_pool *process_pool, struct err *err)
{
    struct message message;
    if (!receive(process_pool, &message))
        return set_pool_lost(err);
    int code = WIFEXITED(message.code) ? WEXITSTATUS(message.code) : -1;
    if (code == PYTHON_NO_TORCH)
        return err_set(err, -ENOTSUP, "PyTorch cannot be imported");
    if (code == PYTHON_HAS_LOCK)
        return err_set(err, -ENOTSUP, "this Python has the interpreter's lock after all");
    if (WIFSIGNALED(message.code))
        return err_set(err, -EIO, "a loader was ended by signal %d", WTERMSIG(message.code));
    return err_set(err, -EIO, "a loader ended by itself, with code %d", code);
}

static void process_pool_close(struct process_pool *process_pool)
{
    int status;
    if (process_pool->process.pid) {
        (void)close(process_pool->fd);
        process_wait(&process_pool->process, &status);
    }
    *process_pool = (struct process_pool){0};
}

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
