/*
 * The devices that benchmarks run on. A new device needs a line here, its operations in
 * bench/device/, a line in bench/device/device.c, and one in engine/setup.c, which chooses it.
 */
#ifndef CONTEND_ENGINE_CONTRACT_DEVICE_H
#define CONTEND_ENGINE_CONTRACT_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/*
 * Which CPUs a worker's threads ran on, and when. Each thread writes a mark at the start of each
 * parallel region, at most one per millisecond. A mark costs a clock read and a getcpu (both vDSO),
 * under 50 ns. The log lives in shared memory, so that it outlives the worker.
 *
 * The first mark of a thread also registers it as a member of the team: the split of wall time
 * into on-CPU, run queue and blocked counts team threads only, not a driver's helpers.
 */

/* As many threads as --threads allows: the log is sparse. */
enum { CPU_SAMPLE_THREADS = 4096, CPU_SAMPLE_MARKS = 1024, CPU_SAMPLE_INTERVAL_NS = 1000000 };

struct cpu_sample {
    uint64_t at_ns; /* clock_now_ns */
    uint32_t os_cpu;
};

struct cpu_sample_thread {
    _Atomic int tid;
    _Atomic uint32_t marks; /* filled entries of mark[]; a full one drops its oldest marks first: */
    uint32_t oldest;        /*   a command begins with imports, which matter least */
    uint64_t last_ns;
    struct cpu_sample mark[CPU_SAMPLE_MARKS];
};

struct cpu_samples {
    _Atomic uint32_t recording; /* 0: threads register, but leave no marks (warm-up) */
    _Atomic uint32_t threads;   /* registered so far; beyond CPU_SAMPLE_THREADS without marks */
    struct cpu_sample_thread thread[CPU_SAMPLE_THREADS];
};

/* How many entries of mark[] are filled, for a reader in another process. */
static inline uint32_t cpu_samples_marks(const struct cpu_sample_thread *thread)
{
    uint32_t marks = atomic_load_explicit(&thread->marks, memory_order_acquire);
    return marks < CPU_SAMPLE_MARKS ? marks : CPU_SAMPLE_MARKS;
}

/* Marks a thread of another process, as seen by an observer, the log's only writer. */
void cpu_sample_note(struct cpu_samples *log, int tid, unsigned os_cpu, uint64_t at_ns);

/* Registers the calling thread and adds a mark. One log per process. NULL: does nothing. */
void cpu_samples_mark(struct cpu_samples *log);

#endif
