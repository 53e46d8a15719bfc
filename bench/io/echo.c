#include "bench/io/echo.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/io/place.h"
#include "bench/io/ring.h"
#include "harness/lib/sys/clock.h"

enum { EVENTS = 256, TIMED_EACH = 8, DESCRIPTORS_KEPT = 64, HEAD = sizeof(uint64_t) };

/* Where nothing comes back for so long, something has gone wrong. */
enum { PATIENCE_MS = 10000 };

/* ---- connections ---- */

/* A listener on loopback, on a port that the system chooses. */
static int listen_here(struct sockaddr_in *address, int backlog)
{
    socklen_t size = sizeof(*address);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)address, size) || listen(fd, backlog) ||
                    getsockname(fd, (struct sockaddr *)address, &size))) {
        int rc = -errno;
        (void)close(fd);
        return rc;
    }
    return fd < 0 ? -errno : fd;
}

static int connect_pair(int listener, const struct sockaddr_in *address, int fds[2])
{
    const int one = 1;
    int rc = 0;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fds[0] < 0 || connect(fds[0], (const struct sockaddr *)address, sizeof(*address)))
        rc = -errno;
    fds[1] = rc ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (!rc && fds[1] < 0)
        rc = -errno;
    for (int i = 0; i < 2 && !rc; i++)
        if (setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
            rc = -errno;
    for (int i = 0; i < 2 && rc; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return rc;
}

static int connect_all(struct echo *echo, enum echo_via via, struct err *err)
{
    struct sockaddr_in address;
    int listener = via == ECHO_TCP ? listen_here(&address, 16) : -1;
    int rc = via == ECHO_TCP && listener < 0 ? listener : 0;
    for (unsigned i = 0; i < echo->n && !rc; i++) {
        int fds[2] = {-1, -1};
        if (via == ECHO_TCP)
            rc = connect_pair(listener, &address, fds);
        else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
            rc = -errno;
        if (!rc) {
            echo->servers[i].fd = fds[0];
            echo->clients[i].fd = fds[1];
        }
    }
    if (listener >= 0)
        (void)close(listener);
    if (!rc)
        return 0;
    (void)err_sys(err, rc, "no %u connections over %s", echo->n,
                  via == ECHO_TCP ? "loopback" : "socketpairs");
    return err->code = -ENOTSUP;
}

static struct echo_end *make_ends(unsigned n, size_t message_bytes)
{
    struct echo_end *ends = calloc(n, sizeof(*ends));
    bool failed = !ends;
    for (unsigned i = 0; i < n && ends; i++) {
        ends[i].fd = -1;
        ends[i].message = calloc(1, message_bytes);
        failed = failed || !ends[i].message;
    }
    if (!failed)
        return ends;
    for (unsigned i = 0; i < n && ends; i++)
        free(ends[i].message);
    free(ends);
    return NULL;
}

int echo_open(struct echo *echo, enum echo_how how, enum echo_via via, unsigned connections,
              size_t message_bytes, struct err *err)
{
    *echo = (struct echo){.how = how, .n = connections, .message_bytes = message_bytes, .bell = -1};
    int rc = how == ECHO_URING ? ring_check(0, err) : 0;
    if (rc)
        return rc;
    uint64_t most = place_allow_descriptors();
    if (2 * connections + DESCRIPTORS_KEPT > most)
        return err_set(err, -ENOTSUP,
                       "%u connections have more descriptors than may be open (ulimit -n: %llu)",
                       connections, (unsigned long long)most);
    echo->servers = make_ends(connections, message_bytes);
    echo->clients = make_ends(connections, message_bytes);
    rc = stamps_open(&echo->late_us);
    echo->bell = eventfd(0, EFD_CLOEXEC);
    if (!echo->servers || !echo->clients || rc)
        return err_set(err, -ENOMEM, "cannot allocate %u connections", connections);
    if (echo->bell < 0)
        return err_sys(err, -errno, "cannot make an eventfd");
    return connect_all(echo, via, err);
}

static void close_ends(struct echo_end *ends, unsigned n)
{
    for (unsigned i = 0; ends && i < n; i++) {
        if (ends[i].fd >= 0)
            (void)close(ends[i].fd);
        free(ends[i].message);
    }
    free(ends);
}

void echo_close(struct echo *echo)
{
    close_ends(echo->servers, echo->n);
    close_ends(echo->clients, echo->n);
    if (echo->servers && echo->bell >= 0)
        (void)close(echo->bell);
    stamps_close(&echo->late_us);
    *echo = (struct echo){.n = 0};
}

/* ---- the client ---- */

/* Each message says its number and its connection all over. */
static void write_message(const struct echo *echo, struct echo_end *end, unsigned which)
{
    uint64_t word = end->sent << 20 | which;
    for (size_t at = 0; at + HEAD <= echo->message_bytes; at += HEAD)
        memcpy(end->message + at, &word, HEAD);
}

static bool is_right(const struct echo *echo, const struct echo_end *end, unsigned which,
                     const char *got)
{
    uint64_t word = end->sent << 20 | which, there;
    size_t last = echo->message_bytes / HEAD * HEAD - HEAD;
    memcpy(&there, got, HEAD);
    bool right = there == word;
    memcpy(&there, got + last, HEAD);
    return right && there == word;
}

static int send_next(struct echo *echo, unsigned which)
{
    struct echo_end *end = &echo->clients[which];
    end->sent++;
    write_message(echo, end, which);
    end->sent_ns = end->sent % TIMED_EACH == 0 ? clock_now_ns() : 0;
    ssize_t n = send(end->fd, end->message, echo->message_bytes, MSG_NOSIGNAL);
    return n == (ssize_t)echo->message_bytes ? 0 : n < 0 ? -errno : -EIO;
}

static int receive(struct echo *echo, unsigned which, char *buffer)
{
    struct echo_end *end = &echo->clients[which];
    ssize_t n = recv(end->fd, buffer, echo->message_bytes, MSG_WAITALL);
    if (n != (ssize_t)echo->message_bytes)
        return n < 0 ? -errno : -EIO;
    if (end->sent_ns)
        stamps_add(&echo->late_us, (double)(clock_now_ns() - end->sent_ns) / 1e3);
    echo->wrong += !is_right(echo, end, which, buffer);
    return 0;
}

/* Sends on each, and again where an echo has come, until the time is over and all are back. */
static int ask(struct echo *echo, int epoll, uint64_t ns, char *buffer)
{
    struct epoll_event events[EVENTS];
    uint64_t start_ns = clock_now_ns(), end_ns = start_ns + ns, now_ns = start_ns;
    unsigned flying = 0;
    int rc = 0;
    for (; flying < echo->n && !rc; flying++)
        rc = send_next(echo, flying);
    while (flying && !rc) {
        int n = epoll_wait(epoll, events, EVENTS, PATIENCE_MS);
        rc = n > 0 || (n < 0 && errno == EINTR) ? 0 : n < 0 ? -errno : -ETIMEDOUT;
        for (int i = 0; i < n && !rc; i++) {
            unsigned which = events[i].data.u32;
            rc = receive(echo, which, buffer);
            echo->echoes += now_ns < end_ns;
            if (!rc && now_ns < end_ns)
                rc = send_next(echo, which);
            else
                flying--;
        }
        if (now_ns < end_ns) {
            now_ns = clock_now_ns();
            echo->elapsed_ns = now_ns - start_ns;
        }
    }
    return rc;
}

void echo_ask(struct echo *echo, uint64_t ns)
{
    const uint64_t one = 1;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    char *buffer = malloc(echo->message_bytes);
    int rc = epoll < 0 ? -errno : buffer ? 0 : -ENOMEM;
    for (unsigned i = 0; i < echo->n && !rc; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, echo->clients[i].fd, &event))
            rc = -errno;
    }
    if (!rc)
        rc = ask(echo, epoll, ns, buffer);
    if (rc)
        (void)err_sys(&echo->client_err, rc, "the client of %u connections", echo->n);
    free(buffer);
    if (epoll >= 0)
        (void)close(epoll);
    atomic_store(&echo->over, true);
    (void)!write(echo->bell, &one, sizeof(one));
}

