/* The clock of device sim, for other models. */
#ifndef CONTEND_BENCH_DEVICE_DEVICE_SIM_H
#define CONTEND_BENCH_DEVICE_DEVICE_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/device/device.h"

/*
 * Returns when clock_now_ns reaches `until_ns`: sleeps, or spins on the clock. Adds a sleep to
 * *slept, which may be NULL.
 */
void device_sim_wait_until(uint64_t until_ns, bool spin, struct device_sleep *slept);

#endif
