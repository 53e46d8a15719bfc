/* Settings of processes at their start that contradict each other or are for debugging. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/text.h"

/*
 * A setting that costs, alone or combined with another one. Values: NULL = any, "" = any but 0,
 * else a list with blanks around each value.
 */
struct setting {
    const char *name, *values;
    const char *other, *other_values; /* NULL = alone */
    unsigned libraries;               /* libraries that read it; 0 = any */
    enum finding_severity severity;
    const char *sentence;
};

/*
 * Variables without effect, or with an unwanted one, combined with another one: libgomp's manual,
 * "Environment Variables"; Intel's "Supported Environment Variables". Only the first match is
 * reported.
 */
static const struct setting clashes[] = {
    {"GOMP_CPU_AFFINITY", NULL, "OMP_PROC_BIND", NULL, LIBRARY_GOMP, FINDING_BAD,
     "OMP_PROC_BIND is set, so libgomp ignores GOMP_CPU_AFFINITY"},
    {"GOMP_CPU_AFFINITY", NULL, "OMP_PLACES", NULL, LIBRARY_GOMP, FINDING_BAD,
     "OMP_PLACES is set, so libgomp ignores GOMP_CPU_AFFINITY"},
    {"KMP_AFFINITY", NULL, "OMP_PROC_BIND", NULL, LIBRARY_IOMP, FINDING_BAD,
     "OMP_PROC_BIND and KMP_AFFINITY both bind its threads: one of them is ignored"},
    {"GOMP_CPU_AFFINITY", NULL, "KMP_AFFINITY", NULL, LIBRARY_IOMP, FINDING_BAD,
     "KMP_AFFINITY and GOMP_CPU_AFFINITY both bind its threads: one of them is ignored"},
    {"OMP_PROC_BIND", " false ", "OMP_PLACES", NULL, LIBRARY_TEAM, FINDING_BAD,
     "OMP_PLACES names places, and OMP_PROC_BIND=false binds nothing to them"},
    {"OMP_WAIT_POLICY", " active ", "KMP_BLOCKTIME", " 0 ", LIBRARY_IOMP, FINDING_BAD,
     "one setting makes waiting threads spin, another makes them sleep"},
    {"OMP_WAIT_POLICY", " active ", "GOMP_SPINCOUNT", " 0 ", LIBRARY_GOMP, FINDING_BAD,
     "one setting makes waiting threads spin, another makes them sleep"},
};

/* Settings for debugging that were left on. */
static const struct setting debugging[] = {
    {"CUDA_LAUNCH_BLOCKING", "", NULL, NULL, LIBRARY_CUDA, FINDING_BAD,
     "the CPU waits for each kernel: nothing on the GPU overlaps with anything"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", "", NULL, NULL, LIBRARY_CUDA, FINDING_BAD,
     "each tensor is allocated by the driver, which stops the GPU"},
    {"CUDA_DEVICE_WAITS_ON_EXCEPTION", "", NULL, NULL, LIBRARY_CUDA, FINDING_DOUBT,
     "kernels run as for a debugger"},
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "", NULL, NULL, LIBRARY_CUDA, FINDING_DOUBT,
     "kernels run so that they could be dumped"},
    {"NCCL_DEBUG", " info trace ", NULL, NULL, LIBRARY_NCCL, FINDING_DOUBT,
     "NCCL writes what it does to the log"},
    {"TORCH_DISTRIBUTED_DEBUG", " detail ", NULL, NULL, LIBRARY_TORCH, FINDING_BAD,
     "all collectives are checked by further collectives"},
    {"TORCH_USE_CUDA_DSA", "", NULL, NULL, LIBRARY_TORCH, FINDING_DOUBT,
     "kernels carry assertions"},
    {"NCCL_P2P_DISABLE", "", NULL, NULL, LIBRARY_NCCL, FINDING_BAD,
     "GPUs copy to each other through host memory"},
    {"NCCL_SHM_DISABLE", "", NULL, NULL, LIBRARY_NCCL, FINDING_BAD,
     "GPUs without a direct path use the network"},
    {"MALLOC_CHECK_", "", NULL, NULL, 0, FINDING_BAD, "each allocation is checked, under one lock"},
    {"MALLOC_PERTURB_", "", NULL, NULL, 0, FINDING_BAD, "all memory is overwritten as it is freed"},
    {"PYTHONDEVMODE", "", NULL, NULL, 0, FINDING_BAD, "Python runs with its checks for developers"},
    {"PYTHONTRACEMALLOC", "", NULL, NULL, 0, FINDING_BAD,
     "Python records where each allocation was made"},
};

