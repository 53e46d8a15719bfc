/* Settings at the start of processes: those that contradict each other, and those for debugging. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/check/cpu_allocator.h"
#include "harness/lib/base/text.h"

static bool is_set(const struct view_process *process, const char *name)
{
    const char *value = view_setting(process, name);
    return value && *value;
}

static bool is_word(const char *value, const char *word)
{
    size_t i = 0;
    for (; value && word[i]; i++)
        if ((value[i] | 0x20) != word[i])
            return false;
    return value && !value[i];
}

/* A setting that does nothing, or not what was meant, beside another one; libgomp's manual, chapter
 * "Environment Variables", and Intel's "Supported Environment Variables". */
struct clash {
    const char *keep, *drop;
    unsigned libraries; /* that read them; 0 = any */
    const char *sentence;
};

static const struct clash clashes[] = {
    {"OMP_PROC_BIND", "GOMP_CPU_AFFINITY", LIBRARY_GOMP,
     "OMP_PROC_BIND is set, and then libgomp takes no notice of GOMP_CPU_AFFINITY"},
    {"OMP_PLACES", "GOMP_CPU_AFFINITY", LIBRARY_GOMP,
     "OMP_PLACES is set, and then libgomp takes no notice of GOMP_CPU_AFFINITY"},
    {"OMP_PROC_BIND", "KMP_AFFINITY", LIBRARY_IOMP,
     "OMP_PROC_BIND and KMP_AFFINITY both bind its threads: one of them is not obeyed"},
    {"KMP_AFFINITY", "GOMP_CPU_AFFINITY", LIBRARY_IOMP,
     "KMP_AFFINITY and GOMP_CPU_AFFINITY both bind its threads: one of them is not obeyed"},
};

static void tell_setting(struct checker *checker, const struct view_process *process,
                         enum finding_severity severity, const char *drop, const char *evidence,
                         const char *sentence)
{
    char command[COMMAND_MAX];
    struct cure cure = {0};
    if (drop)
        cure_unset(&cure, drop);
    const struct said said = {.severity = severity,
                              .cost = NAN,
                              .who = &process,
                              .nwho = 1,
                              .evidence = evidence,
                              .command = cure_format(&cure, command, sizeof(command)),
                              .cure = &cure};
    checker_say(checker, &said, "%s.%s", sentence,
                drop ? " It was started with that: start it again without." : "");
}

/* "NAME=value", which is of the user and may be long, or speak to terminals. */
static const char *quote(const struct view_process *process, const char *name, char *buf,
                         size_t size)
{
    const char *value = view_setting(process, name);
    (void)snprintf(buf, size, "%s=%.48s", name, value ? value : "");
    return text_one_line(buf);
}

static void find_clashes(struct checker *checker, const struct view_process *process)
{
    char keep[80], drop[80], evidence[176];
    for (size_t i = 0; i < sizeof(clashes) / sizeof(clashes[0]); i++) {
        const struct clash *clash = &clashes[i];
        bool is_read = !process->about->maps_known || process->about->libraries & clash->libraries;
        if (!is_read || !is_set(process, clash->keep) || !is_set(process, clash->drop))
            continue;
        (void)snprintf(evidence, sizeof(evidence), "%s, %s",
                       quote(process, clash->keep, keep, sizeof(keep)),
                       quote(process, clash->drop, drop, sizeof(drop)));
        tell_setting(checker, process, FINDING_BAD, clash->drop, evidence, clash->sentence);
        return; /* one of them explains the others */
    }
}

