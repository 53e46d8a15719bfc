/*
 * An echo server on loopback: one thread serves 1 to 1,000 connections by epoll, by io_uring, or
 * by io_uring whose submissions a thread of the kernel polls for (sqpoll). Also beside a default
 * OpenMP job of as many threads as CPUs. Decides which loop to use, and shows what the polling
 * thread takes from neighbours.
 *
 * The server is a process on the first CPU, the client a thread on the last one, which waits by
 * epoll. Each connection has one message under way.
 *
 * With `tokenise` prompts come, too: each is `prompt` of CPU time, and the next comes after three
 * times that. The loop does this work itself (`loop`), or wakes a thread of another process for it
 * (`thread`). Then there is one point: `connections`, by epoll.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `echo_rate` = messages there and back / s; `echo_p50`,
 * `echo_p99` us from send to receive; the first quarter of a slice does not count. `echo_cpu` us =
 * CPU time of the server's process, with the kernel's polling thread, / messages; `echo_calls` =
 * its system calls / messages. `shared_rate` and so on: the same beside the job, with 100
 * connections. `job_kept` = the job's parallel regions / s beside the server / alone. `prompts` =
 * prompts done / s; without a fifth of those that came, a point has no values.
 * **Source** epoll: level-triggered, a receive and a send for each ready connection, as libevent
 * does. io_uring: Axboe, "Efficient IO with io_uring", 2019; flags as io_uring_setup(2) advises.
 * **Limits** The client takes CPU time, too: where it is slower than the server, `echo_cpu` tells
 * the loops apart. The polling thread runs on any CPU that its cpuset allows, whatever the
 * mask of the process, and polls for 1 s after the last message. No multishot, no registered
 * buffers, no TLS; loopback has no network card.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/process.h"
#include "kernels/cpu/regions.h"

/* Linux 6.0 and 6.1. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

enum loop { EPOLL, URING, SQPOLL, LOOPS };
enum { COUNTS = 5, BUSY_CONNECTIONS = 100, BUSY_SHARES = 2 };
enum { CONNECTIONS_MOST = 4096, EVENTS = 256, FILES_KEPT = 64 };
enum { MESSAGE = 64, REGION_STEPS = 1 << 18, PATIENCE_MS = 10000, PROMPT_SHARE = 3 };

static const uint64_t slice_least_ns = 10000000;
static const double grace_s = 2;
static const char *const loop_names[] = {"all", "epoll", "uring", "sqpoll", NULL};

enum { TOKENISE_NONE, TOKENISE_LOOP, TOKENISE_THREAD };
static const char *const tokenise_names[] = {"none", "loop", "thread", NULL};

struct event_loop_params {
    int64_t connections;
    int loop, tokenise;
    double prompt_s;
};

static const struct opt event_loop_opts[] = {
    OPT_INT("connections", event_loop_params, connections, "1000", 1, CONNECTIONS_MOST, "N",
            "at most; also 1, 10, 100 and 1000 below"),
    OPT_CHOICE("loop", event_loop_params, loop, "all", loop_names, "LOOP", "only this server"),
    OPT_CHOICE("tokenise", event_loop_params, tokenise, "none", tokenise_names, "WHERE",
               "prompts are work of the loop, or of a thread of another process"),
    OPT_SECONDS("prompt", event_loop_params, prompt_s, "20ms", 1e-4, 1, "TIME",
                "CPU time of a prompt; they come after three times that"),
    {.name = NULL},
};

enum { BY_LOOP = 1, BY_CONNECTIONS };
static const struct bench_dim event_loop_dims[] = {
    [BY_LOOP] = {"loop", .labels = loop_names + 1},
    [BY_CONNECTIONS] = {"connections"},
    {.name = NULL},
};

/* SHARED and those that follow are RATE and those that follow, beside the job. */
enum { RATE, P99, CPU, CALLS, P50, SHARED, KEPT = 2 * SHARED, JOB, PROMPTS };
static const struct bench_metric event_loop_metrics[] = {
    [RATE] = {"echo_rate", "requests/s", "higher", .gating = true},
    [P99] = {"echo_p99", "us", "lower"},
    [CPU] = {"echo_cpu", "us", "lower"},
    [CALLS] = {"echo_calls", "1", "lower"},
    [P50] = {"echo_p50", "us", "lower", .hidden = true},
    [SHARED + RATE] = {"shared_rate", "requests/s", "higher"},
    [SHARED + P99] = {"shared_p99", "us", "lower"},
    [SHARED + CPU] = {"shared_cpu", "us", "lower"},
    [SHARED + CALLS] = {"shared_calls", "1", "lower", .hidden = true},
    [SHARED + P50] = {"shared_p50", "us", "lower", .hidden = true},
    [KEPT] = {"job_kept", "ratio", "higher"},
    [JOB] = {"job_rate", "1/s", "higher", .hidden = true},
    [PROMPTS] = {"prompts", "1/s", "higher"},
    {.name = NULL},
};