static bool is_on(const struct view_process *process, const char *name, const char *values)
{
    const char *value = view_setting(process, name);
    char lower[32] = " ";
    if (!value || !*value || !values)
        return value && *value;
    if (!values[0])
        return strcmp(value, "0") != 0;
    for (size_t i = 0; value[i] && i + 3 < sizeof(lower); i++) {
        lower[i + 1] = (char)(value[i] >= 'A' && value[i] <= 'Z' ? value[i] | 0x20 : value[i]);
        lower[i + 2] = ' ';
    }
    return strstr(values, lower) != NULL;
}

static void report_setting(struct checker *checker, const struct view_process *process,
                           enum finding_severity severity, const char *drop, const char *evidence,
                           const char *sentence)
{
    struct env_changes env_changes = {0};
    if (drop)
        env_changes_unset(&env_changes, drop);
    const struct finding_parts parts = {.severity = severity,
                                        .cure = drop ? CURE_SETTING : CURE_BY_HAND,
                                        .cost = NAN,
                                        .who = &process,
                                        .nwho = 1,
                                        .evidence = evidence,
                                        .command = env_changes_format(&env_changes),
                                        .env_changes = &env_changes};
    checker_report(checker, &parts, "%s.%s", sentence,
                   drop ? " Restart it without that setting." : "");
}

static void find_settings(struct checker *checker, const struct view_process *process,
                          const struct setting *settings, size_t n)
{
    const struct view_about *about = process->about;
    for (size_t i = 0; i < n; i++) {
        const struct setting *one = &settings[i];
        const char *evidence = "";
        bool is_read = !one->libraries || !about->maps_known || about->libraries & one->libraries;
        if (!is_read || !is_on(process, one->name, one->values) ||
            (one->other && !is_on(process, one->other, one->other_values)))
            continue;
        if (one->other)
            str_add(&evidence, "", "%s=%.48s, ", one->other, view_setting(process, one->other));
        str_add(&evidence, "", "%s=%.48s", one->name, view_setting(process, one->name));
        report_setting(checker, process, one->severity, one->name,
                       text_one_line(str_fmt("%s", evidence)), one->sentence);
        if (one->other)
            return;
    }
}

static void find_runtimes(struct checker *checker, const struct view_process *process)
{
    const char *evidence = "";
    const struct view_about *about = process->about;
    if (about->nruntimes < 2)
        return;
    for (unsigned i = 0; i < about->nruntimes; i++) {
        const char *name = strrchr(about->runtimes[i], '/');
        str_add(&evidence, "", "%s%.60s", i ? ", " : "", name ? name + 1 : about->runtimes[i]);
    }
    report_setting(
        checker, process, FINDING_DOUBT, NULL, text_one_line(str_fmt("%s", evidence)),
        "it has loaded two OpenMP runtimes: each starts its own threads, and those of one "
        "spin while the others work");
}

/*
 * OpenMP in OpenMP: libgomp keeps the threads of the outer team only, and starts those of an inner
 * one anew for each region. They end too soon to be seen as a team, but that threads come and go is
 * seen.
 */
static void find_nested_openmp(struct checker *checker, const struct view_process *process)
{
    enum { TURNOVER_LEAST = 2 };
    const char *levels = view_setting(process, "OMP_MAX_ACTIVE_LEVELS");
    const char *nested = levels ? NULL : view_setting(process, "OMP_NESTED");
    struct env_changes env_changes = {0};
    struct launch launch;
    const bool is_nested = (levels && strtol(levels, NULL, 10) > 1) ||
                           (nested && (nested[0] == 't' || nested[0] == 'T' || nested[0] == '1'));
    if (!is_nested || process->turnover < TURNOVER_LEAST ||
        !(process->about->libraries & LIBRARY_GOMP))
        return;
    const char *evidence =
        str_fmt("%s=%s, and %u threads were seen to start or end",
                levels ? "OMP_MAX_ACTIVE_LEVELS" : "OMP_NESTED",
                text_one_line(str_fmt("%s", levels ? levels : nested)), process->turnover);
    env_changes_set(&env_changes, "OMP_MAX_ACTIVE_LEVELS", 1);
    launch_write(checker->view, process, &env_changes, NULL, 1, &launch);
    struct finding_parts parts = finding_parts_bad(NAN, &process, 1, evidence, launch.command);
    parts.gain.times = NAN;
    parts.env_changes = &env_changes;
    checker_report(
        checker, &parts,
        "its teams of OpenMP are nested: %s. libgomp starts an inner team anew each time. "
        "Start it with one level.",
        evidence);
    checker->has_cause[checker->group_of[process - checker->view->processes]] = true;
}

