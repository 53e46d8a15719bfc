#include "bench/io/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/random.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/units.h"

enum { CHECKED_PAGES = 16 };

const char *const write_way_names[WRITE_WAYS] = {"write", "direct"};

static int open_file(const struct writer_plan *plan, struct err *err)
{
    int fd = place_make_file(plan->place, err);
    if (fd < 0 || plan->way == WRITE_WRITE)
        return fd;
    int direct = place_open_again(fd, O_RDWR | O_DIRECT, err);
    (void)close(fd);
    if (direct < 0)
        err->code = -ENOTSUP;
    return direct < 0 ? -ENOTSUP : direct;
}

static int write_blocks(const struct writer_plan *plan, int fd, uint64_t *done, struct err *err)
{
    int rc = 0;
    for (*done = 0; *done < plan->bytes && !rc;) {
        uint64_t left = plan->bytes - *done;
        size_t part;
        rc = data_write(fd, (const char *)plan->content + *done,
                        left < plan->block_bytes ? (size_t)left : plan->block_bytes, *done, &part);
        *done += part;
    }
    return rc ? err_sys(err, rc, "cannot write") : 0;
}

/* Compares pages at random offsets. They may come from a cache or from the device. */
static int check_pages(const struct writer_plan *plan, int fd, struct err *err)
{
    char *buffer = data_buffer(DATA_ALIGN);
    uint64_t state = plan->seed, pages = plan->bytes / DATA_ALIGN;
    bool right = buffer != NULL;
    assert(pages);
    for (unsigned i = 0; i < CHECKED_PAGES && right; i++) {
        uint64_t offset = random_next(&state) % pages * DATA_ALIGN;
        right = pread(fd, buffer, DATA_ALIGN, (off_t)offset) == DATA_ALIGN &&
                data_holds(buffer, DATA_ALIGN, offset, plan->seed);
    }
    free(buffer);
    return right ? 0
                 : err_set(err, -EBADMSG, "a file written by %s holds something else",
                           write_way_names[plan->way]);
}

static uint64_t process_cpu_ns(void)
{
    struct timespec spent;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static int write_timed(const struct writer_plan *plan, int fd, struct written *written,
                       struct err *err)
{
    uint64_t done = 0, cpu_ns = process_cpu_ns(), start_ns = clock_now_ns();
    struct err why = {.code = 0};
    int rc = write_blocks(plan, fd, &done, &why);
    uint64_t sync_ns = clock_now_ns();
    if (!rc && fsync(fd))
        rc = err_sys(&why, -errno, "fsync");
    uint64_t end_ns = clock_now_ns();
    if (rc)
        return err_set(err, rc, "checkpoint of %s in %s (%s), after %s: %s",
                       units_bytes(plan->bytes), plan->place->directory, plan->place->file_system,
                       units_bytes(done), why.msg);
    written->bytes += plan->bytes;
    written->elapsed_ns += end_ns - start_ns;
    written->fsync_ns += end_ns - sync_ns;
    written->cpu_ns += process_cpu_ns() - cpu_ns;
    return 0;
}

int writer_run(const struct writer_plan *plan, struct written *written, struct err *err)
{
    if (plan->way != WRITE_WRITE && plan->place->memory)
        return err_set(err, -ENOTSUP, "%s is in memory: nothing to write past the cache",
                       plan->place->file_system);
    int fd = open_file(plan, err);
    if (fd < 0)
        return fd;
    int rc = write_timed(plan, fd, written, err);
    if (!rc)
        rc = check_pages(plan, fd, err);
    (void)close(fd);
    return rc;
}
