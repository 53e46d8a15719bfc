/* A GPU while it works: clock, temperature, what slows it down; and the version of its driver. */
#ifndef CONTEND_MACHINE_GPU_STATE_H
#define CONTEND_MACHINE_GPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A GPU at this moment; NaN where the driver does not tell. */
struct gpu_state {
    double clock_mhz; /* of the SMs */
    double temperature_c;
    double busy;               /* share of the time that some kernel ran, as NVML samples it */
    uint64_t throttle_reasons; /* NVML's bits, see gpu_throttle_is_noise */
};

/* -ENOTSUP without NVML, -ENODEV when it does not know the GPU; *out is then all unknown. */
int gpu_state_read(const char *pci_bdf, struct gpu_state *out);

/* "550.54.15". -ENOTSUP without NVML, and then "". */
int gpu_driver_version(char *version, size_t size);

/*
 * True when a measurement under these reasons is disturbed: the hardware slowed down for heat,
 * power supply or a brake signal. Idle clocks, application clocks and the software power cap are
 * how a GPU works under load, and are no noise.
 */
bool gpu_throttle_is_noise(uint64_t reasons);

#endif
