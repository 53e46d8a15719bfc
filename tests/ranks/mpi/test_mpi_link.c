/* Calls between a rank and its MPI process, and what happens if one side is missing. */
#include "harness/ranks/mpi/link.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = 16 << 20, CHUNK = 32768 };

static void open_link(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_link(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(mpi_link_brings_descriptors)
{
    int ends[2], inside[2], fds[MPI_LINK_FDS];
    char byte = 0;
    struct mpi_link_call call = {.kind = MPI_LINK_SERVE, .index = 7, .bytes = LARGE};
    open_link(ends);
    assert_int_equal(pipe(inside), 0);
    assert_int_equal(mpi_link_write_call(ends[0], &call, inside), 0);
    assert_int_equal(mpi_link_write_call(ends[0], &(struct mpi_link_call){0}, NULL), 0);
    call = (struct mpi_link_call){0};
    assert_int_equal(mpi_link_read_call(ends[1], &call, fds), 0);
    assert_int_equal(call.kind, MPI_LINK_SERVE);
    assert_int_equal(call.index, 7);
    assert_int_equal(call.bytes, LARGE);
    assert_int_equal(write(inside[1], "x", 1), 1);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
    close_link(fds);
    assert_int_equal(mpi_link_read_call(ends[1], &call, fds), 0);
    assert_int_equal(call.kind, MPI_LINK_EXCHANGE);
    assert_int_equal(fds[0], -1);
    close_link(inside);
    close_link(ends);
}

/* The client relies on this: a writable socket takes a chunk of 32 KiB without blocking. */
TEST(mpi_link_writable_takes_a_chunk)
{
    int ends[2];
    char *data = calloc(1, CHUNK);
    struct pollfd writable = {.events = POLLOUT};
    assert_non_null(data);
    open_link(ends);
    writable.fd = ends[0];
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 1000 && poll(&writable, 1, 0) == 1; i++)
        assert_int_equal(mpi_link_write(ends[0], data, CHUNK), 0);
    assert_int_equal(poll(&writable, 1, 0), 0);
    free(data);
    close_link(ends);
}

TEST(mpi_link_nobody_is_there)
{
    int ends[2];
    char byte;
    open_link(ends);
    (void)close(ends[1]);
    assert_int_equal(mpi_link_read(ends[0], &byte, 1), -EPIPE);
    assert_int_equal(mpi_link_write(ends[0], &byte, 1), -EPIPE);
    assert_int_equal(mpi_link_write_call(ends[0], &(struct mpi_link_call){0}, NULL), -EPIPE);
    (void)close(ends[0]);
}
