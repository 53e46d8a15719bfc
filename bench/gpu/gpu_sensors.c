#include "bench/gpu/gpu_sensors.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "harness/lib/sys/clock.h"
#include "harness/machine/gpu_driver.h"

const char *const gpu_throttle_names[] = {
    "power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability", NULL};

enum { ENERGY = GPU_THROTTLES, COUNTERS };

static const unsigned counter_fields[COUNTERS] = {
    NVML_FIELD_LIMITED_BY_POWER, NVML_FIELD_LIMITED_BY_HEAT,    NVML_FIELD_LIMITED_BY_SYNC_BOOST,
    NVML_FIELD_LIMITED_BY_BOARD, NVML_FIELD_LIMITED_BY_LOW_USE, NVML_FIELD_LIMITED_BY_RELIABILITY,
    NVML_FIELD_ENERGY,
};

static const unsigned long long slow_reasons = NVML_THROTTLE_SW_THERMAL | NVML_THROTTLE_HW_THERMAL |
                                               NVML_THROTTLE_HW_SLOWDOWN |
                                               NVML_THROTTLE_HW_POWER_BRAKE;

int gpu_sensors_open(struct gpu_sensors *sensors, const char *pci_bdf, struct err *err)
{
    struct err why;
    *sensors = (struct gpu_sensors){0};
    const struct nvml_api *nvml = nvml_driver(&why);
    if (!nvml)
        return err_set(err, why.code, "%s", why.msg);
    int status = nvml->by_pci(pci_bdf, &sensors->device);
    if (status == 0)
        return 0;
    sensors->device = NULL;
    return err_set(err, -ENOTSUP, "NVML does not know GPU %.32s: %.120s (%d)", pci_bdf,
                   nvml->error_string ? nvml->error_string(status) : "error", status);
}

void gpu_sensors_read(const struct gpu_sensors *sensors, struct gpu_reading *reading)
{
    const struct nvml_api *nvml = nvml_driver(NULL);
    struct nvml_device *device = sensors->device;
    int64_t counters[COUNTERS];
    unsigned long long reasons;
    unsigned value;
    *reading = (struct gpu_reading){
        .energy_mj = -1, .clock_mhz = NAN, .temperature_c = NAN, .slowed = NAN};
    for (int i = 0; i < GPU_THROTTLES; i++)
        reading->throttled_ns[i] = -1;
    if (!nvml || !device)
        return;
    nvml_read_counters(nvml, device, counter_fields, COUNTERS, counters);
    reading->at_ns = clock_now_ns();
    reading->energy_mj = counters[ENERGY];
    memcpy(reading->throttled_ns, counters, sizeof(reading->throttled_ns));
    if (nvml->clock && nvml->clock(device, NVML_CLOCK_SM, &value) == 0)
        reading->clock_mhz = value;
    if (nvml->temperature && nvml->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        reading->temperature_c = value;
    if (nvml->throttle && nvml->throttle(device, &reasons) == 0)
        reading->slowed = (reasons & slow_reasons) != 0;
}

static void add(double *sum, unsigned *n, double value)
{
    if (isnan(value))
        return;
    *sum += value;
    *n += 1;
}

/* A counter that falls was reset: earlier readings are then useless. */
static bool was_reset(const struct gpu_reading *before, const struct gpu_reading *now)
{
    bool reset = now->energy_mj < before->energy_mj;
    for (int i = 0; i < GPU_THROTTLES; i++)
        reset = reset || now->throttled_ns[i] < before->throttled_ns[i];
    return reset;
}

/* Without an energy counter, each reading counts as a step of the other counters. */
static void add_counters(struct gpu_average *average, const struct gpu_reading *reading)
{
    const struct gpu_reading *before = &average->before;
    bool reset = average->nreadings && was_reset(before, reading);
    if (reset)
        average->nreadings = average->nsteps = 0;
    bool step =
        average->nreadings && (reading->energy_mj < 0 || reading->energy_mj != before->energy_mj);
    uint64_t gap_ns = reading->at_ns - before->at_ns;
    if (step && !average->nsteps++) {
        average->first = *reading;
        average->first_gap_ns = gap_ns;
    }
    if (step) {
        average->last = *reading;
        average->last_gap_ns = gap_ns;
    }
    average->before = *reading;
    average->nreadings++;
}

void gpu_average_add(struct gpu_average *average, const struct gpu_reading *reading)
{
    add(&average->clock_mhz, &average->nclock, reading->clock_mhz);
    add(&average->temperature_c, &average->ntemperature, reading->temperature_c);
    add(&average->slowed, &average->nslowed, reading->slowed);
    add_counters(average, reading);
}

static double mean(double sum, unsigned n)
{
    return n ? sum / n : (double)NAN;
}

/* The gain of a counter; NaN if unknown. */
static double gain(int64_t first, int64_t last)
{
    return first < 0 || last < 0 ? (double)NAN : (double)(last - first);
}

struct gpu_means gpu_average_get(const struct gpu_average *average)
{
    const struct gpu_reading *first = &average->first, *last = &average->last;
    struct gpu_means means = {.clock_mhz = mean(average->clock_mhz, average->nclock),
                              .temperature_c = mean(average->temperature_c, average->ntemperature),
                              .slowed = mean(average->slowed, average->nslowed),
                              .power_w = NAN};
    double late_ns = (double)(average->first_gap_ns > average->last_gap_ns ? average->first_gap_ns
                                                                           : average->last_gap_ns);
    double time_ns = (double)(last->at_ns - first->at_ns);
    bool known = average->nsteps > 1 && late_ns <= GPU_SENSORS_ERROR * time_ns;
    if (known) /* millijoules a nanosecond are megawatts */
        means.power_w = gain(first->energy_mj, last->energy_mj) / time_ns * 1e6;
    for (int i = 0; i < GPU_THROTTLES; i++) {
        double ns = known ? gain(first->throttled_ns[i], last->throttled_ns[i]) : (double)NAN;
        means.throttle[i] = isnan(ns) ? ns : fmin(ns / time_ns, 1);
    }
    return means;
}