/* Numbers that cannot both hold, and places that binding is told not to use. */
static void find_contradictions(struct checker *checker, const struct view_process *process)
{
    char evidence[176], one[80], other[80];
    const char *threads = view_setting(process, "OMP_NUM_THREADS");
    const char *limit = view_setting(process, "OMP_THREAD_LIMIT");
    if (threads && limit && atol(threads) > atol(limit) && atol(limit) > 0) {
        (void)snprintf(evidence, sizeof(evidence), "%s, %s",
                       quote(process, "OMP_NUM_THREADS", one, sizeof(one)),
                       quote(process, "OMP_THREAD_LIMIT", other, sizeof(other)));
        tell_setting(checker, process, FINDING_BAD, "OMP_THREAD_LIMIT", evidence,
                     "OMP_NUM_THREADS asks for more threads than OMP_THREAD_LIMIT allows");
    }
    if (is_set(process, "OMP_PLACES") && is_word(view_setting(process, "OMP_PROC_BIND"), "false")) {
        (void)snprintf(evidence, sizeof(evidence), "%s, OMP_PROC_BIND=false",
                       quote(process, "OMP_PLACES", one, sizeof(one)));
        tell_setting(checker, process, FINDING_BAD, "OMP_PROC_BIND", evidence,
                     "OMP_PLACES names places, and OMP_PROC_BIND=false binds nothing to them");
    }
    if (is_word(view_setting(process, "OMP_WAIT_POLICY"), "active") &&
        (is_word(view_setting(process, "KMP_BLOCKTIME"), "0") ||
         is_word(view_setting(process, "GOMP_SPINCOUNT"), "0")))
        tell_setting(checker, process, FINDING_BAD, "OMP_WAIT_POLICY",
                     "OMP_WAIT_POLICY=active, and a spin count or block time of 0",
                     "one setting lets its threads spin while they wait, another one does not");
}

static void find_runtimes(struct checker *checker, const struct view_process *process)
{
    char evidence[200] = "";
    const struct view_about *about = process->about;
    if (about->nruntimes < 2)
        return;
    for (unsigned i = 0; i < about->nruntimes; i++) {
        const char *name = strrchr(about->runtimes[i], '/');
        (void)check_append(evidence, sizeof(evidence), "%s%.60s", i ? ", " : "",
                           name ? name + 1 : about->runtimes[i]);
    }
    tell_setting(checker, process, FINDING_DOUBT, NULL, text_one_line(evidence),
                 "it has loaded two OpenMP runtimes: each starts a team of its own, and those of "
                 "one spin while those of the other work");
}

void check_openmp_settings(struct checker *checker)
{
    for (size_t i = 0; i < checker->view->nprocesses; i++) {
        const struct view_process *process = &checker->view->processes[i];
        if (checker->group_of[i] < 0 || !process->about)
            continue;
        if (!process->about->maps_known || process->about->libraries & LIBRARY_TEAM) {
            find_clashes(checker, process);
            find_contradictions(checker, process);
        }
        find_runtimes(checker, process);
    }
}

/* Left on after debugging. */
static const struct debugging {
    const char *name, *values; /* "" = any but empty and 0; else one of these, between blanks */
    unsigned libraries;        /* that read it; 0 = any */
    enum finding_severity severity;
    const char *sentence;
} debugging[] = {
    {"CUDA_LAUNCH_BLOCKING", "", LIBRARY_CUDA, FINDING_BAD,
     "the CPU waits for each kernel: nothing on the GPU overlaps with anything"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", "", LIBRARY_CUDA, FINDING_BAD,
     "each tensor is allocated by the driver, which stops the GPU"},
    {"CUDA_DEVICE_WAITS_ON_EXCEPTION", "", LIBRARY_CUDA, FINDING_DOUBT,
     "kernels run as for a debugger"},
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "", LIBRARY_CUDA, FINDING_DOUBT,
     "kernels run so that they could be dumped"},
    {"NCCL_DEBUG", " info trace ", LIBRARY_NCCL, FINDING_DOUBT,
     "NCCL writes what it does to the log"},
    {"TORCH_DISTRIBUTED_DEBUG", " detail ", LIBRARY_TORCH, FINDING_BAD,
     "all collectives are checked by further collectives"},
    {"TORCH_USE_CUDA_DSA", "", LIBRARY_TORCH, FINDING_DOUBT, "kernels carry assertions"},
    {"NCCL_P2P_DISABLE", "", LIBRARY_NCCL, FINDING_BAD,
     "GPUs do not copy to each other, but by way of the host's memory"},
    {"NCCL_SHM_DISABLE", "", LIBRARY_NCCL, FINDING_BAD,
     "GPUs without a direct way to each other go by the network"},
    {"MALLOC_CHECK_", "", 0, FINDING_BAD, "each allocation is checked, under one lock"},
    {"MALLOC_PERTURB_", "", 0, FINDING_BAD, "all memory is overwritten as it is freed"},
    {"PYTHONDEVMODE", "", 0, FINDING_BAD, "Python runs with its checks for developers"},
    {"PYTHONTRACEMALLOC", "", 0, FINDING_BAD, "Python records where each allocation was made"},
};