#define ECHO_FIGURE(of_metric, of_title, of_y, is_log)                                             \
    {                                                                                              \
        .name = (of_metric), .kind = FIGURE_LINES, .metric = (of_metric),                          \
        .title = of_title ", by connections", .how = "One thread, one message under way on each",  \
        .x = {"connections (log scale)", BY_CONNECTIONS, .log = true},                             \
        .y = {of_y, .log = (is_log)}, .series = {                                                  \
            BY_LOOP                                                                                \
        }                                                                                          \
    }

static const struct bench_figure event_loop_figures[] = {
    ECHO_FIGURE("echo_rate", "messages echoed", "messages/s", false),
    ECHO_FIGURE("echo_p99", "p99 of the time to an echo", "time (us, log scale)", true),
    {.name = NULL},
};

struct event_loop {
    struct team team, job_team; /* the client; the first thread of the job, or for prompts */
    unsigned ncpus, npoints;
    struct point {
        enum loop loop;
        unsigned connections; /* 0: the job alone */
        bool busy;            /* beside the job */
    } points[LOOPS * (COUNTS + 1) + 1], now;
    struct bitset server_cpu;
    uint64_t share_ns, begin_ns, end_ns; /* what counts of the slice */
    struct err refused[LOOPS];
    int listener, fds[CONNECTIONS_MOST]; /* the clients' ends; in the server, its own */
    uint64_t sent_ns[CONNECTIONS_MOST];  /* the content of the message under way */
    char buffers[CONNECTIONS_MOST][MESSAGE];
    uint64_t sent, echoes; /* of the client; echoes: those that count */
    struct times late;     /* of echoes */
    int client_rc;
    struct served { /* shared with the server */
        uint64_t messages, calls, cpu_ns;
        int rc;
    } counted, *served;
    struct prompts {                     /* shared with the server */
        _Atomic uint64_t begin_ns, done; /* 0: not begun */
        _Atomic bool over;
    } * prompts;
    int tokenise, prompts_fd;       /* prompts_fd wakes the thread, once a prompt */
    uint64_t prompt_ns, taken;      /* CPU time of a prompt; prompts that have come */
    unsigned open;                  /* connections of the server */
    struct regions_thread *threads; /* of the job */
    uint64_t regions;
};

/* ---- the server, in its process ---- */

/* When the first connection ends, all messages have come back: what follows does not count. */
static void end_connection(struct event_loop *s, int fd)
{
    if (s->open-- == s->now.connections) {
        s->counted.cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - s->counted.cpu_ns;
        *s->served = s->counted;
    }
    (void)close(fd);
}

static void do_prompt(struct event_loop *s)
{
    for (uint64_t end_ns = clock_thread_cpu_ns() + s->prompt_ns; clock_thread_cpu_ns() < end_ns;)
        continue;
    s->prompts->done++;
}

/* At most one in a pass of the loop, so that echoes go on where prompts take longer than expected.
 */
