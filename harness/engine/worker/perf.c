#include "harness/engine/worker/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct counter {
    uint32_t type;
    uint64_t config;
    size_t offset; /* in struct usage */
} counters[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, offsetof(struct usage, instructions)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, offsetof(struct usage, cycles)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, offsetof(struct usage, cache_misses)},
};
_Static_assert(sizeof(counters) / sizeof(counters[0]) == PERF_COUNTERS,
               "a line here for each of USAGE_COUNTERS");

static int open_counter(const struct counter *counter)
{
    struct perf_event_attr attr = {
        .type = counter->type,
        .size = sizeof(attr),
        .config = counter->config,
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
        perf->fd[i] = open_counter(&counters[i]);
}

/* NaN when the counter never ran. */
static double read_counter(int fd)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } got;
    if (fd < 0 || read(fd, &got, sizeof(got)) != (ssize_t)sizeof(got) || !got.running_ns)
        return NAN;
    return trunc((double)got.value * ((double)got.enabled_ns / (double)got.running_ns));
}

void perf_read(const struct perf *perf, struct usage_snapshot *snapshot)
{
    double counts[PERF_COUNTERS], sum = 0;
    for (int i = 0; i < PERF_COUNTERS; i++)
        sum += counts[i] = read_counter(perf->fd[i]);
    for (int i = 0; i < PERF_COUNTERS && !isnan(sum); i++)
        *(double *)((char *)&snapshot->so_far + counters[i].offset) = counts[i];
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
        int fd = open_counter(&counters[i]);
        if (fd < 0)
            return err_sys(err, -errno, "hardware counters are not available");
        (void)close(fd);
    }
    return 0;
}
