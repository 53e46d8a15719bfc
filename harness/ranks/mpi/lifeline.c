#include "harness/ranks/mpi/lifeline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

enum {
    HALF = LIFELINE_TOKEN / 2,
    BACKLOG = 4096,  /* all ranks connect at once; the kernel has a limit of its own */
    SPARE_FILES = 64 /* descriptors that rank 0 needs for other things */
};

/*
 * The greeting of a rank, which rank 0 answers with the token's other half; and its last message.
 */
struct greeting {
    unsigned char half[HALF];
    uint32_t rank;
};
struct farewell {
    uint32_t end;
    char message[LIFELINE_MESSAGE_MAX];
};

/* TCP keepalive, s: a machine that lost power closes no connection. */
enum { KEEPALIVE_IDLE_S = 10, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_PROBES = 3 };

static int left_ms(uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    return until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
}

static bool ready(int fd, short events, uint64_t until_ns)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    return poll(&poll_fd, 1, left_ms(until_ns)) == 1;
}

/* For small messages, which arrive in one piece or count as lost. */
static bool read_message(int fd, void *data, size_t bytes, uint64_t until_ns)
{
    return ready(fd, POLLIN, until_ns) && recv(fd, data, bytes, MSG_DONTWAIT) == (ssize_t)bytes;
}

static bool write_message(int fd, const void *data, size_t bytes)
{
    return send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes;
}

static bool make_lines(struct lifeline *lines, unsigned n)
{
    *lines = (struct lifeline){.listen_fd = -1, .poll_fd = -1};
    struct line *line = calloc(n, sizeof(*line));
    int poll_fd = line ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (poll_fd < 0) {
        free(line);
        return false;
    }
    for (unsigned i = 0; i < n; i++)
        line[i].fd = -1;
    *lines = (struct lifeline){.n = n, .line = line, .listen_fd = -1, .poll_fd = poll_fd};
    return true;
}