/* ---- the servers ---- */

/* The bell has the number behind the last connection. */
static int watch_all(const struct echo *echo, int epoll)
{
    for (unsigned i = 0; i <= echo->n; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        int fd = i < echo->n ? echo->servers[i].fd : echo->bell;
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
            return -errno;
    }
    return 0;
}

static int serve_one(struct echo *echo, unsigned which)
{
    struct echo_end *end = &echo->servers[which];
    ssize_t n = recv(end->fd, end->message, echo->message_bytes, MSG_WAITALL);
    if (n == (ssize_t)echo->message_bytes)
        n = send(end->fd, end->message, (size_t)n, MSG_NOSIGNAL);
    if (n != (ssize_t)echo->message_bytes)
        return n < 0 ? -errno : -EIO;
    echo->served++;
    return 0;
}

static int echo_serve_epoll(struct echo *echo, struct err *err)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int rc = epoll < 0 ? -errno : watch_all(echo, epoll);
    while (!rc && !atomic_load_explicit(&echo->over, memory_order_relaxed)) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        rc = n >= 0 || errno == EINTR ? 0 : -errno;
        for (int i = 0; i < n && !rc; i++)
            if (events[i].data.u32 < echo->n)
                rc = serve_one(echo, events[i].data.u32);
    }
    if (epoll >= 0)
        (void)close(epoll);
    return rc ? err_sys(err, rc, "the server by epoll") : 0;
}

/* One that cannot go on hangs up, lest the client wait. */
void echo_serve(struct echo *echo)
{
    uint64_t cpu_ns = clock_thread_cpu_ns();
    int rc = echo->how == ECHO_URING ? echo_serve_uring(echo, &echo->server_err)
                                     : echo_serve_epoll(echo, &echo->server_err);
    echo->server_cpu_ns = clock_thread_cpu_ns() - cpu_ns;
    for (unsigned i = 0; i < echo->n && rc; i++)
        (void)shutdown(echo->servers[i].fd, SHUT_RDWR);
}

int echo_failed(const struct echo *echo, struct err *err)
{
    const struct err *said = echo->server_err.code ? &echo->server_err : &echo->client_err;
    if (said->code)
        return err_set(err, said->code, "%s", said->msg);
    if (echo->wrong)
        return err_set(err, -EBADMSG, "%zu echoes were not what had been sent", echo->wrong);
    if (!echo->echoes || !echo->served || !echo->elapsed_ns)
        return err_set(err, -ETIME, "no message came back in time");
    return 0;
}
