#include "harness/engine/contract/device.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

const struct device_info device_infos[DEVICE_COUNT] = {
#define DEVICE_INFO(id, ...) [DEVICE_##id] = {__VA_ARGS__},
    DEVICES(DEVICE_INFO)
#undef DEVICE_INFO
};

const char *device_name(enum device device)
{
    return device_infos[device].name;
}

const char *device_mark(enum device device)
{
    return device == DEVICE_SIM ? ", sim" : "";
}

enum device device_find(const char *name)
{
    for (enum device device = DEVICE_NONE; device < DEVICE_COUNT; device++)
        if (strcmp(device_name(device), name) == 0)
            return device;
    return DEVICE_NONE;
}

/* -1: not registered yet. A process has one log, so one index per thread is enough. */
static _Thread_local int my_index = -1;

static void put(struct cpu_sample_thread *thread, uint64_t at_ns, unsigned os_cpu)
{
    uint32_t marks = atomic_load_explicit(&thread->marks, memory_order_relaxed);
    if (at_ns - thread->last_ns < CPU_SAMPLE_INTERVAL_NS)
        return;
    thread->last_ns = at_ns;
    uint32_t at = marks < CPU_SAMPLE_MARKS ? marks : thread->oldest++ % CPU_SAMPLE_MARKS;
    thread->mark[at] = (struct cpu_sample){.at_ns = at_ns, .os_cpu = os_cpu};
    if (marks < CPU_SAMPLE_MARKS)
        atomic_store_explicit(&thread->marks, marks + 1, memory_order_release);
}

void cpu_sample_note(struct cpu_samples *log, int tid, unsigned os_cpu, uint64_t at_ns)
{
    unsigned n = atomic_load(&log->threads), i = 0;
    if (!atomic_load_explicit(&log->recording, memory_order_relaxed))
        return;
    while (i < n && atomic_load(&log->thread[i].tid) != tid)
        i++;
    if (i == CPU_SAMPLE_THREADS)
        return;
    if (i == n) {
        atomic_store(&log->thread[i].tid, tid);
        atomic_store(&log->threads, n + 1);
    }
    put(&log->thread[i], at_ns, os_cpu);
}

void cpu_samples_mark(struct cpu_samples *log)
{
    if (!log)
        return;
    if (my_index < 0) {
        my_index = (int)atomic_fetch_add(&log->threads, 1);
        if (my_index < CPU_SAMPLE_THREADS)
            atomic_store(&log->thread[my_index].tid, (int)syscall(SYS_gettid));
    }
    if (my_index >= CPU_SAMPLE_THREADS ||
        !atomic_load_explicit(&log->recording, memory_order_relaxed))
        return;
    int cpu = sched_getcpu();
    if (cpu >= 0)
        put(&log->thread[my_index], clock_now_ns(), (unsigned)cpu);
}
