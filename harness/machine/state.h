/* State of a GPU under load: clock, temperature, throttling; and the driver's version. */
#ifndef CONTEND_MACHINE_STATE_H
#define CONTEND_MACHINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State at this moment; NaN = unknown. */
struct gpu_state {
    double clock_mhz; /* of the SMs */
    double temperature_c;
    double busy;               /* share of the time that a kernel ran, as NVML samples it */
    uint64_t throttle_reasons; /* NVML's bits, see gpu_throttle_is_noise */
};

/* -ENOTSUP without NVML, -ENODEV if NVML does not know the GPU; *out is then all unknown. */
int gpu_state_read(const char *pci_bdf, struct gpu_state *out);

/* The driver's version, such as "550.54.15". -ENOTSUP without NVML, with "". */
int gpu_driver_version(char *version, size_t size);

/*
 * True if these reasons disturb a measurement: the hardware slowed down for heat, power supply or a
 * brake signal. Idle clocks, application clocks and the software power cap are normal under load.
 */
bool gpu_throttle_is_noise(uint64_t reasons);

#endif