static int take_prompt(struct event_loop *s)
{
    const uint64_t begin_ns = s->tokenise ? s->prompts->begin_ns : 0;
    if (!begin_ns || clock_now_ns() < begin_ns + PROMPT_SHARE * s->prompt_ns * s->taken)
        return 0;
    s->taken++;
    if (s->tokenise == TOKENISE_LOOP)
        do_prompt(s);
    else if (eventfd_write(s->prompts_fd, 1))
        return -errno;
    return 0;
}

static int serve_epoll(struct event_loop *s)
{
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < s->open; i++) {
        event.data.fd = s->fds[i];
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->fds[i], &event))
            return -errno;
    }
    while (s->open) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        s->counted.calls++;
        if (n < 0 && errno != EINTR)
            return -errno;
        int rc = take_prompt(s);
        if (rc)
            return rc;
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            ssize_t got = recv(fd, s->buffers[0], MESSAGE, MSG_WAITALL);
            if (got > 0 && send(fd, s->buffers[0], (size_t)got, MSG_NOSIGNAL) != got)
                return -EIO;
            s->counted.calls += 2;
            s->counted.messages += got > 0;
            if (got <= 0)
                end_connection(s, fd);
        }
    }
    return 0;
}

struct ring {
    int fd;
    unsigned tail, told;
    struct io_uring_params at; /* where all is from `base` */
    char *base;
    struct io_uring_sqe *sqes;
};

static unsigned *ring_word(const struct ring *ring, unsigned offset)
{
    return (unsigned *)(ring->base + offset);
}

/* Kernels before 6.1 do not know all flags. -errno, or the descriptor. */
static int ring_setup(struct io_uring_params *params, enum loop loop, unsigned entries)
{
    const unsigned flags[LOOPS][2] = {
        [URING] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0},
        [SQPOLL] = {IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_SQPOLL}};
    int fd = -1;
    for (unsigned i = 0; i < 2 && fd < 0; i++) {
        *params = (struct io_uring_params){.flags = flags[loop][i]};
        fd = (int)syscall(SYS_io_uring_setup, entries, params);
    }
    return fd < 0 ? -errno : fd;
}

