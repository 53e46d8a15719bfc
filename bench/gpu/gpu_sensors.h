/*
 * What a GPU says about itself while it works: clock, power, temperature, and what holds its clock
 * back. By NVML (harness/gpu/driver.h), loaded when asked for.
 *
 *   struct gpu_sensors sensors;
 *   struct gpu_reading reading;
 *   if (gpu_sensors_open(&sensors, "0000:00:06.0", err) == 0)
 *       gpu_sensors_read(&sensors, &reading);
 *
 * Source: NVML API reference, docs.nvidia.com. Thread-safe; a reading takes from tens of
 * microseconds to some milliseconds, in which the GPU works on.
 */
#ifndef CONTEND_BENCH_GPU_GPU_SENSORS_H
#define CONTEND_BENCH_GPU_GPU_SENSORS_H

#include <stdbool.h>

#include "harness/base/err.h"

/* Why a clock is lower than it could be. */
enum gpu_throttle {
    GPU_THROTTLE_SW_POWER_CAP, /* at its power limit: what large matrix products are meant to do */
    GPU_THROTTLE_HW_SLOWDOWN,
    GPU_THROTTLE_SW_THERMAL,
    GPU_THROTTLE_HW_THERMAL,
    GPU_THROTTLE_POWER_BRAKE, /* the power supply asks for it */
    GPU_THROTTLES
};

/* "sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal", "power_brake" */
extern const char *const gpu_throttle_names[GPU_THROTTLES];

struct gpu_sensors {
    struct nvml_device *device; /* NULL = closed: readings are all NaN */
};

/* NaN where the GPU does not say. */
struct gpu_reading {
    double clock_mhz, power_w, temperature_c; /* of the SMs; now, where it can tell, or of 1 s */
    double throttle[GPU_THROTTLES];           /* 1 or 0 */
};

/* -ENOTSUP with the reason where NVML or the GPU in it is absent; the struct is closed then. */
int gpu_sensors_open(struct gpu_sensors *sensors, const char *pci_bdf, struct err *err);

void gpu_sensors_read(const struct gpu_sensors *sensors, struct gpu_reading *reading);

/* Bits of NVML's clock event reasons as throttle[]. */
void gpu_throttle_decode(unsigned long long reasons, double throttle[GPU_THROTTLES]);

/* Means over readings, each value over those that have it. A zeroed struct is empty. */
struct gpu_average {
    struct gpu_reading sum;
    unsigned n[3 + GPU_THROTTLES];
};

void gpu_average_add(struct gpu_average *average, const struct gpu_reading *reading);
struct gpu_reading gpu_average_get(const struct gpu_average *average);

#endif