/* Turns keepalive on for line i, and adds it to the epoll. */
static void watch_line(struct lifeline *lines, unsigned i)
{
    const int options[][2] = {{TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
                              {TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
                              {TCP_KEEPCNT, KEEPALIVE_PROBES}};
    int on = 1, fd = lines->line[i].fd;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++)
        (void)setsockopt(fd, IPPROTO_TCP, options[o][0], &options[o][1], sizeof(int));
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    (void)epoll_ctl(lines->poll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void close_line(struct line *line)
{
    (void)close(line->fd); /* which also takes it out of the epoll */
    line->fd = -1;
}

/* Time limits: for a greeting or its answer, as connections may be from other programs and a rank
 * may be stopped; and for connecting to an address. */
static const uint64_t greeting_limit_ns = UINT64_C(10000000000);
static const uint64_t connect_limit_ns = 250000000;

/* ---- making them ---- */

static bool is_loopback(const struct lifeline_address *address)
{
    static const unsigned char six[16] = {[15] = 1};
    return address->family == AF_INET ? address->bytes[0] == 127
                                      : !memcmp(address->bytes, six, sizeof(six));
}

/* Appends the loopback addresses, or all other addresses. */
static void list_addresses(const struct ifaddrs *all, bool loopback, struct lifeline_offer *offer)
{
    for (const struct ifaddrs *at = all; at && offer->naddresses < LIFELINE_ADDRESSES;
         at = at->ifa_next) {
        struct lifeline_address *address = &offer->addresses[offer->naddresses];
        if (!at->ifa_addr || !(at->ifa_flags & IFF_UP))
            continue;
        address->family = at->ifa_addr->sa_family;
        struct sockaddr_in6 in6;
        struct sockaddr_in in4;
        if (address->family == AF_INET) {
            memcpy(&in4, at->ifa_addr, sizeof(in4));
            memcpy(address->bytes, &in4.sin_addr, sizeof(in4.sin_addr));
        } else if (address->family == AF_INET6) {
            memcpy(&in6, at->ifa_addr, sizeof(in6));
            if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
                continue; /* needs the name of an interface */
            memcpy(address->bytes, &in6.sin6_addr, sizeof(in6.sin6_addr));
        } else {
            continue;
        }
        if (is_loopback(address) == loopback)
            offer->naddresses++;
    }
}

/* Returns the listening socket, with its address and port in *address; -1 = error. */
static int listen_on(struct sockaddr *address, socklen_t size)
{
    int off = 0, fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (address->sa_family != AF_INET6 ||
         !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) &&
        !bind(fd, address, size) && !listen(fd, BACKLOG) && !getsockname(fd, address, &size))
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Listens on IPv6 and IPv4, or on IPv4 alone if the kernel has no IPv6. */
static int listen_anywhere(uint16_t *port)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    int fd = listen_on((struct sockaddr *)&in6, sizeof(in6));
    *port = ntohs(in6.sin6_port);
    if (fd >= 0)
        return fd;
    fd = listen_on((struct sockaddr *)&in4, sizeof(in4));
    *port = fd < 0 ? 0 : ntohs(in4.sin_port);
    return fd;
}

void lifeline_offer(struct lifeline *lines, unsigned size, struct lifeline_offer *offer)
{
    struct ifaddrs *all = NULL;
    memset(offer, 0, sizeof(*offer));
    if (!make_lines(lines, size) ||
        getrandom(offer->token, sizeof(offer->token), 0) != (ssize_t)sizeof(offer->token))
        return;
    memcpy(lines->token, offer->token, sizeof(lines->token));
    lines->listen_fd = listen_anywhere(&offer->port);
    if (getifaddrs(&all))
        return;
    list_addresses(all, false, offer);
    list_addresses(all, true, offer);
    freeifaddrs(all);
}

static int connect_to(const struct lifeline_address *address, uint16_t port, uint64_t until_ns)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&in6.sin6_addr, address->bytes, sizeof(in6.sin6_addr));
    memcpy(&in4.sin_addr, address->bytes, sizeof(in4.sin_addr));
    bool four = address->family == AF_INET;
    int fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int rc = connect(fd, four ? (struct sockaddr *)&in4 : (struct sockaddr *)&in6,
                     four ? sizeof(in4) : sizeof(in6));
    int error = rc ? errno : 0;
    socklen_t size = sizeof(error);
    if (error == EINPROGRESS && ready(fd, POLLOUT, until_ns))
        (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (!error)
        return fd;
    (void)close(fd);
    return -1;
}

/* Sends the greeting. True if the answer is right: another program may listen at the address. */
static bool exchange_tokens(int fd, const struct lifeline_offer *offer, unsigned rank)
{
    struct greeting greeting = {.rank = rank};
    unsigned char answer[HALF];
    memcpy(greeting.half, offer->token, HALF);
    return write_message(fd, &greeting, sizeof(greeting)) &&
           read_message(fd, answer, sizeof(answer), clock_now_ns() + greeting_limit_ns) &&
           !memcmp(answer, offer->token + HALF, HALF);
}

/* Tries each address once; *late: one of them did not answer in time. */
static bool try_addresses(struct lifeline *lines, const struct lifeline_offer *offer, unsigned rank,
                          bool same_machine, bool *late)
{
    *late = false;
    for (unsigned i = 0; i < offer->naddresses && i < LIFELINE_ADDRESSES; i++) {
        if (is_loopback(&offer->addresses[i]) && !same_machine)
            continue;
        uint64_t until_ns = clock_now_ns() + connect_limit_ns;
        int fd = connect_to(&offer->addresses[i], offer->port, until_ns);
        *late = *late || (fd < 0 && clock_now_ns() >= until_ns);
        if (fd < 0)
            continue;
        lines->line[0].fd = fd;
        if (exchange_tokens(fd, offer, rank)) {
            watch_line(lines, 0);
            return true;
        }
        close_line(&lines->line[0]);
    }
    return false;
}

/* Tries again if an address was late: the kernel drops connections while its backlog is full. */
bool lifeline_connect(struct lifeline *lines, const struct lifeline_offer *offer, unsigned rank,
                      bool same_machine, double limit_s)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    bool late = true, made = false;
    if (!make_lines(lines, 1) || !offer->port)
        return false;
    lines->to_rank_0 = true;
    while (!made && late && clock_now_ns() < end_ns)
        made = try_addresses(lines, offer, rank, same_machine, &late);
    return made;
}

static bool leaves_spare_files(int fd)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + SPARE_FILES < limit.rlim_cur;
}

/* Reads a greeting. True when the connection is done with: it became a line, or was closed. */
static bool accept_greeting(struct lifeline *lines, int fd)
{
    struct greeting greeting;
    ssize_t n = recv(fd, &greeting, sizeof(greeting), MSG_PEEK | MSG_DONTWAIT);
    if ((n < 0 && (errno == EAGAIN || errno == EINTR)) || (n > 0 && n < (ssize_t)sizeof(greeting)))
        return false;
    bool good = n == (ssize_t)sizeof(greeting) &&
                recv(fd, &greeting, sizeof(greeting), MSG_DONTWAIT) == n &&
                !memcmp(greeting.half, lines->token, HALF) && greeting.rank < lines->n &&
                leaves_spare_files(fd) && write_message(fd, lines->token + HALF, HALF);
    if (!good) {
        (void)close(fd);
        return true;
    }
    struct line *line = &lines->line[greeting.rank];
    if (line->fd >= 0)
        close_line(line); /* the rank gave up that connection */
    line->fd = fd;
    return true;
}

