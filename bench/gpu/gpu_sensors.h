/*
 * Reads a GPU's sensors while it works: clock, temperature, and, by counters, its power and the
 * reasons that hold its clock back. Uses NVML (harness/machine/gpu_driver.h), loaded on first use.
 *
 *   struct gpu_sensors sensors;
 *   struct gpu_average average = {0};
 *   struct gpu_reading reading;
 *   if (gpu_sensors_open(&sensors, "0000:00:06.0", err) == 0)
 *       gpu_sensors_read(&sensors, &reading), gpu_average_add(&average, &reading);  again and again
 *   watts = gpu_average_get(&average).power_w;
 *
 * Power is the gain of the energy counter / time. The power sensor is not used: on recent GPUs it
 * is a mean over a second, longer than a measurement. The counter moves in steps of 20 to 100 ms.
 * So the time runs from the reading that sees the first step to the reading that sees the last
 * step. Each reading sees its step late, by up to the time since the previous reading. If that
 * is more than GPU_SENSORS_ERROR of the whole time, power is unknown. The shares of time in which a
 * limit held the clock come from counters, too, over the same time.
 *
 * Source: NVML API reference, docs.nvidia.com. Thread-safe; a reading takes from tens of
 * microseconds to some milliseconds, and the GPU continues its work meanwhile.
 */
#ifndef CONTEND_BENCH_GPU_GPU_SENSORS_H
#define CONTEND_BENCH_GPU_GPU_SENSORS_H

#include <stdint.h>

#include "harness/lib/err.h"

#define GPU_SENSORS_ERROR 0.04

/* Why a clock is lower than it could be: limits for which NVML counts time. */
enum gpu_throttle {
    GPU_THROTTLE_POWER, /* at its power limit: normal for large matrix products */
    GPU_THROTTLE_THERMAL,
    GPU_THROTTLE_SYNC_BOOST,
    GPU_THROTTLE_BOARD_LIMIT,
    GPU_THROTTLE_LOW_UTILIZATION,
    GPU_THROTTLE_RELIABILITY, /* voltage */
    GPU_THROTTLES
};

/* "power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability" */
extern const char *const gpu_throttle_names[];

struct gpu_sensors {
    struct nvml_device *device; /* NULL = closed: readings hold nothing */
};

/* NaN, or -1 for counters, if the GPU does not report a value. */
struct gpu_reading {
    uint64_t at_ns; /* when the counters were read */
    int64_t energy_mj, throttled_ns[GPU_THROTTLES];
    double clock_mhz, temperature_c; /* current; the clock is that of the SMs */
    double slowed; /* 1 if heat, the power brake or the hardware holds the clock now, else 0 */
};

/* -ENOTSUP with the reason if NVML is absent or does not know the GPU; the struct stays closed. */
int gpu_sensors_open(struct gpu_sensors *sensors, const char *pci_bdf, struct err *err);

void gpu_sensors_read(const struct gpu_sensors *sensors, struct gpu_reading *reading);

/* The average of readings, added in the order of their time. A zeroed struct is empty. */
struct gpu_average {
    double clock_mhz, temperature_c, slowed; /* sums */
    unsigned nclock, ntemperature, nslowed, nreadings, nsteps;
    struct gpu_reading before, first, last; /* the latest; those that saw the first and last step */
    uint64_t first_gap_ns, last_gap_ns;     /* from the previous reading to first and last */
};

/* NaN = unknown. */
struct gpu_means {
    double clock_mhz, temperature_c; /* over the readings that have the value */
    double slowed;                   /* share of the readings */
    double power_w;
    double throttle[GPU_THROTTLES]; /* share of the time */
};

void gpu_average_add(struct gpu_average *average, const struct gpu_reading *reading);
struct gpu_means gpu_average_get(const struct gpu_average *average);

#endif
