#include "harness/comms/comms_driver.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/comms/plugin/counters.h"
#include "harness/comms/show.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"

enum { ANSWER_MS = 10000, STEP_MS = 20 };

static bool has_counted(const struct comms_driver *driver)
{
    const struct comms_counted counted = {.counts = driver->counts};
    return !driver->why.code && !comms_counted_why(&counted)[0];
}

/* In the child. */
static int ask(void *arg)
{
    struct comms_driver *driver = arg;
    (void)nvlink_read(&driver->counts, &driver->why);
    driver->nlinks = gpu_links_read(driver->link, sizeof(driver->link) / sizeof(driver->link[0]));
    bool stays = has_counted(driver);
    __atomic_store_n(&driver->answered, true, __ATOMIC_RELEASE);
    while (stays && pause()) /* pause is never 0: this waits until it is killed */
        continue;
    return 0;
}

static bool has_answered(const struct comms_driver *driver)
{
    return driver && __atomic_load_n(&driver->answered, __ATOMIC_ACQUIRE);
}

/* Waits until the process ends or, with a driver, has answered. False: the process still runs,
 * perhaps in the kernel, where no signal ends it. */
static bool wait_for(struct process *process, const struct comms_driver *driver)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)ANSWER_MS * 1000000;
    int status;
    while (!has_answered(driver) && !process_ended(process, &status)) {
        struct pollfd end = {.fd = process->pidfd, .events = POLLIN}; /* poll ignores -1 */
        if (clock_now_ns() > end_ns)
            return false;
        (void)poll(&end, 1, STEP_MS);
    }
    return true;
}

struct comms_driver *comms_driver_ask(struct err *err)
{
    struct comms_driver *driver =
        mmap(NULL, sizeof(*driver), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (driver == MAP_FAILED) {
        (void)err_set(err, -ENOMEM, "no memory to ask the NVIDIA driver");
        return NULL;
    }
    struct process process = {0};
    int rc = process_start(&process, true, ask, driver);
    if (rc)
        (void)err_sys(err, rc, "cannot start a process to ask the NVIDIA driver");
    else if (!wait_for(&process, driver)) {
        (void)process_signal(&process, SIGKILL);
        rc = err_set(err, -ETIMEDOUT, "the NVIDIA driver did not answer within %d s",
                     ANSWER_MS / 1000);
    } else if (!has_answered(driver))
        rc = err_set(err, -EIO, "the process that asked the NVIDIA driver crashed");
    if (rc) {
        comms_driver_free(driver);
        return NULL;
    }
    driver->process = process;
    return driver;
}

bool comms_driver_allows_graphs(const struct comms_driver *driver)
{
    enum { GPUS_MOST = 16 };
    return driver && !driver->why.code && driver->counts.n <= GPUS_MOST && !driver->counts.leaves;
}

void comms_driver_write(const char *directory, const struct comms_driver *before, struct err *err)
{
    static const struct nvlink_counts none;
    struct comms_driver *after = before ? comms_driver_ask(err) : NULL;
    if (before && before->why.code)
        *err = before->why;
    else if (after && after->why.code)
        *err = after->why;
    else if (after)
        nvlink_since(&before->counts, &after->counts);
    if (after)
        comms_files_add_links(directory, after->link, after->nlinks);
    if (comms_counters_write(directory, after ? &after->counts : &none, err->code ? err->msg : "",
                             err))
        log_warn("%s", err->msg);
    comms_driver_free(after);
}

void comms_driver_free(struct comms_driver *driver)
{
    if (!driver)
        return;
    (void)process_signal(&driver->process, SIGKILL);
    if (driver->process.pid)
        (void)wait_for(&driver->process, NULL);
    (void)munmap(driver, sizeof(*driver));
}
