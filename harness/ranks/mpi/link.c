#include "harness/ranks/mpi/link.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int gone(ssize_t n)
{
    return !n || errno == EPIPE || errno == ECONNRESET ? -EPIPE : -errno;
}

static int transfer_all(int fd, char *at, size_t bytes, bool out)
{
    while (bytes) {
        ssize_t n = out ? send(fd, at, bytes, MSG_NOSIGNAL) : recv(fd, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return gone(n);
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int mpi_link_write(int fd, const void *data, size_t bytes)
{
    return transfer_all(fd, (char *)(uintptr_t)data, bytes, true);
}

int mpi_link_read(int fd, void *data, size_t bytes)
{
    return transfer_all(fd, data, bytes, false);
}

/* Room for the descriptors of one call, aligned as the kernel requires. */
union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(MPI_LINK_FDS * sizeof(int))];
};

/* Sends one byte with the descriptors, then the rest: the socket may not take all at once. */
int mpi_link_write_call(int fd, const struct mpi_link_call *call, const int *fds)
{
    union control control = {.room = {0}};
    struct iovec text = {.iov_base = (void *)(uintptr_t)call, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &text, .msg_iovlen = 1};
    if (fds) {
        msg.msg_control = control.room;
        msg.msg_controllen = sizeof(control.room);
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(MPI_LINK_FDS * sizeof(int));
        memcpy(CMSG_DATA(header), fds, MPI_LINK_FDS * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n <= 0 ? gone(n) : mpi_link_write(fd, (const char *)call + 1, sizeof(*call) - 1);
}

int mpi_link_read_call(int fd, struct mpi_link_call *call, int *fds)
{
    union control control = {.room = {0}};
    struct iovec text = {.iov_base = call, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &text,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    for (unsigned i = 0; i < MPI_LINK_FDS; i++)
        fds[i] = -1;
    ssize_t n;
    do
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return gone(n);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
    if (header && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(MPI_LINK_FDS * sizeof(int)))
        memcpy(fds, CMSG_DATA(header), MPI_LINK_FDS * sizeof(int));
    return mpi_link_read(fd, (char *)call + 1, sizeof(*call) - 1);
}