static bool is_on(const char *value, const char *values)
{
    char lower[32] = " ";
    if (!value || !*value || strcmp(value, "0") == 0)
        return false;
    if (!values[0])
        return true;
    for (size_t i = 0; value[i] && i + 3 < sizeof(lower); i++) {
        lower[i + 1] = (char)(value[i] >= 'A' && value[i] <= 'Z' ? value[i] | 0x20 : value[i]);
        lower[i + 2] = ' ';
    }
    return strstr(values, lower) != NULL;
}

void check_debugging(struct checker *checker)
{
    for (size_t i = 0; i < checker->view->nprocesses; i++) {
        const struct view_process *process = &checker->view->processes[i];
        const struct view_about *about = process->about;
        if (checker->group_of[i] < 0 || !about)
            continue;
        for (size_t d = 0; d < sizeof(debugging) / sizeof(debugging[0]); d++) {
            const struct debugging *one = &debugging[d];
            char evidence[96];
            bool is_read =
                !one->libraries || !about->maps_known || about->libraries & one->libraries;
            if (is_read && is_on(view_setting(process, one->name), one->values))
                tell_setting(checker, process, one->severity, one->name,
                             quote(process, one->name, evidence, sizeof(evidence)), one->sentence);
        }
    }
}

/* User time alone, and all the time: it computes, or it asks the GPU again and again. */
static bool is_spinning(const struct view *view, const struct view_task *task)
{
    return task->close && task->oncpu_s + task->wait_s >= 0.9 * view->wall_s &&
           task->user_s >= 0.9 * (task->user_s + task->system_s);
}

static unsigned count_spinning(const struct view *view, const struct view_process *process)
{
    unsigned n = 0;
    for (size_t t = 0; t < process->ntasks; t++)
        n += is_spinning(view, &process->tasks[t]);
    return n;
}

/*
 * Each of them may go to one CPU more, that idles. Bound to it alone, all that it starts later
 * would be bound there, too; and the other threads of the process have no part in it.
 */
static void widen_spinning(struct checker *checker, size_t group,
                           const struct view_process *process, char *command, size_t size)
{
    const struct view *view = checker->view;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        if (!is_spinning(view, task) || task->mask < 0)
            continue;
        struct bitset mask = view->masks[task->mask];
        if (allocate_idle(checker, group, 1, &mask))
            (void)check_append_bind(view, process, task->tid, &mask, command, size);
    }
}

/*
 * NVML names those that have a context on a GPU. Where it tells nothing of anybody, who has a
 * device of the driver open does; but a fork, as those that load data, has its parent's open.
 */
static bool has_context(const struct view *view, const struct view_process *process)
{
    const struct view_process *parent = view_find(view, process->parent);
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view->processes[i].gpus)
            return process->gpus != 0;
    return process->gpu_device && !(parent && parent->gpu_device);
}

/*
 * Threads that wait for a GPU are one or two a process, where a team that computes is as many as it
 * has CPUs.
 */
void check_spin_wait(struct checker *checker)
{
    enum { WAITERS_MOST = 2 };
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        char evidence[160], command[COMMAND_MAX] = "", percent[16];
        if (checker->group_of[i] < 0 || !process->about || !has_context(view, process))
            continue;
        const struct check_group *group = &checker->groups[checker->group_of[i]];
        unsigned n = count_spinning(view, process);
        if (!n || n > WAITERS_MOST || !check_waits(view, group->oncpu_s, group->wait_s))
            continue;
        double share = check_wait_share(group->oncpu_s, group->wait_s);
        (void)snprintf(
            evidence, sizeof(evidence),
            "%u thread%s in user mode all the time, a context on a GPU, %s of the time it "
            "wanted to run waited",
            n, n == 1 ? "" : "s", text_percent(share, percent, sizeof(percent)));
        widen_spinning(checker, (size_t)checker->group_of[i], process, command, sizeof(command));
        const struct said said = {.severity = FINDING_DOUBT,
                                  .cost = share,
                                  .who = &process,
                                  .nwho = 1,
                                  .evidence = evidence,
                                  .command = command};
        checker_say(checker, &said,
                    "it seems to spin while it waits for its GPU, on CPUs that others want: %s. "
                    "Give it room, or let it sleep "
                    "(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)).",
                    evidence);
    }
}
