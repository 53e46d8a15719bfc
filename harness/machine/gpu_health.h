/*
 * Health of GPUs: links, memory errors, modes, other users. Read through NVML, which hides much of
 * it on virtual machines. Any field may be unknown: an absent call, an error or an impossible value
 * means unknown. Source: NVML API reference, docs.nvidia.com.
 *
 *   struct gpu_health health;
 *   struct findings findings = {0};
 *   if (!gpu_health_read("0000:01:00.0", &health))
 *       gpu_health_judge(&health, "GPU 0 (0000:01:00.0)", &findings);
 */
#ifndef CONTEND_MACHINE_GPU_HEALTH_H
#define CONTEND_MACHINE_GPU_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/finding.h"
#include "harness/machine/gpu_driver.h"

enum { GPU_INSTANCES_MAX = 8, GPU_PROCESSES_MAX = 8 };

/* NVML's numbers; GPU_MODE_EXCLUSIVE_THREAD is obsolete. */
enum gpu_compute_mode {
    GPU_MODE_UNKNOWN = -1,
    GPU_MODE_DEFAULT,
    GPU_MODE_EXCLUSIVE_THREAD,
    GPU_MODE_PROHIBITED,
    GPU_MODE_EXCLUSIVE
};

/* Unknown: -1 for integers, NaN for doubles, "" for text. Flags are 0 or 1. */
struct gpu_health {
    int pcie_generation;            /* now: an idle GPU lowers it */
    int pcie_generation_link;       /* maximum of device and link */
    int pcie_generation_gpu;        /* maximum of the device */
    int pcie_width, pcie_width_max; /* lanes; the width does not change with load */
    int nvlinks, nvlinks_active;    /* 0 = it has none */
    int nvlink_version;
    int fabric_state;     /* NVML_FABRIC_*, for NVSwitch */
    int fabric_status;    /* with NVML_FABRIC_DONE: 0 = it is part of the fabric */
    int ecc, ecc_pending; /* on now; on after the next reset */
    int64_t ecc_corrected, ecc_uncorrected;           /* since the driver was loaded */
    int64_t ecc_corrected_life, ecc_uncorrected_life; /* over the GPU's life */
    int rows_corrected, rows_uncorrected;             /* remapped rows of memory, by cause */
    int rows_pending, rows_failed;                    /* flags */
    int pages_pending;                                /* flag: to be retired at the next reset */
    int persistence;
    enum gpu_compute_mode compute_mode;
    bool mps; /* an MPS daemon runs: it lets processes share GPUs in exclusive mode */
    int mig, mig_pending;
    int ninstances; /* may be more than GPU_INSTANCES_MAX */
    struct gpu_instance {
        char name[48]; /* "MIG 1g.18gb" */
        char uuid[64]; /* what CUDA_VISIBLE_DEVICES takes */
    } instances[GPU_INSTANCES_MAX];
    int nprocesses; /* other processes with a context on it; may be more than listed */
    struct gpu_process {
        unsigned pid;
        char name[32];        /* "" = unknown */
        int64_t memory_bytes; /* -1 = unknown */
    } processes[GPU_PROCESSES_MAX];
    double clock_mhz, clock_max_mhz, memory_clock_mhz; /* clock: of the SMs */
    double memory_clock_max_mhz;
    int memory_bus_bits; /* width of the memory's bus */
    double memory_bytes; /* all of it; an H100 of "80 GB" has 79.6 GiB */
    double power_w, power_limit_w, power_limit_default_w;
    double temperature_c;
    uint64_t throttle_reasons; /* NVML's bits; 0 also when unknown */
};

/* Sets all fields to unknown. */
void gpu_health_init(struct gpu_health *health);

/* -ENOTSUP without NVML, -ENODEV if NVML does not know the GPU; *health is then all unknown. */
int gpu_health_read(const char *pci_bdf, struct gpu_health *health);

/*
 * Appends findings on what a user should know; free *findings with findings_free. Pure. Unknown
 * values, and a PCIe generation that is only low now, are no findings. FINDING_BAD costs speed or
 * correct results; the rest are notes. Ids: gpu_pcie, gpu_nvlink, gpu_ecc, gpu_memory (rows and
 * pages that are, or must be, replaced), gpu_persistence, gpu_compute_mode, gpu_processes, gpu_mig,
 * gpu_power, gpu_slowdown.
 */
void gpu_health_judge(const struct gpu_health *health, const char *subject,
                      struct findings *findings);

/* The known values, with maxima after "/": "PCIe x16 gen 1/5; 18 NVLinks; ECC; 345/1980 MHz". */
const char *gpu_health_format(const struct gpu_health *health);

/* "default", "exclusive", "prohibited", ...; NULL when unknown. */
const char *gpu_compute_mode_name(enum gpu_compute_mode mode);

/* State of a GPU under load: clock, temperature, throttling; and the driver's version. */

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

/*
 * The processes that use GPUs, by NVML: for compute and graphics. In a container with its own pid
 * namespace, some drivers report pids of that namespace, some none, and some pids of the host,
 * which belong to other processes or to none there.
 */
enum { GPU_LIST_MAX = 64, GPU_USERS_MAX = 256 };

struct gpu_users {
    char pci_bdf[32];   /* "0000:01:00.0", as in sysfs */
    char name[64];      /* "" = unknown */
    struct bitset cpus; /* CPUs near it; empty = unknown */
    unsigned n;
    unsigned pids[GPU_USERS_MAX];
    uint64_t bytes[GPU_USERS_MAX]; /* memory of each on this GPU; UINT64_MAX = unknown */
};

/*
 * True if it has a device of the driver open, also one inherited by fork; false if we may not see.
 */
bool gpu_has_device_open(unsigned pid);

/*
 * Returns all GPUs that NVML knows in a new array *gpus of *n, which the caller frees, with those
 * users that pass gpu_pid_is_ours. -ENOTSUP without NVML, with the reason; -ENOMEM.
 */
int gpu_users_read(struct gpu_users **gpus, size_t *n, struct err *err);

#endif
