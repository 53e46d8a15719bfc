/* Calls between a rank and its MPI process, and what becomes of them when one side is not there. */
#include "harness/mpi_link.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 16 << 20 }; /* more than a socket holds */

static void open_link(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_link(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_mpi_link_brings_descriptors(void **state)
{
    (void)state;
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
    assert_int_equal(call.kind, MPI_LINK_SEND);
    assert_int_equal(fds[0], -1);
    close_link(inside);
    close_link(ends);
}

static void test_mpi_link_nobody_reads(void **state)
{
    (void)state;
    int ends[2];
    const struct timeval limit = {.tv_usec = 50000};
    char *data = calloc(1, LARGE);
    assert_non_null(data);
    open_link(ends);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
    assert_int_equal(mpi_link_write(ends[0], data, LARGE), -ETIME);
    assert_int_equal(mpi_link_write_call(ends[0], &(struct mpi_link_call){0}, NULL), -ETIME);
    free(data);
    close_link(ends);
}

static void test_mpi_link_nobody_is_there(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    open_link(ends);
    (void)close(ends[1]);
    assert_int_equal(mpi_link_read(ends[0], &byte, 1), -EPIPE);
    assert_int_equal(mpi_link_write(ends[0], &byte, 1), -EPIPE);
    assert_int_equal(mpi_link_write_call(ends[0], &(struct mpi_link_call){0}, NULL), -EPIPE);
    (void)close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mpi_link_brings_descriptors),
        cmocka_unit_test(test_mpi_link_nobody_reads),
        cmocka_unit_test(test_mpi_link_nobody_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
