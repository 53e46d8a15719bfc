#include "bench/os/ping_pong.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/os/repeat.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"

int ping_pong_open(struct ping_pong **ping_pong, uint64_t *const sets[2], struct err *err)
{
    struct ping_pong *made =
        mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two players share");
    *ping_pong = made;
    for (unsigned who = 0; who < 2; who++) {
        made->pipes[who][0] = made->pipes[who][1] = -1;
        made->sets[who] = sets[who];
    }
    for (unsigned who = 0; who < 2; who++)
        if (pipe(made->pipes[who]))
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

void ping_pong_begin(struct ping_pong *ping_pong, enum ping_pong_how how, size_t words,
                     uint64_t slice_ns)
{
    atomic_store(&ping_pong->ball, 0);
    ping_pong->over = false;
    ping_pong->how = how;
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

static int pass_ball(struct ping_pong *ping_pong, unsigned who)
{
    if (ping_pong->how == PING_PONG_PIPE)
        return write_word(ping_pong->pipes[who][1]);
    if (ping_pong->how == PING_PONG_FUTEX)
        futex_set(&ping_pong->ball, 1 - who);
    else
        atomic_store_explicit(&ping_pong->ball, 1 - who, memory_order_release);
    return 0;
}

static int await_ball(struct ping_pong *ping_pong, unsigned who)
{
    if (ping_pong->how == PING_PONG_PIPE)
        return read_word(ping_pong->pipes[1 - who][0]);
    if (ping_pong->how == PING_PONG_FUTEX) {
        futex_wait_while(&ping_pong->ball, 1 - who);
        return 0;
    }
    uint64_t yields = 0;
    for (; atomic_load_explicit(&ping_pong->ball, memory_order_acquire) != who; yields++)
        (void)sched_yield();
    if (who == 0)
        ping_pong->yields += yields;
    return 0;
}

/* Times `n` round trips. */
static uint64_t serve_batch(void *arg, uint64_t n)
{
    struct ping_pong *ping_pong = arg;
    if (!ping_pong->repeat.nbatches)
        ping_pong->yields = 0; /* drop those of the warm-up */
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        working_set_go_over(ping_pong->sets[0], ping_pong->words);
        int rc = pass_ball(ping_pong, 0);
        if (!rc)
            rc = await_ball(ping_pong, 0);
        if (rc) {
            ping_pong->failed[0] = rc;
            return 0;
        }
    }
    ping_pong->passes += n;
    return clock_now_ns() - start_ns;
}

static void serve(struct ping_pong *ping_pong)
{
    ping_pong->round_trip_us = repeat_time(&ping_pong->repeat, serve_batch, ping_pong);
    ping_pong->over = true;
    (void)pass_ball(ping_pong, 0);
}

static void return_serves(struct ping_pong *ping_pong)
{
    while (!(ping_pong->failed[1] = await_ball(ping_pong, 1)) && !ping_pong->over) {
        working_set_go_over(ping_pong->sets[1], ping_pong->words);
        if ((ping_pong->failed[1] = pass_ball(ping_pong, 1)))
            return;
    }
}

void ping_pong_play(void *arg, unsigned who)
{
    struct ping_pong *ping_pong = arg;
    memset(ping_pong->sets[who], 0, ping_pong->words * sizeof(uint64_t));
    if (who == 0)
        serve(ping_pong);
    else
        return_serves(ping_pong);
    ping_pong->wrong[who] =
        !working_set_holds(ping_pong->sets[who], ping_pong->words, ping_pong->passes);
}

/* One player's system calls for a pass and a wait, without another player. */
static void call_once(struct ping_pong *ping_pong)
{
    if (ping_pong->how == PING_PONG_PIPE) {
        (void)write_word(ping_pong->pipes[0][1]);
        (void)read_word(ping_pong->pipes[0][0]);
    } else if (ping_pong->how == PING_PONG_FUTEX) {
        futex_set(&ping_pong->ball, 1);
        (void)syscall(SYS_futex, &ping_pong->ball, FUTEX_WAIT, 0, NULL, NULL,
                      0); /* ball is 1, not 0: returns at once */
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

double ping_pong_time_calls(struct ping_pong *ping_pong, enum ping_pong_how how)
{
    ping_pong->how = how;
    return repeat_time(&ping_pong->repeat, call_batch, ping_pong);
}

double ping_pong_time_set(struct ping_pong *ping_pong, size_t words)
{
    ping_pong->words = words;
    memset(ping_pong->sets[0], 0, words * sizeof(uint64_t));
    return repeat_time(&ping_pong->repeat, set_batch, ping_pong);
}