void check_openmp_settings(struct checker *checker)
{
    for (size_t i = 0; i < checker->view->nprocesses; i++) {
        const struct view_process *process = &checker->view->processes[i];
        if (checker->group_of[i] < 0 || !process->about)
            continue;
        find_settings(checker, process, clashes, sizeof(clashes) / sizeof(clashes[0]));
        find_runtimes(checker, process);
        find_nested_openmp(checker, process);
    }
}

void check_debugging(struct checker *checker)
{
    for (size_t i = 0; i < checker->view->nprocesses; i++)
        if (checker->group_of[i] >= 0 && checker->view->processes[i].about)
            find_settings(checker, &checker->view->processes[i], debugging,
                          sizeof(debugging) / sizeof(debugging[0]));
}

const char *check_settings_variable(size_t index)
{
    const size_t nclashes = sizeof(clashes) / sizeof(clashes[0]);
    if (index < nclashes)
        return clashes[index].name;
    index -= nclashes;
    return index < sizeof(debugging) / sizeof(debugging[0]) ? debugging[index].name : NULL;
}

/* Runs all the time, in user mode only: it computes, or it polls the GPU. */
static bool is_spinning(const struct view *view, const struct view_task *task)
{
    return task->is_detailed && task->oncpu_s + task->wait_s >= 0.9 * view->wall_s &&
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
 * Adds one idle CPU to the mask of each spinning thread. Binding the thread to that CPU alone would
 * bind all that it starts later, too; the other threads of the process are not affected.
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
            (void)check_bind(checker, process, task->tid, &mask, command, size);
    }
}

static bool has_command_of(const struct view_process *a, const struct view_process *b)
{
    return a->command_size == b->command_size &&
           (!a->command_size || !memcmp(a->command, b->command, a->command_size));
}

/*
 * True if the process has a context on a GPU, by NVML. If NVML lists no process, an open device
 * file of the driver decides. A fork, such as a data loader, inherits the file but has its parent's
 * command line, and does not count.
 */
static bool has_context(const struct view *view, const struct view_process *process)
{
    const struct view_process *parent = view_find(view, process->parent);
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view->processes[i].gpus)
            return process->gpus != 0;
    return process->gpu_device &&
           !(parent && parent->gpu_device && has_command_of(process, parent));
}

/*
 * The wait of all groups on its CPUs, as a share: a thread that spins may itself keep its CPU. 0:
 * it is not the spinning thread that they lack.
 */
static double crowd_share(const struct checker *checker, size_t group, double spinning_s)
{
    static const double spinning_least = 0.1;
    double oncpu_s = 0, wait_s = 0;
    bool *in = calloc(checker->ngroups, sizeof(*in));
    if (in)
        (void)check_find_overlapping(checker, group, in);
    for (size_t g = 0; in && g < checker->ngroups; g++) {
        oncpu_s += in[g] ? checker->groups[g].oncpu_s : 0;
        wait_s += in[g] ? checker->groups[g].wait_s : 0;
    }
    free(in);
    return check_waits(checker->view, oncpu_s, wait_s) && spinning_s >= spinning_least * oncpu_s
               ? check_wait_share(oncpu_s, wait_s)
               : 0;
}

/* One or two threads of a process wait for a GPU; a computing team has as many threads as CPUs. */
void check_spin_wait(struct checker *checker)
{
    enum { WAITERS_MOST = 2 };
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        char command[COMMAND_MAX] = "";
        if (checker->group_of[i] < 0 || !process->about || !has_context(view, process))
            continue;
        const unsigned n = count_spinning(view, process);
        const double share =
            crowd_share(checker, (size_t)checker->group_of[i], view_oncpu_s(process));
        if (!n || n > WAITERS_MOST || share <= 0)
            continue;
        const char *evidence =
            str_fmt("%u thread%s in user mode all the time, a context on a GPU; workers on these "
                    "CPUs waited for %s of the time that they wanted to run",
                    n, n == 1 ? "" : "s", text_percent(share));
        widen_spinning(checker, (size_t)checker->group_of[i], process, command, sizeof(command));
        const struct finding_parts parts = {.severity = FINDING_DOUBT,
                                            .cure = CURE_BIND,
                                            .cost = share,
                                            .who = &process,
                                            .nwho = 1,
                                            .evidence = evidence,
                                            .command = command};
        checker_report(
            checker, &parts,
            "it seems to spin while it waits for its GPU, on CPUs that others need: %s. Give it "
            "its own CPUs, or let it sleep (cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)).",
            evidence);
    }
}
