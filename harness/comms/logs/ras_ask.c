#include "harness/comms/logs/ras_ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

enum { LINE_MOST = 512 };

struct link {
    const char *address;
    int fd;
    uint64_t until_ns;
    struct err *err;
};

/* The next call of the socket returns within the time that is left; it may be none. */
static int limit_call(const struct link *link)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns >= link->until_ns)
        return -ETIMEDOUT;
    uint64_t left_us = (link->until_ns - now_ns) / 1000 + 1;
    const struct timeval left = {(time_t)(left_us / 1000000), (suseconds_t)(left_us % 1000000)};
    return setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) ||
                   setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left))
               ? -errno
               : 0;
}

/* That a call of the socket took too long it says in several ways. */
static int fail(const struct link *link, int rc, const char *what, const char *rest)
{
    return rc == -EAGAIN || rc == -EINPROGRESS || rc == -ETIMEDOUT
               ? err_set(link->err, -ETIMEDOUT,
                         "NCCL's RAS service at %.100s did not answer in time", link->address)
               : err_sys(link->err, rc, "%s %.100s%s", what, link->address, rest);
}

/* ---- the connection ---- */

static int connect_to(struct link *link, const struct addrinfo *to)
{
    link->fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, 0);
    int rc = link->fd < 0 ? -errno : limit_call(link);
    if (!rc && connect(link->fd, to->ai_addr, to->ai_addrlen))
        rc = -errno;
    if (rc && link->fd >= 0) {
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
    for (const struct addrinfo *to = found; to && rc; to = to->ai_next)
        rc = connect_to(link, to);
    freeaddrinfo(found);
    return rc ? fail(link, rc, "no answer at", ", where NCCL's RAS service should be") : 0;
}

/* ---- lines ---- */

static int send_line(const struct link *link, const char *line)
{
    ssize_t n = 0;
    for (const char *end = line + strlen(line); line < end; line += n) {
        int rc = limit_call(link);
        n = rc ? -1 : send(link->fd, line, (size_t)(end - line), MSG_NOSIGNAL);
        if (n < 0)
            return fail(link, rc ? rc : -errno, "cannot write to", "");
    }
    return 0;
}

/* > 0: bytes; 0: its end. */
static ssize_t read_some(const struct link *link, char *at, size_t room)
{
    for (;;) {
        int rc = limit_call(link);
        ssize_t n = rc ? -1 : recv(link->fd, at, room, 0);
        if (n >= 0)
            return n;
        if (rc || errno != EINTR) /* as after a stop */
            return fail(link, rc ? rc : -errno, "cannot read from", "");
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
        return err_set(link->err, -EPROTO, "the service at %.100s is not NCCL's RAS service",
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
