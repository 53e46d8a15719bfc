#include "harness/lib/sys/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec ts;
    (void)clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC_RAW);
}

double clock_now_s(void)
{
    return (double)clock_now_ns() * 1e-9;
}

uint64_t clock_timer_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

void clock_sleep_until(uint64_t ns)
{
    const struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

uint64_t clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t clock_cost_ns(void)
{
    enum { BATCHES = 31, CALLS = 64 };
    uint64_t cost[BATCHES], tick = UINT64_MAX;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t start = clock_now_ns(), end = start;
        for (int i = 0; i < CALLS; i++) {
            uint64_t now = clock_now_ns();
            if (now != end && now - end < tick)
                tick = now - end;
            end = now;
        }
        cost[b] = (end - start) / CALLS;
    }
    qsort(cost, BATCHES, sizeof(cost[0]), compare_u64);
    uint64_t median = cost[BATCHES / 2];
    /* A tick is 40 ns on an Arm machine whose counter runs at 25 MHz. */
    return median > tick || tick == UINT64_MAX ? median + !median : tick;
}

void futex_wait_while(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) == value)
        (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

void futex_set(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
