/*
 * The clock of every host interval: CLOCK_MONOTONIC_RAW, in nanoseconds (METHOD 5). It is not
 * slewed by NTP and has the same origin in every process of one machine.
 */
#ifndef CONTEND_LIB_SYS_CLOCK_H
#define CONTEND_LIB_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_now_ns(void);

/* The same in seconds. */
double clock_now_s(void);

/* The clock of timers, CLOCK_MONOTONIC, and sleep until it shows `ns`; signals do not end it. */
uint64_t clock_timer_ns(void);
void clock_sleep_until(uint64_t ns);

/* CPU time that the calling thread has had, in user mode and in the kernel. */
uint64_t clock_thread_cpu_ns(void);

/* A clock by its id, such as that of another thread (pthread_getcpuclockid). */
uint64_t clock_read_ns(clockid_t clock);

/* Median cost of a clock_now_ns call on this CPU, or the clock's tick if that is longer; > 0. */
uint64_t clock_cost_ns(void);

/* Intervals shorter than this many clock calls are refused: the clock would be part of them. */
enum { CLOCK_MIN_INTERVAL_CALLS = 100 };

#endif
