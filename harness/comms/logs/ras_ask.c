#include "harness/comms/logs/ras_ask.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

enum { LINE_MOST = 512 };

struct link {
    const char *address;
    int fd;
    uint64_t until_ns;
    struct err *err;
};

static int time_out(const struct link *link)
{
    return err_set(link->err, -ETIMEDOUT, "no answer from NCCL's RAS service at %.100s in time",
                   link->address);
}

/* Until it can be read or written, as `events` says. */
static int wait_for(const struct link *link, short events)
{
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        struct pollfd poll_fd = {.fd = link->fd, .events = events};
        if (now_ns >= link->until_ns)
            return time_out(link);
        uint64_t left_ms = (link->until_ns - now_ns) / 1000000 + 1;
        int n = poll(&poll_fd, 1, left_ms < 1000 ? (int)left_ms : 1000);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_sys(link->err, -errno, "cannot wait for %.100s", link->address);
    }
}

/* ---- the connection ---- */

static int connect_to(struct link *link, const struct addrinfo *to)
{
    int error = 0;
    socklen_t size = sizeof(error);
    link->fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0)
        return -errno;
    if (!connect(link->fd, to->ai_addr, to->ai_addrlen))
        return 0;
    int rc = errno == EINPROGRESS ? wait_for(link, POLLOUT) : -errno;
    if (!rc && getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size))
        error = errno;
    rc = rc ? rc : -error;
    if (rc) {
        (void)close(link->fd);
        link->fd = -1;
    }
    return rc;
}

static int open_link(struct link *link)
{
    char host[256];
    const char *port = strrchr(link->address, ':');
    size_t length = port ? (size_t)(port - link->address) : 0;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    bool in_brackets = length > 1 && link->address[0] == '[' && link->address[length - 1] == ']';
    if (!length || length >= sizeof(host) || !port[1])
        return err_set(link->err, -EINVAL, "'%.100s' is no address like " RAS_ADDRESS,
                       link->address);
    (void)snprintf(host, sizeof(host), "%.*s", (int)length - 2 * in_brackets,
                   link->address + in_brackets);
    int rc = getaddrinfo(host, port + 1, &hints, &found);
    if (rc)
        return err_set(link->err, -EINVAL, "cannot resolve '%.100s': %s", link->address,
                       gai_strerror(rc));
    rc = -ENOENT;
    for (const struct addrinfo *to = found; to && rc && rc != -ETIMEDOUT; to = to->ai_next)
        rc = connect_to(link, to);
    freeaddrinfo(found);
    return rc && rc != -ETIMEDOUT
               ? err_sys(link->err, rc,
                         "nobody answers at %.100s, where NCCL's RAS service should be",
                         link->address)
               : rc;
}

/* ---- lines ---- */

static int send_line(const struct link *link, const char *line)
{
    size_t done = 0, size = strlen(line);
    while (done < size) {
        int rc = wait_for(link, POLLOUT);
        if (rc)
            return rc;
        ssize_t n = send(link->fd, line + done, size - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(link->err, -errno, "cannot write to %.100s", link->address);
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* > 0: bytes; 0: its end. */
static ssize_t read_some(const struct link *link, char *at, size_t room)
{
    for (;;) {
        int rc = wait_for(link, POLLIN);
        if (rc)
            return rc;
        ssize_t n = recv(link->fd, at, room, 0);
        if (n >= 0)
            return n;
        if (errno != EINTR && errno != EAGAIN)
            return err_sys(link->err, -errno, "cannot read from %.100s", link->address);
    }
}

/* One byte at a time: what follows is another answer. */
static int read_line(const struct link *link, char line[static LINE_MOST])
{
    size_t n = 0;
    while (n + 1 < LINE_MOST) {
        char one = '\n';
        ssize_t got = read_some(link, &one, 1);
        if (got < 0)
            return (int)got;
        if (!got || one == '\n')
            break;
        line[n++] = one;
    }
    line[n] = '\0';
    return 0;
}

static int read_all(const struct link *link, char **answer, size_t *size)
{
    size_t room = 0;
    for (*size = 0;;) {
        if (*size + 1 >= room) {
            room = room ? 2 * room : 1 << 16;
            char *grown = room > 2 * (size_t)RAS_ANSWER_MOST ? NULL : realloc(*answer, room);
            if (!grown)
                return err_set(link->err, -ENOMEM, "no memory for an answer");
            *answer = grown;
        }
        ssize_t got = read_some(link, *answer + *size, room - *size - 1);
        if (got < 0)
            return (int)got;
        *size += (size_t)got;
        (*answer)[*size] = '\0';
        if (!got)
            return 0;
        if (*size > RAS_ANSWER_MOST)
            return err_set(link->err, -EFBIG, "more than %d MiB from %.100s", RAS_ANSWER_MOST >> 20,
                           link->address);
    }
}

/* ---- the questions ---- */

static int greet(const struct link *link, bool *json)
{
    static const char server[] = "SERVER PROTOCOL ";
    char line[LINE_MOST];
    int rc = send_line(link, "CLIENT PROTOCOL 2\n");
    if (!rc)
        rc = read_line(link, line);
    if (rc)
        return rc;
    if (strncasecmp(line, server, sizeof(server) - 1) != 0)
        return err_set(link->err, -EPROTO, "what listens at %.100s is not NCCL's RAS service",
                       link->address);
    rc = send_line(link, "SET FORMAT json\n");
    if (!rc)
        rc = read_line(link, line);
    *json = !rc && !strcasecmp(line, "OK");
    return rc;
}

int ras_ask(const char *address, double limit_s, bool *json, char **answer, size_t *size,
            struct err *err)
{
    struct link link = {.address = address,
                        .fd = -1,
                        .until_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9),
                        .err = err};
    *answer = NULL;
    *size = 0;
    int rc = open_link(&link);
    if (!rc)
        rc = greet(&link, json);
    if (!rc)
        rc = send_line(&link, "VERBOSE STATUS\n");
    if (!rc)
        rc = read_all(&link, answer, size);
    if (link.fd >= 0)
        (void)close(link.fd);
    if (rc) {
        free(*answer);
        *answer = NULL;
    }
    return rc;
}
