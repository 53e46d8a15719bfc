/* Rules of the health of GPUs: memory, clocks, modes, fabric, and whether collectives end. */
#include <math.h>

#include "harness/machine/gpu_driver.h"
#include "harness/validate/rules/rules.h"

static bool is_shared_without_mps(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return health->compute_mode != GPU_MODE_DEFAULT && !health->mps;
}

static double compute_mode(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return gpu_compute_mode_name(health->compute_mode) ? (double)health->compute_mode : (double)NAN;
}

static const char *name_of_mode(const struct unit *unit)
{
    const char *text = "";
    (void)text;
    return gpu_compute_mode_name(((const struct gpu_health *)unit->at)->compute_mode);
}

/* NaN if the driver reports no fabric. */
static double fabric_state(const struct unit *unit)
{
    int state = ((const struct gpu_health *)unit->at)->fabric_state;
    return state > NVML_FABRIC_NOT_SUPPORTED ? state : (double)NAN;
}

static bool has_failed_in_fabric(const struct unit *unit)
{
    const struct gpu_health *health = unit->at;
    return health->fabric_state != NVML_FABRIC_DONE || health->fabric_status != 0;
}

static bool has_gpu_and_rdma(const struct unit *unit)
{
    return unit->facts->topo->ngpus && unit->facts->rdma;
}

/* A collective that hung or failed is a FAIL here, not an error of the measurement. */
static bool has_ended(struct checks *checks)
{
    const enum facts_probe_name name = check_probe(checks);
    const struct facts_probe *probe = &checks->facts->probes[name];
    const char *how = name == PROBE_COLLECTIVE ? "with peer access" : "without peer access";
    if (probe->status != PROBE_HUNG && probe->status != PROBE_FAILED)
        return !check_lost(checks, name);
    check_report(checks, OUTCOME_FAIL, NULL, "an all-reduce of all GPUs %s %s: %s", how,
                 probe->status == PROBE_HUNG ? "did not end" : "failed", probe->reason);
    return false;
}

/* Reports reasons that hold clocks down. */
#define THROTTLED(reasons, why)                                                                    \
    {                                                                                              \
        OF_GPU, GPU(throttle_reasons), HAS, NUMBER(reasons), OUTCOME_FAIL, "temperature", "C",     \
            why, .only = GPU(clock_mhz), .shown = GPU(temperature_c)                               \
    }
#define BUSBW(name)                                                                                \
    {                                                                                              \
        OF_MACHINE, MEASURED(name, "collective_busbw", ""), TOLD, NUMBER(0), OUTCOME_PASS,         \
            "collective_busbw", "GB/s", ""                                                         \
    }
#define FABRIC(op, state, why)                                                                     \
    {                                                                                              \
        OF_GPU, MADE(fabric_state), op, NUMBER(state), OUTCOME_FAIL, NULL, NULL, why,              \
            .when = has_failed_in_fabric, .virtual_warns = true                                    \
    }

#define NOT_TOLD "the driver does not report it here"

