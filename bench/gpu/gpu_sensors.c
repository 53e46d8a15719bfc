#include "bench/gpu/gpu_sensors.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "harness/gpu/driver.h"

const char *const gpu_throttle_names[GPU_THROTTLES] = {"sw_power_cap", "hw_slowdown", "sw_thermal",
                                                       "hw_thermal", "power_brake"};

static const unsigned long long throttle_bits[GPU_THROTTLES] = {
    NVML_THROTTLE_SW_POWER_CAP, NVML_THROTTLE_HW_SLOWDOWN, NVML_THROTTLE_SW_THERMAL,
    NVML_THROTTLE_HW_THERMAL, NVML_THROTTLE_HW_POWER_BRAKE};

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

/* NVML's power usage is a mean over a second on many GPUs, longer than what we measure. */
static double read_power(const struct nvml_api *nvml, struct nvml_device *device)
{
    unsigned milliwatts;
    struct nvml_field field = {.field = NVML_FIELD_POWER_INSTANT};
    if (nvml->fields && nvml->fields(device, 1, &field) == 0 && field.status == 0 &&
        field.type == NVML_VALUE_UNSIGNED)
        return field.value.u * 1e-3;
    return nvml->power && nvml->power(device, &milliwatts) == 0 ? milliwatts * 1e-3 : (double)NAN;
}

void gpu_throttle_decode(unsigned long long reasons, double throttle[GPU_THROTTLES])
{
    for (int i = 0; i < GPU_THROTTLES; i++)
        throttle[i] = reasons & throttle_bits[i] ? 1 : 0;
}

void gpu_sensors_read(const struct gpu_sensors *sensors, struct gpu_reading *reading)
{
    const struct nvml_api *nvml = nvml_driver(NULL);
    struct nvml_device *device = sensors->device;
    unsigned value;
    unsigned long long reasons;
    *reading = (struct gpu_reading){.clock_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
    for (int i = 0; i < GPU_THROTTLES; i++)
        reading->throttle[i] = NAN;
    if (!nvml || !device)
        return;
    if (nvml->clock && nvml->clock(device, NVML_CLOCK_SM, &value) == 0)
        reading->clock_mhz = value;
    reading->power_w = read_power(nvml, device);
    if (nvml->temperature && nvml->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        reading->temperature_c = value;
    if (nvml->throttle && nvml->throttle(device, &reasons) == 0)
        gpu_throttle_decode(reasons, reading->throttle);
}

static void add(double *sum, unsigned *n, double value)
{
    if (isnan(value))
        return;
    *sum += value;
    *n += 1;
}

void gpu_average_add(struct gpu_average *average, const struct gpu_reading *reading)
{
    struct gpu_reading *sum = &average->sum;
    add(&sum->clock_mhz, &average->n[0], reading->clock_mhz);
    add(&sum->power_w, &average->n[1], reading->power_w);
    add(&sum->temperature_c, &average->n[2], reading->temperature_c);
    for (int i = 0; i < GPU_THROTTLES; i++)
        add(&sum->throttle[i], &average->n[3 + i], reading->throttle[i]);
}

static double mean(double sum, unsigned n)
{
    return n ? sum / n : (double)NAN;
}

struct gpu_reading gpu_average_get(const struct gpu_average *average)
{
    const struct gpu_reading *sum = &average->sum;
    struct gpu_reading reading = {.clock_mhz = mean(sum->clock_mhz, average->n[0]),
                                  .power_w = mean(sum->power_w, average->n[1]),
                                  .temperature_c = mean(sum->temperature_c, average->n[2])};
    for (int i = 0; i < GPU_THROTTLES; i++)
        reading.throttle[i] = mean(sum->throttle[i], average->n[3 + i]);
    return reading;
}
