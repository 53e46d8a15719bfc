#include "bench/os/ping_pong.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"

enum { WARM_SHARE = 4 };

static const uint64_t batch_least_ns = 100000;

const size_t working_set_sizes[WORKING_SETS] = {0, 16 << 10, 256 << 10, WORKING_SET_MOST};

const char *const working_set_names[] = {"all", "0", "16K", "256K", "4M", NULL};

/*
 * Median us per operation; NaN if no timed batch succeeded. The first quarter of slice_ns is the
 * warm-up: it is not timed and finds how many operations make a batch.
 */
static double repeat_time(struct repeat *repeat, repeat_batch *batch, void *arg)
{
    uint64_t least_ns = repeat->slice_ns / REPEAT_BATCHES, spent_ns = 0, n = 1, took_ns = 1;
    least_ns = least_ns < batch_least_ns ? batch_least_ns : least_ns;
    repeat->nbatches = 0;
    repeat->items = 0;
    while (spent_ns < repeat->slice_ns / WARM_SHARE && took_ns) {
        took_ns = batch(arg, n);
        spent_ns += took_ns;
        n *= took_ns < least_ns ? 2 : 1;
    }
    while (took_ns && repeat->nbatches < REPEAT_BATCHES &&
           (spent_ns < repeat->slice_ns || !repeat->nbatches)) {
        took_ns = batch(arg, n);
        spent_ns += took_ns;
        if (!took_ns)
            break;
        repeat->items += n;
        repeat->us[repeat->nbatches++] = (double)took_ns / 1e3 / (double)n;
    }
    return stats_sort_median(repeat->us, repeat->nbatches);
}

int ping_pong_open(struct ping_pong **ping_pong, uint64_t *const sets[2], struct err *err)
{
    struct ping_pong *made =
        mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two threads or processes share");
    *ping_pong = made;
    for (unsigned member = 0; member < 2; member++) {
        made->pipes[member][0] = made->pipes[member][1] = -1;
        made->sets[member] = sets[member];
    }
    for (unsigned member = 0; member < 2; member++)
        if (pipe(made->pipes[member]))
            return err_sys(err, -errno, "cannot make a pipe");
    return 0;
}

void ping_pong_close(struct ping_pong *ping_pong)
{
    if (!ping_pong)
        return;
    for (unsigned end = 0; end < 4; end++)
        if (ping_pong->pipes[end / 2][end % 2] >= 0)
            (void)close(ping_pong->pipes[end / 2][end % 2]);
    (void)munmap(ping_pong, sizeof(*ping_pong));
}

void ping_pong_begin(struct ping_pong *ping_pong, enum ping_pong_method method, size_t words,
                     uint64_t slice_ns)
{
    atomic_store(&ping_pong->turn, 0);
    ping_pong->finished = false;
    ping_pong->method = method;
    ping_pong->words = words;
    ping_pong->repeat.slice_ns = slice_ns;
    ping_pong->passes = ping_pong->yields = 0;
    ping_pong->failed[0] = ping_pong->failed[1] = 0;
    ping_pong->wrong[0] = ping_pong->wrong[1] = false;
}

static int write_word(int fd)
{
    int word = 0;
    ssize_t wrote;
    do
        wrote = write(fd, &word, sizeof(word));
    while (wrote < 0 && errno == EINTR);
    return wrote == sizeof(word) ? 0 : -errno;
}

static int read_word(int fd)
{
    int word;
    ssize_t got;
    do
        got = read(fd, &word, sizeof(word));
    while (got < 0 && errno == EINTR);
    return got == sizeof(word) ? 0 : -EPIPE;
}

static int pass_turn(struct ping_pong *ping_pong, unsigned member)
{
    if (ping_pong->method == PING_PONG_PIPE)
        return write_word(ping_pong->pipes[member][1]);
    if (ping_pong->method == PING_PONG_FUTEX)
        futex_set(&ping_pong->turn, 1 - member);
    else
        atomic_store_explicit(&ping_pong->turn, 1 - member, memory_order_release);
    return 0;
}

