/* Replaces contend_mpi.so without MPI: FAKE_MPI says how and when its process ends. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/contract/mpi_ops.h"

static void end_if(const char *when)
{
    const char *ends = getenv("FAKE_MPI");
    if (ends && !strcmp(ends, "killed"))
        (void)raise(SIGKILL);
    if (ends && !strcmp(ends, when))
        _exit(7);
}

static int fake_start(struct mpi_ops_world *world, char *msg, size_t size)
{
    (void)msg;
    (void)size;
    end_if("start");
    *world = (struct mpi_ops_world){.size = 2, .threads = true, .library = "none"};
    return 0;
}

static int fake_receive(unsigned from, void *data, size_t bytes, struct mpi_ops_request *request,
                        char *msg, size_t size)
{
    (void)from;
    (void)data;
    (void)bytes;
    (void)msg;
    (void)size;
    end_if("receive");
    *request = (struct mpi_ops_request){.handle = 1, .active = true};
    return 0;
}

static int fake_test(struct mpi_ops_request *request, bool *done, char *msg, size_t size)
{
    (void)request;
    (void)msg;
    (void)size;
    end_if("test");
    const char *path = getenv("FAKE_MPI_HANGS");
    if (path)
        (void)close(
            open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); /* from now on this process hangs */
    while (path)
        (void)pause();
    *done = false;
    return 0;
}

extern const struct mpi_ops contend_mpi_ops;

const struct mpi_ops contend_mpi_ops = {
    .abi = FAKE_MPI_ABI, .start = fake_start, .receive = fake_receive, .test = fake_test};
