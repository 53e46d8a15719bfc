/*
 * The clock of every host interval: CLOCK_MONOTONIC_RAW, in nanoseconds. NTP does not slew it, and
 * all processes of one machine see the same origin.
 */
#ifndef CONTEND_LIB_SYS_CLOCK_H
#define CONTEND_LIB_SYS_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

uint64_t clock_now_ns(void);

/* The same in seconds. */
double clock_now_s(void);

/* Time of CLOCK_MONOTONIC, the clock of timers; a sleep until that time, also across signals. */
uint64_t clock_timer_ns(void);
void clock_sleep_until(uint64_t ns);

/* CPU time of the calling thread, in user mode and in the kernel. */
uint64_t clock_thread_cpu_ns(void);

/* Reads a clock by its id, such as another thread's CPU clock (pthread_getcpuclockid). */
uint64_t clock_read_ns(clockid_t clock);

/* Median cost of a clock_now_ns call on this CPU, or the clock's tick if that is longer; > 0. */
uint64_t clock_cost_ns(void);

/* Intervals shorter than this many clock calls are refused: the calls would distort them. */
enum { CLOCK_MIN_INTERVAL_CALLS = 100 };

/* A 32-bit word in shared memory on which processes sleep. Linux futex(2), not private. */

/* Sleeps until *word != value. */
void futex_wait_while(_Atomic uint32_t *word, uint32_t value);

/* Stores the value and wakes every sleeper. */
void futex_set(_Atomic uint32_t *word, uint32_t value);

#endif
