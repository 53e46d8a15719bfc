/* Replaces contend_mpi.so without MPI: FAKE_MPI says which call fails. Without it, rank 1 never
 * answers. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/contract/peers.h"

static int fail_if(const char *call, struct err *err)
{
    const char *fails = getenv("FAKE_MPI");
    if (!fails || strcmp(fails, call) != 0)
        return 0;
    *err = (struct err){.code = -EIO, .msg = "the cable is cut"};
    return -EIO;
}

static int fake_start(struct mpi_ops_world *world, struct err *err)
{
    *world = (struct mpi_ops_world){.size = 2, .threads = true, .library = "none"};
    return fail_if("start", err);
}

static void fake_abort(int code)
{
    (void)code;
}

static int fake_begin(const void *mine, size_t bytes, void *all, bool spread, struct err *err)
{
    (void)mine;
    (void)bytes;
    (void)all;
    (void)spread;
    return fail_if("begin", err);
}

static int fake_test(bool *done, unsigned *awaited, struct err *err)
{
    const char *path = getenv("FAKE_MPI_WAITS");
    if (path) /* tells that somebody waits for rank 1 */
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    *done = false;
    *awaited = 1;
    return fail_if("test", err);
}

extern const struct mpi_ops contend_mpi_ops;

const struct mpi_ops contend_mpi_ops = {.abi = FAKE_MPI_ABI,
                                        .start = fake_start,
                                        .abort = fake_abort,
                                        .gather_begin = fake_begin,
                                        .gather_test = fake_test};
