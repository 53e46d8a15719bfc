/* Rules of health of the GPUs: memory, clocks, modes, fabric, and whether collectives end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/machine/gpu/driver.h"
#include "harness/machine/gpu/health.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/validate/rules/check.h"

/* Looks at one GPU, *known when there was something to look at. True where nothing is wrong. */
typedef bool look_at_gpu(struct checks *checks, const char *unit, const struct gpu_health *health,
                         bool *known);

static void judge_each(struct checks *checks, look_at_gpu *look, const char *passed)
{
    const struct topo *topo = checks->facts->topo;
    bool good = true, any = false;
    char name[64];
    for (unsigned i = 0; i < topo->ngpus; i++) {
        bool known = false;
        if (topo->gpus[i].health)
            good = look(checks, topo_gpu_name(&topo->gpus[i], name, sizeof(name)),
                        topo->gpus[i].health, &known) &&
                   good;
        any = any || known;
    }
    if (!topo->ngpus)
        check_skip(checks, "no GPU");
    else if (!any)
        check_skip(checks, "the driver does not tell it here");
    else if (good)
        check_pass(checks, "%s", passed);
}

static bool look_at_ecc(struct checks *checks, const char *unit, const struct gpu_health *health,
                        bool *known)
{
    struct check check = {.unit = unit,
                          .metric = "ecc_uncorrected",
                          .in = "errors",
                          .value = (double)health->ecc_uncorrected,
                          .low = NAN,
                          .high = 0};
    *known = health->ecc >= 0 || health->ecc_uncorrected >= 0;
    if (health->ecc_uncorrected > 0) {
        check_fail(checks, &check, "%lld uncorrected ECC errors since the driver was loaded",
                   (long long)health->ecc_uncorrected);
        return false;
    }
    if (health->ecc_uncorrected_life > 0) {
        check.metric = "ecc_uncorrected_life";
        check.value = (double)health->ecc_uncorrected_life;
        check_warn(checks, &check, "%lld uncorrected ECC errors in its life",
                   (long long)health->ecc_uncorrected_life);
        return false;
    }
    if (health->ecc == 0) {
        check = (struct check){.unit = unit,
                               .cause = "configuration",
                               .command = "sudo nvidia-smi -e 1 && sudo nvidia-smi --gpu-reset"};
        check_warn(checks, &check, "ECC is off: errors of its memory go unseen");
        return false;
    }
    return true;
}

static void judge_ecc(struct checks *checks)
{
    judge_each(checks, look_at_ecc, "no uncorrected ECC errors");
}

static bool look_at_rows(struct checks *checks, const char *unit, const struct gpu_health *health,
                         bool *known)
{
    *known = health->rows_pending >= 0 || health->pages_pending >= 0;
    if (health->rows_failed == 1)
        check_fail(checks,
                   &(struct check){.unit = unit,
                                   .command = "nvidia-smi -q -d ROW_REMAPPER",
                                   .metric = "rows_failed",
                                   .in = "flag",
                                   .value = 1,
                                   .low = NAN,
                                   .high = 0},
                   "remapping of a bad memory row has failed: replace the GPU");
    else if (health->rows_pending == 1 || health->pages_pending == 1)
        check_fail(checks,
                   &(struct check){.unit = unit,
                                   .metric = "rows_pending",
                                   .in = "flag",
                                   .value = 1,
                                   .low = NAN,
                                   .high = 0},
                   "%s pending: bad memory is in use until the GPU is reset",
                   health->rows_pending == 1 ? "row remapping" : "page retirement");
    else
        return true;
    return false;
}

static void judge_rows(struct checks *checks)
{
    judge_each(checks, look_at_rows, "no memory row waits to be remapped");
}

static bool look_at_throttling(struct checks *checks, const char *unit,
                               const struct gpu_health *health, bool *known)
{
    const struct check check = {.unit = unit,
                                .metric = "temperature",
                                .in = "C",
                                .value = health->temperature_c,
                                .low = NAN,
                                .high = NAN};
    uint64_t reasons = health->throttle_reasons;
    *known = !isnan(health->clock_mhz);
    if (reasons & NVML_THROTTLE_HW_POWER_BRAKE)
        check_fail(checks, &check,
                   "the power supply's brake holds its clocks down: look at its power cables");
    else if (reasons & (NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_SW_THERMAL))
        check_fail(checks, &check, "its clocks are held down by heat: look at fans and air flow");
    else if (reasons & NVML_THROTTLE_HW_SLOWDOWN)
        check_fail(checks, &check, "the hardware holds its clocks down: heat or power");
    else
        return true;
    return false;
}

static void judge_throttling(struct checks *checks)
{
    judge_each(checks, look_at_throttling, "no GPU is held down by heat or power");
}