static int ring_open(struct ring *ring, enum loop loop, unsigned entries)
{
    struct io_uring_params *at = &ring->at;
    const int prot = PROT_READ | PROT_WRITE;
    ring->fd = ring_setup(at, loop, entries);
    if (ring->fd < 0)
        return ring->fd;
    size_t sq = at->sq_off.array + at->sq_entries * sizeof(unsigned);
    size_t cq = at->cq_off.cqes + at->cq_entries * sizeof(struct io_uring_cqe);
    ring->base = mmap(NULL, sq > cq ? sq : cq, prot, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->sqes = mmap(NULL, at->sq_entries * sizeof(*ring->sqes), prot, MAP_SHARED, ring->fd,
                      IORING_OFF_SQES);
    if (ring->base == MAP_FAILED || (void *)ring->sqes == MAP_FAILED)
        return -errno;
    for (unsigned i = 0; i < at->sq_entries; i++)
        ring_word(ring, at->sq_off.array)[i] = i;
    return 0;
}

/* A connection has one entry at a time, so there is always room. Even numbers are receives. */
static void ring_add(struct event_loop *s, struct ring *ring, unsigned which, unsigned bytes)
{
    struct io_uring_sqe *sqe = &ring->sqes[ring->tail++ & (ring->at.sq_entries - 1)];
    memset(sqe, 0, sizeof(*sqe));
    sqe->opcode = bytes ? IORING_OP_SEND : IORING_OP_RECV;
    sqe->fd = s->fds[which];
    sqe->addr = (uint64_t)(uintptr_t)s->buffers[which];
    sqe->len = bytes ? bytes : MESSAGE;
    sqe->msg_flags = bytes ? MSG_NOSIGNAL : MSG_WAITALL;
    sqe->user_data = 2 * (uint64_t)which + (bytes > 0);
}

/* Submits what was added, and waits unless something is done. */
static int ring_enter(struct event_loop *s, struct ring *ring)
{
    unsigned flags = 0;
    __atomic_store_n(ring_word(ring, ring->at.sq_off.tail), ring->tail, __ATOMIC_SEQ_CST);
    unsigned seen = *ring_word(ring, ring->at.cq_off.head);
    unsigned wait =
        seen == __atomic_load_n(ring_word(ring, ring->at.cq_off.tail), __ATOMIC_SEQ_CST);
    if (__atomic_load_n(ring_word(ring, ring->at.sq_off.flags), __ATOMIC_SEQ_CST) &
        IORING_SQ_NEED_WAKEUP)
        flags |= IORING_ENTER_SQ_WAKEUP;
    if (wait || s->now.loop == URING)
        flags |= IORING_ENTER_GETEVENTS;
    if (!flags)
        return 0;
    s->counted.calls++;
    long told =
        syscall(SYS_io_uring_enter, ring->fd, ring->tail - ring->told, wait, flags, NULL, 0);
    if (told < 0)
        return errno == EINTR ? 0 : -errno;
    ring->told += (unsigned)told;
    return 0;
}

static int serve_ring(struct event_loop *s)
{
    struct ring ring = {.fd = -1};
    unsigned head = 0;
    int rc = ring_open(&ring, s->now.loop, s->open);
    for (unsigned i = 0; i < s->open && !rc; i++)
        ring_add(s, &ring, i, 0);
    while (s->open && !rc) {
        rc = ring_enter(s, &ring);
        while (!rc &&
               head != __atomic_load_n(ring_word(&ring, ring.at.cq_off.tail), __ATOMIC_ACQUIRE)) {
            const struct io_uring_cqe *cqes = (void *)ring_word(&ring, ring.at.cq_off.cqes);
            const struct io_uring_cqe *cqe = &cqes[head++ & (ring.at.cq_entries - 1)];
            unsigned which = (unsigned)(cqe->user_data / 2);
            bool sent = cqe->user_data % 2;
            s->counted.messages += sent;
            if (sent && cqe->res <= 0)
                rc = cqe->res ? cqe->res : -EIO;
            else if (cqe->res <= 0)
                end_connection(s, s->fds[which]);
            else
                ring_add(s, &ring, which, sent ? 0 : (unsigned)cqe->res);
        }
        __atomic_store_n(ring_word(&ring, ring.at.cq_off.head), head, __ATOMIC_RELEASE);
    }
    return rc;
}

static int serve(void *arg)
{
    struct event_loop *s = arg;
    int rc = affinity_set(0, &s->server_cpu);
    for (unsigned i = 0; i < s->now.connections && !rc; i++) {
        s->fds[i] = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        rc = s->fds[i] < 0 ? -errno : 0;
    }
    s->open = s->now.connections;
    s->counted = (struct served){.cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID)};
    if (!rc)
        rc = s->now.loop == EPOLL ? serve_epoll(s) : serve_ring(s);
    s->served->rc = rc;
    return 0;
}

/* ---- the client ---- */

static int send_next(struct event_loop *s, unsigned which, uint64_t now_ns)
{
    const uint64_t message[MESSAGE / sizeof(uint64_t)] = {now_ns};
    s->sent_ns[which] = now_ns;
    s->sent++;
    return send(s->fds[which], message, MESSAGE, MSG_NOSIGNAL) == MESSAGE ? 0 : -EIO;
}

/* Receives an echo, which holds the time when it was sent. */
static int receive(struct event_loop *s, unsigned which, uint64_t *now_ns)
{
    uint64_t message[MESSAGE / sizeof(uint64_t)];
    ssize_t n = recv(s->fds[which], message, MESSAGE, MSG_WAITALL);
    *now_ns = clock_now_ns();
    if (n != MESSAGE)
        return n < 0 ? -errno : -ECONNRESET;
    if (message[0] != s->sent_ns[which])
        return -EBADMSG;
    if (*now_ns >= s->begin_ns && *now_ns < s->end_ns) {
        s->echoes++;
        times_add(&s->late, *now_ns - message[0]);
    }
    return 0;
}

