#include "harness/lib/sys/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

int net_free_port(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    int fd = open_socket();
    int rc = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
                     getsockname(fd, (struct sockaddr *)&address, &size)
                 ? -errno
                 : ntohs(address.sin_port);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Waits for `events`. False: an error, or the time is over. */
static bool await(int fd, short events, uint64_t until_ns)
{
    struct pollfd of = {.fd = fd, .events = events};
    uint64_t now_ns = clock_now_ns();
    int left_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
    return poll(&of, 1, left_ms) == 1 && (of.revents & events);
}

/* The open connection, or -1. */
static int connect_to(unsigned port, uint64_t until_ns)
{
    const struct sockaddr_in address = loopback(port);
    int error = 0, fd = open_socket();
    socklen_t size = sizeof(error);
    if (fd < 0)
        return -1;
    bool is_open = !connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
                   (errno == EINPROGRESS && await(fd, POLLOUT, until_ns) &&
                    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) && !error);
    if (is_open)
        return fd;
    (void)close(fd);
    return -1;
}

bool net_accepts(unsigned port)
{
    static const uint64_t limit_ns = 200000000;
    int fd = connect_to(port, clock_now_ns() + limit_ns);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

bool net_answers_get(unsigned port, const char *path, double limit_s)
{
    uint64_t until_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    const char *ask =
        str_fmt("GET %s HTTP/1.0\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", path, port);
    char answer[16] = "";
    size_t used = 0, needed = strlen("HTTP/1.1 2xx");
    int fd = connect_to(port, until_ns);
    ssize_t n = fd < 0 ? -1 : send(fd, ask, strlen(ask), MSG_NOSIGNAL);
    while (n > 0 && used < needed && await(fd, POLLIN, until_ns)) {
        n = recv(fd, answer + used, needed - used, 0);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return used == needed && !strncmp(answer, "HTTP/1.", 7) && answer[8] == ' ' && answer[9] == '2';
}
