#include "harness/worker/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t configs[PERF_COUNTERS] = {
    PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_CACHE_MISSES};

static int open_counter(uint64_t config)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = config,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void perf_open(struct perf *perf)
{
    for (int i = 0; i < PERF_COUNTERS; i++)
        perf->fd[i] = open_counter(configs[i]);
}

/* False when the counter never ran. */
static bool read_counter(int fd, uint64_t *count)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } got;
    if (fd < 0 || read(fd, &got, sizeof(got)) != (ssize_t)sizeof(got) || !got.running_ns)
        return false;
    *count = (uint64_t)((double)got.value * ((double)got.enabled_ns / (double)got.running_ns));
    return true;
}

void perf_read(const struct perf *perf, struct usage_snapshot *snapshot)
{
    snapshot->has_counters = read_counter(perf->fd[0], &snapshot->instructions) &&
                             read_counter(perf->fd[1], &snapshot->cycles) &&
                             read_counter(perf->fd[2], &snapshot->cache_misses);
}

void perf_close(struct perf *perf)
{
    for (int i = 0; i < PERF_COUNTERS; i++)
        if (perf->fd[i] >= 0)
            (void)close(perf->fd[i]);
}

int perf_probe(struct err *err)
{
    for (int i = 0; i < PERF_COUNTERS; i++) {
        int fd = open_counter(configs[i]);
        if (fd < 0)
            return err_sys(err, -errno, "hardware counters are not available");
        (void)close(fd);
    }
    return 0;
}
