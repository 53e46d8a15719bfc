#include "harness/machine/state.h"

#include <errno.h>
#include <math.h>

#include "harness/machine/gpu_driver.h"

int gpu_state_read(const char *pci_bdf, struct gpu_state *out)
{
    struct nvml_device *device;
    unsigned value;
    struct nvml_utilization used;
    unsigned long long reasons = 0;
    *out = (struct gpu_state){.clock_mhz = NAN, .temperature_c = NAN, .busy = NAN};
    const struct nvml_api *nvml = nvml_driver(NULL);
    if (!nvml)
        return -ENOTSUP;
    if (nvml->by_pci(pci_bdf, &device))
        return -ENODEV;
    if (nvml->clock && nvml->clock(device, NVML_CLOCK_SM, &value) == 0)
        out->clock_mhz = value;
    if (nvml->temperature && nvml->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        out->temperature_c = value;
    if (nvml->utilization && nvml->utilization(device, &used) == 0 && used.gpu <= 100)
        out->busy = used.gpu / 100.0;
    if (nvml->throttle && nvml->throttle(device, &reasons) == 0)
        out->throttle_reasons = reasons;
    return 0;
}

int gpu_driver_version(char *version, size_t size)
{
    const struct nvml_api *nvml = nvml_driver(NULL);
    version[0] = '\0';
    if (!nvml || !nvml->driver_version || nvml->driver_version(version, (unsigned)size)) {
        version[0] = '\0';
        return -ENOTSUP;
    }
    gpu_driver_clean(version);
    return 0;
}

bool gpu_throttle_is_noise(uint64_t reasons)
{
    return reasons & (NVML_THROTTLE_HW_SLOWDOWN | NVML_THROTTLE_SW_THERMAL |
                      NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_HW_POWER_BRAKE);
}
