/*
 * Two threads or processes (the members of a cpu_pair) take turns, by a pipe, a futex or
 * sched_yield. The member whose turn it is goes over its own working set, then passes the turn.
 * Member 0 begins, and times the round trips.
 *
 *   rc = ping_pong_open(&ping_pong, sets, err);
 *   ping_pong_begin(ping_pong, PING_PONG_PIPE, words, slice_ns);
 *   rc = cpu_pair_run(&(struct cpu_pair){.run = ping_pong_run, .arg = ping_pong, ...}, err);
 *   ping_pong->round_trip_us ...
 *   ping_pong_close(ping_pong);
 */
#ifndef CONTEND_BENCH_OS_PING_PONG_H
#define CONTEND_BENCH_OS_PING_PONG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/*
 * Times a short operation: the median over batches, each so long that the time to read the clock is
 * negligible. Another program that takes the CPU for milliseconds disturbs only a few batches.
 *
 *   struct repeat repeat = {.slice_ns = 20000000};
 *   us = repeat_time(&repeat, batch, arg);      // batch(arg, n) does it n times
 */
enum { REPEAT_BATCHES = 1024 };

struct repeat {
    uint64_t slice_ns;         /* time to spend; set by the caller */
    unsigned nbatches;         /* timed so far; 0 during the warm-up */
    uint64_t items;            /* operations in the timed batches */
    double us[REPEAT_BATCHES]; /* per operation */
};

/* Does the operation `n` times and returns the ns that it took on clock_now_ns; 0: it failed. */
typedef uint64_t repeat_batch(void *arg, uint64_t n);

/* Memory that a member works on between two switches: it increments a word in each cache line. */
enum { WORKING_SETS = 4, WORKING_SET_MOST = 4 << 20, WORKING_SET_LINE = 8 /* words */ };

/* In bytes. */
extern const size_t working_set_sizes[WORKING_SETS];

/* Choices of an option: "all", then working_set_sizes. NULL-terminated. */
extern const char *const working_set_names[];

static inline void working_set_go_over(uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        ((volatile uint64_t *)set)[i]++;
}

/* True if the word in each line was incremented `times` times. */
static inline bool working_set_holds(const uint64_t *set, size_t words, uint64_t times)
{
    bool right = true;
    for (size_t i = 0; i < words; i += WORKING_SET_LINE)
        right &= set[i] == times;
    return right;
}

enum ping_pong_method { PING_PONG_PIPE, PING_PONG_FUTEX, PING_PONG_YIELD, PING_PONG_METHODS };

/* Lies in shared memory, so that two processes see it too. */
struct ping_pong {
    _Alignas(128) _Atomic uint32_t turn; /* the member whose turn it is */
    _Alignas(128) bool finished;         /* member 0 sets it before its last pass */
    int pipes[2][2];                     /* [the member that writes] */
    enum ping_pong_method method;
    size_t words;      /* of a working set */
    uint64_t *sets[2]; /* working sets; each process has its own copy */
    struct repeat repeat;
    double round_trip_us;
    uint64_t passes; /* by each member, warm-up included */
    uint64_t yields; /* calls of sched_yield by member 0 in the timed round trips (repeat.items) */
    int failed[2];   /* -errno of a call */
    bool wrong[2];   /* the member did not go over its set exactly once per turn */
};

/*
 * Allocates in shared memory. The sets stay the caller's. Call ping_pong_close after an error, too.
 * -ENOMEM: no memory to share; -errno of pipe().
 */
int ping_pong_open(struct ping_pong **ping_pong, uint64_t *const sets[2], struct err *err);
void ping_pong_close(struct ping_pong *ping_pong);

void ping_pong_begin(struct ping_pong *ping_pong, enum ping_pong_method method, size_t words,
                     uint64_t slice_ns);

/* The `run` function of a cpu_pair; `arg` is the struct ping_pong. */
void ping_pong_run(void *arg, unsigned member);

/* us of one member's system calls per round trip (one pass, one wait) without another member. */
double ping_pong_time_calls(struct ping_pong *ping_pong, enum ping_pong_method method);

/* us to go over a working set of `words` words that is already in the caches. */
double ping_pong_time_set(struct ping_pong *ping_pong, size_t words);

#endif
