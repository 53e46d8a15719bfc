/*
 * The devices that benchmarks run on. A new device needs a line here, its operations in
 * bench/device/, a line in bench/device/device.c, and one in engine/setup.c, which chooses it.
 */
#ifndef CONTEND_ENGINE_CONTRACT_DEVICE_H
#define CONTEND_ENGINE_CONTRACT_DEVICE_H

#include <stdbool.h>

/* X(ID, name in the device column, title for people, whether its workers' GPUs are real). */
/* clang-format off */

/* The devices that workers feed, which --device chooses. */
#define DEVICES_FED(X)                                                                             \
    X(SIM, "sim", "device sim (modelled GPU)", false)                                              \
    X(CUDA, "cuda", "device cuda", true)

/* Collectives run over `nccl` or `mpi`; rows of one are never compared with rows of the other. */
#define DEVICES(X)                                                                                 \
    X(NONE, "none", "the command's own devices", false)                                             \
    DEVICES_FED(X)                                                                                 \
    X(NCCL, "nccl", "NCCL", true)                                                                  \
    X(MPI, "mpi", "MPI on the CPUs", false)
/* clang-format on */

enum device {
#define DEVICE_ID(id, ...) DEVICE_##id,
    DEVICES(DEVICE_ID)
#undef DEVICE_ID
        DEVICE_COUNT
};

struct device_info {
    const char *name, *title;
    bool on_gpus;
};

/* Indexed by enum device. */
extern const struct device_info device_infos[DEVICE_COUNT];

/* "none", "sim", "cuda", "nccl", "mpi": as the device column of rows.csv writes it. */
const char *device_name(enum device device);
/* The suffix of an arm's name: ", sim" if its GPU is a model, else "". */
const char *device_mark(enum device device);
/* DEVICE_NONE for an unknown name. */
enum device device_find(const char *name);

#endif