static int ask(struct event_loop *s, int epoll)
{
    struct epoll_event events[EVENTS] = {{.events = EPOLLIN}};
    unsigned flying = 0;
    uint64_t now_ns;
    int rc = 0;
    for (; flying < s->now.connections && !rc; flying++) {
        events[0].data.u32 = flying;
        rc = epoll_ctl(epoll, EPOLL_CTL_ADD, s->fds[flying], events) ? -errno : 0;
        rc = rc ? rc : send_next(s, flying, clock_now_ns());
    }
    while (flying && !rc) {
        int n = epoll_wait(epoll, events, EVENTS, PATIENCE_MS);
        rc = n > 0 || (n < 0 && errno == EINTR) ? 0 : n ? -errno : -ETIMEDOUT;
        for (int i = 0; i < n && !rc; i++) {
            rc = receive(s, events[i].data.u32, &now_ns);
            if (!rc && now_ns < s->end_ns)
                rc = send_next(s, events[i].data.u32, now_ns);
            else
                flying--;
        }
    }
    return rc;
}

static void run_client(void *arg)
{
    struct event_loop *s = arg;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    s->client_rc = epoll < 0 ? -errno : ask(s, epoll);
    (void)close(epoll);
}

/* ---- a point ---- */

static void run_job(void *arg, unsigned rank, unsigned n)
{
    struct event_loop *s = arg;
    (void)rank;
    (void)n;
    s->regions = 0;
    for (uint64_t now_ns = 0; now_ns < s->end_ns; s->regions += now_ns >= s->begin_ns) {
        (void)regions_run(s->threads, s->ncpus, (uint64_t)s->ncpus * REGION_STEPS, NULL, NULL);
        now_ns = clock_now_ns();
    }
}

static void run_prompts(void *arg, unsigned rank, unsigned n)
{
    struct event_loop *s = arg;
    eventfd_t one;
    (void)rank;
    (void)n;
    while (!eventfd_read(s->prompts_fd, &one) && !s->prompts->over)
        do_prompt(s);
}

/* Listens on loopback, on a port that the system chooses, until the server has its connections. */
static int connect_all(struct event_loop *s, struct process *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *to = (struct sockaddr *)&address;
    socklen_t size = sizeof(address);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = bind(s->listener, to, size) || listen(s->listener, CONNECTIONS_MOST) ||
                     getsockname(s->listener, to, &size)
                 ? -errno
                 : process_start(server, false, serve, s);
    (void)close(s->listener);
    for (unsigned i = 0; i < s->now.connections; i++) {
        s->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!rc && connect(s->fds[i], to, size))
            rc = -errno;
    }
    return rc;
}

/* Before the server starts. */
static int open_prompts(struct event_loop *s)
{
    s->prompts->done = s->prompts->begin_ns = 0;
    s->prompts->over = false;
    s->prompts_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    return s->prompts_fd < 0 ? -errno : 0;
}

static void end_prompts(struct event_loop *s)
{
    s->prompts->over = true;
    (void)eventfd_write(s->prompts_fd, 1);
}

static int run_point(struct event_loop *s)
{
    struct process server = {0};
    uint64_t slice_ns = s->share_ns * (s->now.busy ? BUSY_SHARES : 1);
    s->sent = s->echoes = 0;
    s->late = (struct times){0};
    *s->served = (struct served){0};
    team_job *job = s->now.busy ? run_job : s->tokenise == TOKENISE_THREAD ? run_prompts : NULL;
    int status = 0, rc = open_prompts(s);
    if (rc)
        return rc; /* no connection is open yet */
    rc = s->now.connections ? connect_all(s, &server) : 0;
    s->begin_ns = clock_now_ns() + slice_ns / 4;
    s->end_ns = s->begin_ns + slice_ns / 4 * 3;
    s->prompts->begin_ns = s->begin_ns;
    if (job && !rc)
        team_begin(&s->job_team, NULL, 1, job, s);
    if (!rc)
        team_call(&s->team, 0, run_client, s);
    end_prompts(s);
    if (job && !rc)
        team_end(&s->job_team);
    (void)close(s->prompts_fd);
    for (unsigned i = 0; i < s->now.connections; i++)
        (void)close(s->fds[i]);
    if (server.pid && (!process_end(&server, grace_s, &status) || status))
        rc = rc ? rc : -ECHILD;
    return s->served->rc ? s->served->rc : rc ? rc : s->client_rc;
}

