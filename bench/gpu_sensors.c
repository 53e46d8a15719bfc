#include "bench/gpu_sensors.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const gpu_throttle_names[GPU_THROTTLES] = {"sw_power_cap", "hw_slowdown", "sw_thermal",
                                                       "hw_thermal", "power_brake"};

/* nvmlClocksEventReason...: SwPowerCap, HwSlowdown, SwThermal, HwThermal, HwPowerBrake. */
static const unsigned long long throttle_bits[GPU_THROTTLES] = {0x4, 0x8, 0x20, 0x40, 0x80};

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0, FIELD_POWER_INSTANT = 186, VALUE_UNSIGNED = 1 };

/* nvmlFieldValue_t */
struct field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};

/* nvmlDevice_t is a pointer, nvmlReturn_t an int with 0 for success. */
static struct {
    int (*init)(void);
    int (*by_pci)(const char *pci_bdf, void **device);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*power)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int which, unsigned *celsius);
    int (*throttle)(void *device, unsigned long long *reasons);
    int (*fields)(void *device, int count, struct field_value *values);
    const char *(*error_string)(int status);
} nvml;

static struct err why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The newer of two names comes first. */
static const struct {
    void *to;
    const char *name, *older;
} symbols[] = {
    {&nvml.init, "nvmlInit_v2", "nvmlInit"},
    {&nvml.by_pci, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"},
    {&nvml.clock, "nvmlDeviceGetClockInfo", NULL},
    {&nvml.power, "nvmlDeviceGetPowerUsage", NULL},
    {&nvml.temperature, "nvmlDeviceGetTemperature", NULL},
    {&nvml.throttle, "nvmlDeviceGetCurrentClocksEventReasons",
     "nvmlDeviceGetCurrentClocksThrottleReasons"},
    {&nvml.fields, "nvmlDeviceGetFieldValues", NULL},
    {&nvml.error_string, "nvmlErrorString", NULL},
};

/* A library that is there is never closed: it may run threads. */
static void load(void)
{
    const char *path = getenv("CONTEND_LIBNVML");
    path = path && *path ? path : "libnvidia-ml.so.1";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        (void)err_set(&why_not, -ENOTSUP, "no NVML here: %.160s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found && symbols[i].older)
            found = dlsym(library, symbols[i].older);
        memcpy(symbols[i].to, &found, sizeof(found));
    }
    if (!nvml.init || !nvml.by_pci) {
        (void)err_set(&why_not, -ENOTSUP, "%.100s is too old", path);
        return;
    }
    int status = nvml.init();
    if (status)
        (void)err_set(&why_not, -ENOTSUP, "nvmlInit failed: %.160s (%d)",
                      nvml.error_string ? nvml.error_string(status) : "error", status);
}

int gpu_sensors_open(struct gpu_sensors *sensors, const char *pci_bdf, struct err *err)
{
    *sensors = (struct gpu_sensors){0};
    (void)pthread_once(&once, load);
    if (why_not.code)
        return err_set(err, why_not.code, "%s", why_not.msg);
    int status = nvml.by_pci(pci_bdf, &sensors->device);
    if (status == 0)
        return 0;
    sensors->device = NULL;
    return err_set(err, -ENOTSUP, "NVML does not know GPU %.32s: %.120s (%d)", pci_bdf,
                   nvml.error_string ? nvml.error_string(status) : "error", status);
}

/* NVML's power usage is a mean over a second on many GPUs, longer than what we measure. */
static double read_power(void *device)
{
    unsigned milliwatts;
    struct field_value field = {.field = FIELD_POWER_INSTANT};
    if (nvml.fields && nvml.fields(device, 1, &field) == 0 && field.status == 0 &&
        field.type == VALUE_UNSIGNED)
        return field.value.u * 1e-3;
    return nvml.power && nvml.power(device, &milliwatts) == 0 ? milliwatts * 1e-3 : (double)NAN;
}

void gpu_throttle_decode(unsigned long long reasons, double throttle[GPU_THROTTLES])
{
    for (int i = 0; i < GPU_THROTTLES; i++)
        throttle[i] = reasons & throttle_bits[i] ? 1 : 0;
}

void gpu_sensors_read(const struct gpu_sensors *sensors, struct gpu_reading *reading)
{
    void *device = sensors->device;
    unsigned value;
    unsigned long long reasons;
    *reading = (struct gpu_reading){.clock_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
    for (int i = 0; i < GPU_THROTTLES; i++)
        reading->throttle[i] = NAN;
    if (!device)
        return;
    if (nvml.clock && nvml.clock(device, CLOCK_SM, &value) == 0)
        reading->clock_mhz = value;
    reading->power_w = read_power(device);
    if (nvml.temperature && nvml.temperature(device, TEMPERATURE_GPU, &value) == 0)
        reading->temperature_c = value;
    if (nvml.throttle && nvml.throttle(device, &reasons) == 0)
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