static bool look_at_power(struct checks *checks, const char *unit, const struct gpu_health *health,
                          bool *known)
{
    *known = !isnan(health->power_limit_w) && !isnan(health->power_limit_default_w);
    if (!*known || health->power_limit_w >= health->power_limit_default_w - 0.5)
        return true;
    check_warn(checks,
               &(struct check){.unit = unit,
                               .metric = "power_limit",
                               .in = "W",
                               .value = health->power_limit_w,
                               .low = health->power_limit_default_w,
                               .high = NAN},
               "its power limit is %.0f W, and %.0f W by default", health->power_limit_w,
               health->power_limit_default_w);
    return false;
}

static void judge_power(struct checks *checks)
{
    judge_each(checks, look_at_power, "power limits are the default ones");
}

static bool look_at_persistence(struct checks *checks, const char *unit,
                                const struct gpu_health *health, bool *known)
{
    *known = health->persistence >= 0;
    if (health->persistence != 0)
        return true;
    check_warn(checks, &(struct check){.unit = unit},
               "persistence mode is off: an idle GPU is shut down, and slow to start");
    return false;
}

static void judge_persistence(struct checks *checks)
{
    judge_each(checks, look_at_persistence, "persistence mode is on");
}

static bool look_at_modes(struct checks *checks, const char *unit, const struct gpu_health *health,
                          bool *known)
{
    const char *mode = gpu_compute_mode_name(health->compute_mode);
    bool good = true;
    *known = mode || health->mig >= 0;
    if (mode && health->compute_mode != GPU_MODE_DEFAULT && !health->mps) {
        check_warn(checks, &(struct check){.unit = unit, .command = "sudo nvidia-smi -c 0"},
                   "compute mode %s: several processes cannot use it", mode);
        good = false;
    }
    if (health->mig == 1) {
        check_warn(checks, &(struct check){.unit = unit, .command = "nvidia-smi -L"},
                   "MIG is on: what was measured is one instance of it");
        good = false;
    }
    return good;
}

static void judge_modes(struct checks *checks)
{
    judge_each(checks, look_at_modes, "default compute mode, and no MIG");
}

static bool look_at_processes(struct checks *checks, const char *unit,
                              const struct gpu_health *health, bool *known)
{
    *known = health->nprocesses >= 0;
    if (health->nprocesses < 1)
        return true;
    check_warn(checks,
               &(struct check){.unit = unit,
                               .metric = "gpu_processes",
                               .in = "processes",
                               .value = health->nprocesses,
                               .low = NAN,
                               .high = 0},
               "%d other process%s it: what was measured is not the GPU alone", health->nprocesses,
               health->nprocesses == 1 ? " uses" : "es use");
    return false;
}

static void judge_processes(struct checks *checks)
{
    judge_each(checks, look_at_processes, "no other process uses a GPU");
}

static bool look_at_fabric(struct checks *checks, const char *unit, const struct gpu_health *health,
                           bool *known)
{
    *known = health->fabric_state > NVML_FABRIC_NOT_SUPPORTED;
    if (!*known)
        return true;
    if (health->fabric_state == NVML_FABRIC_DONE && health->fabric_status == 0)
        return true;
    const struct check check = {.unit = unit};
    const char *what =
        health->fabric_state == NVML_FABRIC_NOT_STARTED
            ? "the NVLink fabric has not been set up: the fabric manager does not run"
        : health->fabric_state == NVML_FABRIC_IN_PROGRESS
            ? "the NVLink fabric is still being set up"
            : "the fabric manager could not make it part of the NVLink fabric";
    if (checks->facts->env.virtual_machine > 0)
        check_warn(checks, &check, "%s; of a virtual machine that may be the host's to do", what);
    else
        check_fail(checks, &check, "%s", what);
    return false;
}

static void judge_fabric(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    bool told = false, switches = false;
    for (unsigned i = 0; i < facts->topo->ngpus; i++)
        told = told || (facts->topo->gpus[i].health &&
                        facts->topo->gpus[i].health->fabric_state > NVML_FABRIC_NOT_SUPPORTED);
    for (size_t i = 0; i < facts->ndevices; i++)
        switches = switches || facts->devices[i].kind == FACTS_NVSWITCH;
    if (!told && facts->topo->ngpus)
        check_skip(checks, switches ? "NVSwitches are here, and the driver does not tell the fabric"
                                    : "no NVSwitch");
    else
        judge_each(checks, look_at_fabric, "every GPU is part of the NVLink fabric");
}

static void judge_peermem(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    if (!facts->topo->ngpus || !facts->rdma)
        check_skip(checks, facts->topo->ngpus ? "no RDMA device" : "no GPU");
    else if (facts->peermem)
        check_pass(checks, "nvidia_peermem is loaded");
    else
        check_warn(checks, NULL,
                   "GPUs and RDMA devices are here, and nvidia_peermem is not loaded: RDMA goes by "
                   "way of host memory, unless the open driver's dma-buf is used");
}

static void say_bandwidth(struct checks *checks, const struct facts_probe *probe, const char *how)
{
    for (size_t i = 0; i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        if (strcmp(value->metric, "collective_busbw") != 0 || isnan(value->value))
            continue;
        check_pass_value(checks,
                         &(struct check){.metric = "collective_busbw",
                                         .in = "GB/s",
                                         .value = value->value,
                                         .low = NAN,
                                         .high = NAN},
                         "all-reduce %s: %.4g GB/s bus, all elements right", how, value->value);
        return;
    }
    check_error(checks, "the all-reduce %s told no bandwidth", how);
}