/* ---- the scan ---- */

static void list_points(struct event_loop *s, const struct event_loop_params *params)
{
    unsigned most = (unsigned)params->connections;
    unsigned shared = most < BUSY_CONNECTIONS ? most : BUSY_CONNECTIONS;
    if (s->tokenise) {
        s->points[s->npoints++] = (struct point){EPOLL, most, false};
        return;
    }
    for (enum loop loop = EPOLL; loop < LOOPS; loop++)
        if (points_asked(params->loop, loop)) {
            for (unsigned n = 1; n < most; n *= 10)
                s->points[s->npoints++] = (struct point){loop, n, false};
            s->points[s->npoints++] = (struct point){loop, most, false};
            s->points[s->npoints++] = (struct point){loop, shared, true};
        }
    s->points[s->npoints++] = (struct point){.busy = true};
}

/* Why io_uring is refused, and what would allow it. */
static void check_ring(enum loop loop, struct err *why)
{
    struct io_uring_params params;
    double disabled = proc_read_number("", "/proc/sys/kernel/io_uring_disabled");
    int fd = ring_setup(&params, loop, 1);
    if (fd >= 0)
        (void)close(fd);
    else if (fd == -EPERM)
        (void)err_set(why, -ENOTSUP,
                      disabled > 0 ? "kernel.io_uring_disabled forbids io_uring: 'sysctl "
                                     "kernel.io_uring_disabled=0' allows it"
                                   : "a seccomp filter forbids io_uring: in Docker, "
                                     "'--security-opt seccomp=unconfined' allows it");
    else
        (void)err_set(why, -ENOTSUP, "no io_uring (%s): Linux 5.11 and later have it",
                      strerror(-fd));
}

static int event_loop_setup(struct bench_ctx *ctx)
{
    const struct event_loop_params *params = ctx->params;
    const struct bench_machine *machine = ctx->machine;
    struct event_loop *s = ctx->state;
    unsigned ncpus = s->ncpus = machine->ncpus;
    bitset_set(&s->server_cpu, machine->cpus[0].os_cpu);
    s->tokenise = params->tokenise;
    s->prompt_ns = (uint64_t)(1e9 * params->prompt_s);
    list_points(s, params);
    const unsigned busy = s->tokenise ? 0 : LOOPS;
    s->share_ns = points_share_ns(ctx, s->npoints + (BUSY_SHARES - 1) * busy, slice_least_ns);
    for (enum loop loop = URING; loop < LOOPS; loop++)
        check_ring(loop, &s->refused[loop]);
    s->threads = bench_array(ctx, ncpus, sizeof(*s->threads));
    s->served = mmap(NULL, sizeof(*s->served) + sizeof(*s->prompts), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s->prompts = (void *)(s->served + 1);
    if (!s->threads || s->served == MAP_FAILED)
        return err_set(ctx->err, -ENOMEM, "no memory for what the job and the server count");
    int rc = team_open(&s->team, ctx, &machine->cpus[ncpus - 1].os_cpu, 1);
    return rc ? rc : team_open_unpinned(&s->job_team, ctx, 1);
}

static struct dims dims_of(const struct point *point)
{
    const struct dims at = DIMS({BY_LOOP, point->loop});
    return point->busy ? at : dims_with(at, BY_CONNECTIONS, point->connections);
}

/* -ENOTSUP if as many files may not be open, even after the soft limit is raised. */
static int allow_files(unsigned connections, struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= connections + FILES_KEPT)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max >= connections + FILES_KEPT && !setrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    return err_set(err, -ENOTSUP, "%u connections need %u open files: 'ulimit -Hn' is %llu",
                   connections, connections + FILES_KEPT, (unsigned long long)limit.rlim_max);
}