static int await_turn(struct ping_pong *ping_pong, unsigned member)
{
    if (ping_pong->method == PING_PONG_PIPE)
        return read_word(ping_pong->pipes[1 - member][0]);
    if (ping_pong->method == PING_PONG_FUTEX) {
        futex_wait_while(&ping_pong->turn, 1 - member);
        return 0;
    }
    uint64_t yields = 0;
    for (; atomic_load_explicit(&ping_pong->turn, memory_order_acquire) != member; yields++)
        (void)sched_yield();
    if (member == 0)
        ping_pong->yields += yields;
    return 0;
}

/* Times `n` round trips. */
static uint64_t time_round_trips(void *arg, uint64_t n)
{
    struct ping_pong *ping_pong = arg;
    if (!ping_pong->repeat.nbatches)
        ping_pong->yields = 0; /* drop those of the warm-up */
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        working_set_go_over(ping_pong->sets[0], ping_pong->words);
        int rc = pass_turn(ping_pong, 0);
        if (!rc)
            rc = await_turn(ping_pong, 0);
        if (rc) {
            ping_pong->failed[0] = rc;
            return 0;
        }
    }
    ping_pong->passes += n;
    return clock_now_ns() - start_ns;
}

static void lead_turns(struct ping_pong *ping_pong)
{
    ping_pong->round_trip_us = repeat_time(&ping_pong->repeat, time_round_trips, ping_pong);
    ping_pong->finished = true;
    (void)pass_turn(ping_pong, 0);
}

static void answer_turns(struct ping_pong *ping_pong)
{
    while (!(ping_pong->failed[1] = await_turn(ping_pong, 1)) && !ping_pong->finished) {
        working_set_go_over(ping_pong->sets[1], ping_pong->words);
        if ((ping_pong->failed[1] = pass_turn(ping_pong, 1)))
            return;
    }
}

void ping_pong_run(void *arg, unsigned member)
{
    struct ping_pong *ping_pong = arg;
    memset(ping_pong->sets[member], 0, ping_pong->words * sizeof(uint64_t));
    if (member == 0)
        lead_turns(ping_pong);
    else
        answer_turns(ping_pong);
    ping_pong->wrong[member] =
        !working_set_holds(ping_pong->sets[member], ping_pong->words, ping_pong->passes);
}

/* One member's system calls for a pass and a wait, without another member. */
static void call_once(struct ping_pong *ping_pong)
{
    if (ping_pong->method == PING_PONG_PIPE) {
        (void)write_word(ping_pong->pipes[0][1]);
        (void)read_word(ping_pong->pipes[0][0]);
    } else if (ping_pong->method == PING_PONG_FUTEX) {
        futex_set(&ping_pong->turn, 1);
        (void)syscall(SYS_futex, &ping_pong->turn, FUTEX_WAIT, 0, NULL, NULL,
                      0); /* turn is 1, not 0: returns at once */
    } else {
        (void)sched_yield();
    }
}

static uint64_t call_batch(void *arg, uint64_t n)
{
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        call_once(arg);
    return clock_now_ns() - start_ns;
}

static uint64_t set_batch(void *arg, uint64_t n)
{
    struct ping_pong *ping_pong = arg;
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        working_set_go_over(ping_pong->sets[0], ping_pong->words);
    return clock_now_ns() - start_ns;
}

double ping_pong_time_calls(struct ping_pong *ping_pong, enum ping_pong_method method)
{
    ping_pong->method = method;
    return repeat_time(&ping_pong->repeat, call_batch, ping_pong);
}

double ping_pong_time_set(struct ping_pong *ping_pong, size_t words)
{
    ping_pong->words = words;
    memset(ping_pong->sets[0], 0, words * sizeof(uint64_t));
    return repeat_time(&ping_pong->repeat, set_batch, ping_pong);
}