static void judge_collective(struct checks *checks, enum facts_probe_name name, const char *how)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    if (probe->status == PROBE_HUNG)
        check_fail(checks, NULL, "an all-reduce of all GPUs %s did not end: %s", how,
                   probe->reason);
    else if (probe->status == PROBE_FAILED)
        check_fail(checks, NULL, "an all-reduce of all GPUs %s failed: %s", how, probe->reason);
    else if (check_measured(checks, name) && !check_lost(checks, name))
        say_bandwidth(checks, probe, how);
}

static void judge_collective_peer(struct checks *checks)
{
    judge_collective(checks, PROBE_COLLECTIVE, "with peer access");
}

static void judge_collective_staged(struct checks *checks)
{
    judge_collective(checks, PROBE_COLLECTIVE_STAGED, "without peer access");
}

const struct rule rules_health[] = {
    {.id = "gpu_ecc",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "driver",
     .about = "No GPU has uncorrected ECC errors since the driver was loaded (in its life: a "
              "warning), and ECC is on.",
     .source = "NVML, nvmlDeviceGetTotalEccErrors",
     .command = "nvidia-smi -q -d ECC",
     .judge = judge_ecc,
     .of_gpus = true},
    {.id = "gpu_rows",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "driver",
     .about = "No memory row waits to be remapped, and no remapping has failed.",
     .source = "NVIDIA, GPU memory error management",
     .command = "sudo nvidia-smi --gpu-reset",
     .judge = judge_rows,
     .of_gpus = true},
    {.id = "gpu_throttling",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "driver",
     .about = "Neither heat nor the power supply holds a GPU's clocks down.",
     .source = "NVML, clock event reasons",
     .command = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",
     .judge = judge_throttling,
     .of_gpus = true},
    {.id = "gpu_power_limit",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "driver",
     .about = "The power limits of GPUs are not below the default ones.",
     .source = "NVML, nvmlDeviceGetPowerManagementDefaultLimit",
     .command = "nvidia-smi -q -d POWER",
     .judge = judge_power,
     .of_gpus = true},
    {.id = "gpu_persistence",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "driver",
     .about = "Persistence mode is on, so that the first process of a GPU does not wait for it.",
     .source = "NVIDIA, Driver Persistence",
     .command = "sudo systemctl enable --now nvidia-persistenced",
     .judge = judge_persistence,
     .of_gpus = true},
    {.id = "gpu_modes",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "driver",
     .about = "GPUs are in the default compute mode and not divided by MIG.",
     .source = "NVML, nvmlDeviceGetComputeMode and nvmlDeviceGetMigMode",
     .command = "nvidia-smi -q -d COMPUTE",
     .judge = judge_modes,
     .of_gpus = true},
    {.id = "gpu_processes",
     .kind = RULE_HEALTH,
     .cause = "setup",
     .action = ACTION_MEND,
     .needs = "driver",
     .about = "No other process uses a GPU while it is validated.",
     .source = "NVML, nvmlDeviceGetComputeRunningProcesses",
     .command = "nvidia-smi",
     .judge = judge_processes,
     .of_gpus = true},
    {.id = "gpu_fabric",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "driver, NVSwitch",
     .about = "The fabric manager has made every GPU part of the NVLink fabric.",
     .source = "NVML, nvmlDeviceGetGpuFabricInfo",
     .command = "sudo systemctl enable --now nvidia-fabricmanager",
     .judge = judge_fabric,
     .of_gpus = true},
    {.id = "peermem",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "GPU, RDMA device",
     .about = "Where GPUs and RDMA devices are, nvidia_peermem lets them talk directly.",
     .source = "NVIDIA, GPUDirect RDMA",
     .command = "sudo modprobe nvidia-peermem",
     .judge = judge_peermem},
    {.id = "collective_peer",
     .kind = RULE_HEALTH,
     .cause = "hardware",
     .action = ACTION_RESET,
     .needs = "measurement, two GPUs, NCCL",
     .about = "An all-reduce of all GPUs ends, and is right, with peer access: copies can pass "
              "while every collective hangs.",
     .source = "NCCL",
     .command = "NCCL_DEBUG=INFO contend bench collective -b 8M -e 8M",
     .probes = 1u << PROBE_COLLECTIVE,
     .judge = judge_collective_peer,
     .of_gpus = true},
    {.id = "collective_staged",
     .kind = RULE_HEALTH,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "measurement, two GPUs, NCCL",
     .about = "The same with peer access off (NCCL_P2P_DISABLE=1), by way of the hosts' shared "
              "memory: where only this ends, look at ACS and the IOMMU.",
     .source = "NCCL, environment variables",
     .command = "NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO contend bench collective -b 8M -e 8M",
     .probes = 1u << PROBE_COLLECTIVE_STAGED,
     .judge = judge_collective_staged,
     .of_gpus = true},
    {.id = NULL}};