void lifeline_take(struct lifeline *lines)
{
    int fd = -1;
    while (lines->listen_fd >= 0 && lines->nincoming < LIFELINE_INCOMING_MAX &&
           (fd = accept4(lines->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        lines->incoming[lines->nincoming++] =
            (struct lifeline_incoming){.fd = fd, .until_ns = clock_now_ns() + greeting_limit_ns};
    for (unsigned i = lines->nincoming; i-- > 0;) {
        struct lifeline_incoming *incoming = &lines->incoming[i];
        bool late = clock_now_ns() >= incoming->until_ns,
             done = accept_greeting(lines, incoming->fd);
        if (!done && !late)
            continue;
        if (!done)
            (void)close(incoming->fd);
        *incoming = lines->incoming[--lines->nincoming];
    }
}

static void stop_listening(struct lifeline *lines)
{
    if (lines->n && lines->listen_fd >= 0)
        (void)close(lines->listen_fd);
    lines->listen_fd = -1;
    while (lines->nincoming)
        (void)close(lines->incoming[--lines->nincoming].fd);
}

void lifeline_finish_accepting(struct lifeline *lines, const bool *made)
{
    stop_listening(lines);
    for (unsigned r = 0; r < lines->n; r++)
        if (lines->line[r].fd >= 0 && made[r])
            watch_line(lines, r);
        else if (lines->line[r].fd >= 0)
            close_line(&lines->line[r]);
}

/* ---- reading them ---- */

/* Reads the end of a line. Our side stays open until we end: the other rank may wait for that. */
static void read_farewell(struct lifeline *lines, struct line *line)
{
    struct farewell farewell;
    ssize_t n = recv(line->fd, &farewell, sizeof(farewell), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line->end = LIFELINE_CLOSED;
    if (n == (ssize_t)sizeof(farewell) && farewell.end < LIFELINE_CLOSED) {
        line->end = (enum lifeline_end)farewell.end;
        memcpy(line->message, farewell.message, sizeof(line->message));
        line->message[sizeof(line->message) - 1] = '\0';
    }
    (void)epoll_ctl(lines->poll_fd, EPOLL_CTL_DEL, line->fd, NULL);
}

int lifeline_lost(struct lifeline *lines, enum lifeline_end *end, const char **message)
{
    struct epoll_event event;
    /* One event at a time: the kernel returns events in the order of arrival. */
    while (lines->n && epoll_wait(lines->poll_fd, &event, 1, 0) == 1) {
        struct line *line = &lines->line[event.data.u32];
        read_farewell(lines, line);
        bool lost = line->end == LIFELINE_FAILED || line->end == LIFELINE_CLOSED ||
                    (line->end == LIFELINE_FOLLOWS && lines->to_rank_0);
        if (!lost)
            continue;
        *end = line->end;
        *message = line->message;
        return (int)event.data.u32;
    }
    return -1;
}

int lifeline_follower(const struct lifeline *lines, const char **message)
{
    for (unsigned i = 0; i < lines->n; i++)
        if (lines->line[i].end == LIFELINE_FOLLOWS) {
            *message = lines->line[i].message;
            return (int)i;
        }
    return -1;
}

/* ---- the end ---- */

void lifeline_report(struct lifeline *lines, enum lifeline_end end, const char *message)
{
    struct farewell farewell = {.end = end};
    strncpy(farewell.message, message, sizeof(farewell.message) - 1);
    for (unsigned i = 0; i < lines->n; i++)
        if (lines->line[i].fd >= 0) {
            (void)write_message(lines->line[i].fd, &farewell, sizeof(farewell));
            /* So later calls send nothing. */
            (void)shutdown(lines->line[i].fd, SHUT_WR);
        }
}

bool lifeline_await_first(struct lifeline *lines, double limit_s)
{
    uint64_t until_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    char rest[sizeof(struct farewell)];
    if (!lines->n || lines->line[0].fd < 0)
        return false;
    while (ready(lines->line[0].fd, POLLIN, until_ns) &&
           recv(lines->line[0].fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
        ;
    return true;
}

void lifeline_close(struct lifeline *lines)
{
    stop_listening(lines);
    lifeline_report(lines, LIFELINE_LEFT, "");
    for (unsigned i = 0; i < lines->n; i++)
        if (lines->line[i].fd >= 0)
            close_line(&lines->line[i]);
    if (lines->n) {
        free(lines->line);
        (void)close(lines->poll_fd);
    }
    *lines = (struct lifeline){.listen_fd = -1, .poll_fd = -1};
}