static int emit_echoes(struct bench_ctx *ctx, struct dims at)
{
    const struct event_loop *s = ctx->state;
    const double messages = (double)s->served->messages;
    const double slice_s = (double)(s->end_ns - s->begin_ns) / 1e9;
    if (s->sent != s->served->messages)
        return err_set(ctx->err, -EBADMSG, "the server echoed another number of messages");
    const unsigned first = s->now.busy ? SHARED : 0;
    bench_emit(ctx, first + RATE, (double)s->echoes / slice_s, at);
    bench_emit(ctx, first + CPU, (double)s->served->cpu_ns / messages / 1e3, at);
    bench_emit(ctx, first + CALLS, (double)s->served->calls / messages, at);
    if (s->tokenise)
        bench_emit(ctx, PROMPTS, (double)s->prompts->done / slice_s, at);
    bench_emit(ctx, first + P50, times_percentile(&s->late, 0.5) / 1e3, at);
    bench_emit(ctx, first + P99, times_percentile(&s->late, 0.99) / 1e3, at);
    return 0;
}

/* A loop that does less work beside its echoes is no faster. */
static bool is_behind(const struct event_loop *s)
{
    double came = (double)(s->end_ns - s->begin_ns) / (double)(PROMPT_SHARE * s->prompt_ns);
    return s->tokenise && (double)s->prompts->done < 0.8 * floor(came);
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct event_loop *s = ctx->state;
    struct err absent = {0};
    s->now = s->points[which];
    const struct dims at = s->now.connections ? dims_of(&s->now) : NO_DIMS;
    (void)allow_files(s->now.connections, &absent);
    if (s->now.connections && s->refused[s->now.loop].code)
        absent = s->refused[s->now.loop];
    int rc = absent.code ? 0 : run_point(s);
    if (rc)
        (void)err_sys(&absent, rc, "the echo server or its client failed");
    else if (!absent.code && is_behind(s))
        (void)err_set(&absent, -ENOTSUP,
                      "prompts came faster than they were done: other programs use the CPUs");
    if (bench_emit_absent(ctx, s->now.busy ? SHARED + RATE : RATE, &absent, at))
        return rc == -EBADMSG ? err_set(ctx->err, rc, "an echo was not what had been sent") : 0;
    if (s->now.busy)
        bench_emit(ctx, JOB, (double)s->regions / (double)(s->end_ns - s->begin_ns) * 1e9, at);
    return s->now.connections ? emit_echoes(ctx, at) : 0;
}

static void compare_job(struct bench_ctx *ctx, size_t which)
{
    const struct event_loop *s = ctx->state;
    const struct dims at = dims_of(&s->points[which]);
    if (s->points[which].busy && s->points[which].connections)
        bench_emit(ctx, KEPT, points_value(ctx, JOB, at) / points_value(ctx, JOB, NO_DIMS), at);
}

static int event_loop_scan(struct bench_ctx *ctx)
{
    const struct event_loop *s = ctx->state;
    return points_run(ctx, s->npoints, measure_point, compare_job);
}

static void event_loop_teardown(struct bench_ctx *ctx)
{
    struct event_loop *s = ctx->state;
    if (s->served && s->served != MAP_FAILED)
        (void)munmap(s->served, sizeof(*s->served) + sizeof(*s->prompts));
}

const struct bench bench_event_loop = {
    .name = "event_loop",
    .summary = "an echo server by epoll, io_uring and polled io_uring, alone and beside OpenMP",
    .opts = event_loop_opts,
    .params_size = sizeof(struct event_loop_params),
    .metrics = event_loop_metrics,
    .dims = event_loop_dims,
    .figures = event_loop_figures,
    .state_size = sizeof(struct event_loop),
    .setup = event_loop_setup,
    .scan = event_loop_scan,
    .teardown = event_loop_teardown,
};