const struct rule rules_health[] = {
    {"gpu_ecc", RULE_HEALTH, "hardware", ACTION_RESET, "driver",
     "No GPU has uncorrected ECC errors since the driver was loaded (in its life: a warning), and "
     "ECC is on.",
     "NVML, nvmlDeviceGetTotalEccErrors", "nvidia-smi -q -d ECC", .of_gpus = true,
     .limits = {{OF_GPU, GPU(ecc_uncorrected), ABOVE, NUMBER(0), OUTCOME_FAIL, "ecc_uncorrected",
                 "errors", "{v} uncorrected ECC errors since the driver was loaded"},
                {OF_GPU, GPU(ecc_uncorrected_life), ABOVE, NUMBER(0), OUTCOME_WARN,
                 "ecc_uncorrected_life", "errors", "{v} uncorrected ECC errors in its life"},
                {OF_GPU, GPU(ecc), EQUALS, NUMBER(0), OUTCOME_WARN, NULL, NULL,
                 "ECC is off: errors in its memory go unnoticed", .cause = "configuration",
                 .command = "sudo nvidia-smi -e 1 && sudo nvidia-smi --gpu-reset"}},
     .unknown = NOT_TOLD, .passed = "no uncorrected ECC errors"},
    {"gpu_rows", RULE_HEALTH, "hardware", ACTION_RESET, "driver",
     "No memory row waits to be remapped, and no remapping has failed.",
     "NVIDIA, GPU memory error management", "sudo nvidia-smi --gpu-reset", .of_gpus = true,
     .limits = {{OF_GPU, GPU(rows_failed), ABOVE, NUMBER(0), OUTCOME_FAIL, "rows_failed", "flag",
                 "remapping of a bad memory row has failed: replace the GPU",
                 .command = "nvidia-smi -q -d ROW_REMAPPER"},
                {OF_GPU, GPU(rows_pending), ABOVE, NUMBER(0), OUTCOME_FAIL, "rows_pending", "flag",
                 "row remapping pending: bad memory is in use until the GPU is reset"},
                {OF_GPU, GPU(pages_pending), ABOVE, NUMBER(0), OUTCOME_FAIL, "rows_pending", "flag",
                 "page retirement pending: bad memory is in use until the GPU is reset"}},
     .unknown = NOT_TOLD, .passed = "no memory row waits to be remapped"},
    {"gpu_throttling", RULE_HEALTH, "hardware", ACTION_WATCH, "driver",
     "Neither heat nor the power supply holds a GPU's clocks down.", "NVML, clock event reasons",
     "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER", .of_gpus = true,
     .limits = {THROTTLED(NVML_THROTTLE_HW_POWER_BRAKE,
                          "the power supply's brake holds its clocks down: check its power cables"),
                THROTTLED(NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_SW_THERMAL,
                          "its clocks are held down by heat: check fans and air flow"),
                THROTTLED(NVML_THROTTLE_HW_SLOWDOWN,
                          "the hardware holds its clocks down: heat or power")},
     .unknown = NOT_TOLD, .passed = "no GPU is held down by heat or power"},
    {"gpu_power_limit", RULE_HEALTH, "configuration", ACTION_FIX, "driver",
     "The power limits of GPUs are not below the default ones.",
     "NVML, nvmlDeviceGetPowerManagementDefaultLimit", "nvidia-smi -q -d POWER", .of_gpus = true,
     .limits = {{OF_GPU, GPU(power_limit_w), BELOW, GPU(power_limit_default_w), OUTCOME_WARN,
                 "power_limit", "W", "its power limit is {v} W, and {w} W by default",
                 .share = 0.999}},
     .unknown = NOT_TOLD, .passed = "power limits are the default ones"},
    {"gpu_persistence", RULE_HEALTH, "configuration", ACTION_FIX, "driver",
     "Persistence mode is on, so that no process waits for a GPU to start.",
     "NVIDIA, Driver Persistence", "sudo systemctl enable --now nvidia-persistenced",
     .of_gpus = true,
     .limits = {{OF_GPU, GPU(persistence), EQUALS, NUMBER(0), OUTCOME_WARN, NULL, NULL,
                 "persistence mode is off: an idle GPU is shut down, and slow to start"}},
     .unknown = NOT_TOLD, .passed = "persistence mode is on"},
    {"gpu_modes", RULE_HEALTH, "configuration", ACTION_FIX, "driver",
     "GPUs are in the default compute mode and not divided by MIG.",
     "NVML, nvmlDeviceGetComputeMode and nvmlDeviceGetMigMode", "nvidia-smi -q -d COMPUTE",
     .of_gpus = true,
     .limits = {{OF_GPU, MADE(compute_mode), ANY, NUMBER(0), OUTCOME_WARN, NULL, NULL,
                 "compute mode {t}: several processes cannot use it", .when = is_shared_without_mps,
                 .text = name_of_mode, .command = "sudo nvidia-smi -c 0"},
                {OF_GPU, GPU(mig), ABOVE, NUMBER(0), OUTCOME_WARN, NULL, NULL,
                 "MIG is on: only one instance was measured", .command = "nvidia-smi -L",
                 .independent = true}},
     .unknown = NOT_TOLD, .passed = "default compute mode, and no MIG"},
    {"gpu_processes", RULE_HEALTH, "setup", ACTION_FIX, "driver",
     "No other process uses a GPU while it is validated.",
     "NVML, nvmlDeviceGetComputeRunningProcesses", "nvidia-smi", .of_gpus = true,
     .limits = {{OF_GPU, GPU(nprocesses), ABOVE, NUMBER(0), OUTCOME_WARN, "gpu_processes",
                 "processes", "other processes use it ({v}): they disturb the measurements"}},
     .unknown = NOT_TOLD, .passed = "no other process uses a GPU"},
    {"gpu_fabric", RULE_HEALTH, "configuration", ACTION_FIX, "driver, NVSwitch",
     "The fabric manager has made every GPU part of the NVLink fabric.",
     "NVML, nvmlDeviceGetGpuFabricInfo", "sudo systemctl enable --now nvidia-fabricmanager",
     .of_gpus = true,
     .limits = {FABRIC(EQUALS, NVML_FABRIC_NOT_STARTED,
                       "the NVLink fabric has not been set up: the fabric manager does not run"),
                FABRIC(EQUALS, NVML_FABRIC_IN_PROGRESS, "the NVLink fabric is still being set up"),
                FABRIC(ANY, 0, "the fabric manager could not make it part of the NVLink fabric"),
                {OF_GPU, MADE(fabric_state), TOLD, NUMBER(0), OUTCOME_PASS, NULL, NULL, ""}},
     .absent = "no NVSwitch, or the driver does not report the fabric",
     .passed = "every GPU is part of the NVLink fabric"},
    {"peermem", RULE_HEALTH, "configuration", ACTION_FIX, "GPU, RDMA device",
     "Where GPUs and RDMA devices are, nvidia_peermem lets them talk directly.",
     "NVIDIA, GPUDirect RDMA", "sudo modprobe nvidia-peermem",
     .limits = {{OF_MACHINE, FACT(peermem), EQUALS, NUMBER(0), OUTCOME_WARN, NULL, NULL,
                 "nvidia_peermem is not loaded: RDMA from GPUs passes through host memory, unless "
                 "the open driver's dma-buf is used",
                 .when = has_gpu_and_rdma}},
     .absent = "no GPU, or no RDMA device", .passed = "nvidia_peermem is loaded"},
    {"collective_peer", RULE_HEALTH, "hardware", ACTION_RESET, "measurement, two GPUs, NCCL",
     "An all-reduce of all GPUs with peer access ends, with the right result: copies can work "
     "while every collective hangs.",
     "NCCL", "NCCL_DEBUG=INFO contend bench collective -b 8M -e 8M",
     .probes = 1u << PROBE_COLLECTIVE, .of_gpus = true, .ready = has_ended,
     .limits = {BUSBW(PROBE_COLLECTIVE)},
     .passed = "all-reduce with peer access: {v} GB/s bus, all elements right"},
    {"collective_staged", RULE_HEALTH, "configuration", ACTION_FIX, "measurement, two GPUs, NCCL",
     "The same without peer access (NCCL_P2P_DISABLE=1), through shared memory: if only this ends, "
     "check ACS and the IOMMU.",
     "NCCL, environment variables",
     "NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO contend bench collective -b 8M -e 8M",
     .probes = 1u << PROBE_COLLECTIVE_STAGED, .of_gpus = true, .ready = has_ended,
     .limits = {BUSBW(PROBE_COLLECTIVE_STAGED)},
     .passed = "all-reduce without peer access: {v} GB/s bus, all elements right"},
    {.id = NULL}};
