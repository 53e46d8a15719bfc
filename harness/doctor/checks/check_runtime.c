#include "harness/doctor/checks/check_runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/lib/text.h"

/*
 * Sources: libgomp's manual, "Environment Variables"; LLVM/OpenMP's and Intel's (KMP_BLOCKTIME);
 * OpenBLAS' README, "Setting the number of threads at runtime" (its OpenMP build uses libgomp's
 * threads); opencv modules/core/src/parallel.cpp, defaultNumberOfThreads, and issue 10033 there
 * (OPENCV_FOR_THREADS_NUM is read by OpenCV's own pool, which wheels for Linux use, and not by
 * builds on TBB or OpenMP); oneTBB's "global_control" (it has no variable, and sizes its arena by
 * the affinity mask at its start); rayon's ThreadPoolBuilder::build_global; polars'
 * POLARS_MAX_THREADS; numexpr's user guide; Arrow's "Thread Pools" (OMP_NUM_THREADS); TensorFlow's
 * process_util.cc (TF_NUM_INTRAOP_THREADS); pytorch aten/src/ATen/ParallelCommon.cpp
 * (OMP_NUM_THREADS and MKL_NUM_THREADS also set its own pool) and torch.set_num_interop_threads;
 * MKL's "Techniques to Set the Number of Threads"; Go's package runtime (GOMAXPROCS; since Go 1.25
 * it counts the quota); the java command (-XX:ActiveProcessorCount, which overrules the quota that
 * a JVM counts); .NET's "Runtime configuration options" (DOTNET_PROCESSOR_COUNT, the same); Julia's
 * "Environment Variables"; tokio's runtime::Builder::worker_threads; libuv's "Thread pool work
 * scheduling" (UV_THREADPOOL_SIZE, and since 1.50 the name of its threads).
 */
static const struct check_runtime runtimes[] = {
    {.file = "libgomp",
     .name = "libgomp",
     .variable = "OMP_NUM_THREADS",
     .library = LIBRARY_GOMP,
     .spins = true},
    {.file = "libiomp5",
     .name = "libiomp5",
     .variable = "OMP_NUM_THREADS",
     .library = LIBRARY_IOMP,
     .spins = true},
    {.file = "libomp",
     .name = "libomp",
     .variable = "OMP_NUM_THREADS",
     .library = LIBRARY_IOMP,
     .spins = true},
    {.file = "libopenblas",
     .name = "OpenBLAS",
     .variable = "OPENBLAS_NUM_THREADS",
     .library = LIBRARY_OPENBLAS,
     .spins = true},
    {.file = "libscipy_openblas",
     .name = "OpenBLAS",
     .variable = "OPENBLAS_NUM_THREADS",
     .library = LIBRARY_OPENBLAS,
     .spins = true},
    {.file = "libblis", .name = "BLIS", .variable = "BLIS_NUM_THREADS"},
    {.file = "libopencv_core",
     .name = "OpenCV",
     .variable = "OPENCV_FOR_THREADS_NUM",
     .other_setting = "cv::setNumThreads"},
    {.file = "cv2",
     .name = "OpenCV",
     .variable = "OPENCV_FOR_THREADS_NUM",
     .other_setting = "cv2.setNumThreads"},
    {.file = "libtbb",
     .name = "TBB",
     .other_setting = "tbb::global_control in the program, or fewer CPUs at its start"},
    {.file = "numexpr", .name = "numexpr", .variable = "NUMEXPR_NUM_THREADS"},
    {.file = "tokenizers", .name = "rayon (tokenizers)", .variable = "RAYON_NUM_THREADS"},
    {.file = "polars", .name = "rayon (polars)", .variable = "POLARS_MAX_THREADS"},
    {.file = "libtorch",
     .name = "PyTorch",
     .variable = "OMP_NUM_THREADS",
     .other_setting = "torch.set_num_threads and torch.set_num_interop_threads"},
    {.file = "libc10",
     .name = "PyTorch",
     .variable = "OMP_NUM_THREADS",
     .other_setting = "torch.set_num_threads and torch.set_num_interop_threads"},
    {.file = "libarrow",
     .name = "Arrow",
     .variable = "OMP_NUM_THREADS",
     .other_setting = "pyarrow.set_cpu_count"},
    {.file = "libtensorflow", .name = "TensorFlow", .variable = "TF_NUM_INTRAOP_THREADS"},
    {.file = "libonnxruntime",
     .name = "ONNX Runtime",
     .other_setting = "SessionOptions.intra_op_num_threads"},
    {.file = "onnxruntime",
     .name = "ONNX Runtime",
     .other_setting = "SessionOptions.intra_op_num_threads"},
    {.file = "libggml", .name = "ggml", .other_setting = "its --threads", .spins = true},
    {.file = "libjvm",
     .name = "the JVM",
     .variable = "JAVA_TOOL_OPTIONS",
     .option = "-XX:ActiveProcessorCount=",
     .heeds_quota = true},
    {.file = "libcoreclr",
     .name = ".NET",
     .variable = "DOTNET_PROCESSOR_COUNT",
     .heeds_quota = true},
    {.file = "libjulia", .name = "Julia", .variable = "JULIA_NUM_THREADS"},
    {.file = "libpython", .name = "Python", .other_setting = "an option of the program"},
    {.file = "python3", .name = "Python", .other_setting = "an option of the program"},
};

/* Runtimes that the code where their threads began does not tell. */
static const struct check_runtime mkl = {.name = "MKL", .variable = "MKL_NUM_THREADS"},
                                  new_go = {.name = "Go",
                                            .variable = "GOMAXPROCS",
                                            .heeds_quota = true},
                                  old_go = {.name = "Go",
                                            .variable = "GOMAXPROCS",
                                            .other_setting =
                                                "Go 1.25 or later, which counts the quota"};

/* By the names that they give to their threads. */
static const struct {
    const char *thread;
    struct check_runtime runtime;
} named[] = {
    {"tokio-runtime-w", {.name = "tokio", .variable = "TOKIO_WORKER_THREADS"}},
    {"libuv-worker", {.name = "libuv", .variable = "UV_THREADPOOL_SIZE"}},
    {".NET TP Worker", {.name = ".NET", .variable = "DOTNET_PROCESSOR_COUNT", .heeds_quota = true}},
};

/* Variables that overrule those above, in programs with these libraries. */
static const struct {
    const char *name;
    unsigned library; /* 0 = any */
} overruling[] = {
    {"MKL_NUM_THREADS", LIBRARY_MKL | LIBRARY_TORCH},
    {"OPENBLAS_NUM_THREADS", LIBRARY_OPENBLAS},
    {"GOTO_NUM_THREADS", LIBRARY_OPENBLAS},
    {"OMP_NUM_THREADS", LIBRARY_TEAM},
    {"NUMEXPR_NUM_THREADS", 0},
};

/* True if a component of the path begins with `begin`. */
static bool has_part(const char *path, const char *begin)
{
    size_t length = strlen(begin);
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, begin, length) == 0)
            return true;
    }
    return false;
}

static const struct check_runtime *find_runtime(const char *from)
{
    for (size_t i = 0; from[0] && i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        if (has_part(from, runtimes[i].file))
            return &runtimes[i];
    return NULL;
}

/* Guesses the runtime from mapped libraries, if only one is mapped. With several, a mapped library
 * does not show which one the threads belong to (such as OpenBLAS built on OpenMP). */
static const struct check_runtime *find_mapped(const struct view_process *process)
{
    const struct check_runtime *found = NULL;
    unsigned libraries = process->about ? process->about->libraries & LIBRARY_TEAM : 0;
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        if (!(runtimes[i].library & libraries))
            continue;
        if (found && found->library != runtimes[i].library)
            return NULL;
        found = found ? found : &runtimes[i];
    }
    return found;
}

static double wanted_s(const struct view_task *task)
{
    return view_wanted_s(task->oncpu_s, task->wait_s);
}

/* Finds it by the executable, or by the names of most threads of the team. */
static const struct check_runtime *find_marked(const struct view_process *process, double least_s,
                                               unsigned threads)
{
    enum { HEEDS_QUOTA = 25 };
    const unsigned go = process->about ? process->about->go_minor : 0;
    if (go)
        return go >= HEEDS_QUOTA ? &new_go : &old_go;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        unsigned n = 0;
        for (size_t t = 0; t < process->ntasks; t++)
            n += wanted_s(&process->tasks[t]) >= least_s &&
                 strcmp(process->tasks[t].name, named[i].thread) == 0;
        if (2 * n > threads)
            return &named[i].runtime;
    }
    return NULL;
}

/*
 * The least CPU time that a task of a team wants: half of the wall time or of what the busiest task
 * wants, whichever is less, but a tenth of the wall time at least. Threads that sleep at barriers
 * want only a part of the time each.
 */
static double find_least_s(const struct view *view, const struct view_process *process)
{
    double most_s = 0;
    for (size_t t = 0; t < process->ntasks; t++)
        most_s = fmax(most_s, wanted_s(&process->tasks[t]));
    return fmin(fmax(0.5 * most_s, 0.1 * view->wall_s), 0.5 * view->wall_s);
}

static bool began_in(const struct view_task *task, unsigned library)
{
    const struct check_runtime *runtime = find_runtime(task->from);
    return runtime && runtime->library & library;
}

/* What a thread must want to count among the callers of a library: one that calls it now and then
 * does not. */
static double find_least_caller_s(const struct view_process *process, double least_s,
                                  unsigned library)
{
    double most_s = 0;
    for (size_t t = 0; t < process->ntasks; t++)
        if (process->tasks[t].libraries & library && !began_in(&process->tasks[t], library))
            most_s = fmax(most_s, wanted_s(&process->tasks[t]));
    return fmax(least_s, most_s / 4);
}

/* At most so many call it at once, by the time that all of them want. */
static double find_most_at_once(const struct view *view, double callers_s, unsigned library)
{
    static const double busy = 0.75; /* the pool of OpenBLAS: one call at a time, others sleep */
    const double n = callers_s / view->wall_s;
    if (library == LIBRARY_OPENBLAS)
        return n >= busy ? INFINITY : 1;
    return round(n);
}

/*
 * Threads that began outside a library and were seen in its code, and those that began like them:
 * only some threads are sampled. Threads that call it in turns, as PyTorch's forward and backward
 * passes do, or now and then, count as one.
 */
static unsigned count_callers(const struct view *view, const struct view_process *process,
                              double least_s, unsigned library)
{
    unsigned seen = 0, like = 0;
    double callers_s = 0;
    least_s = find_least_caller_s(process, least_s, library);
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        bool is_like = false;
        if (wanted_s(task) < least_s || began_in(task, library))
            continue;
        for (size_t o = 0; !task->libraries && task->from[0] && o < process->ntasks; o++)
            is_like |= process->tasks[o].libraries & library &&
                       strcmp(task->from, process->tasks[o].from) == 0;
        seen += (task->libraries & library) != 0;
        like += is_like;
        callers_s += is_like || task->libraries & library ? wanted_s(task) : 0;
    }
    const double at_once = find_most_at_once(view, callers_s, library);
    return seen > 1 ? (unsigned)fmin(seen + like, at_once) : seen;
}

/*
 * Pools in a pool: several threads call a library that has threads of its own, so that each of them
 * has a team there (OpenMP), or waits for the others' (OpenBLAS). Callers that wait sleep, and want
 * only a part of the time.
 */
static void find_nested(const struct view *view, const struct view_process *process,
                        struct check_team *team)
{
    static const unsigned libraries[] = {LIBRARY_GOMP, LIBRARY_IOMP, LIBRARY_OPENBLAS};
    const double least_s = 0.1 * view->wall_s, queues_s = 0.02 * view->wall_s;
    team->pools = 1;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        const unsigned callers = count_callers(
            view, process, libraries[i] == LIBRARY_OPENBLAS ? queues_s : least_s, libraries[i]);
        const struct view_task *own = NULL;
        unsigned nown = 0, nmkl = 0;
        for (size_t t = 0; t < process->ntasks; t++) {
            const struct view_task *task = &process->tasks[t];
            if (wanted_s(task) < least_s)
                continue;
            nmkl += task->libraries & LIBRARY_MKL && !began_in(task, libraries[i]);
            nown += began_in(task, libraries[i]);
            own = began_in(task, libraries[i]) ? task : own;
        }
        if (!own || callers <= team->pools)
            continue;
        team->pools = callers;
        team->threads = callers + nown;
        text_set(team->from, "%s", own->from);
        team->runtime = nmkl > 1 ? &mkl : find_runtime(own->from);
        team->is_seen = true;
    }
}

static void find_from(const struct view_process *process, double least_s, struct check_team *team)
{
    unsigned most = 0;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        unsigned same = 0;
        if (wanted_s(task) < least_s)
            continue;
        team->threads++;
        for (size_t o = 0; task->from[0] && o < process->ntasks; o++)
            same += wanted_s(&process->tasks[o]) >= least_s &&
                    strcmp(task->from, process->tasks[o].from) == 0;
        if (same > most) {
            most = same;
            text_set(team->from, "%s", task->from);
        }
    }
    team->is_seen = team->from[0];
}

struct check_team check_team_of(const struct view *view, const struct view_process *process)
{
    const double least_s = find_least_s(view, process);
    struct check_team team = {0};
    find_from(process, least_s, &team);
    team.runtime = find_runtime(team.from);
    if (!team.runtime && (team.runtime = find_marked(process, least_s, team.threads)))
        team.is_seen = true;
    if (!team.is_seen)
        team.runtime = find_mapped(process);
    find_nested(view, process, &team);
    team.cpus = process->mask >= 0 ? bitset_count(&view->masks[process->mask]) : 0;
    team.made = team.pools;
    for (size_t t = 0; team.runtime && t < process->ntasks; t++)
        team.made += wanted_s(&process->tasks[t]) >= least_s &&
                     began_in(&process->tasks[t], team.runtime->library);
    return team;
}

/* The number at the end of a setting such as "8" or "-XX:ActiveProcessorCount=8"; 0 = none. */
static unsigned read_number(const char *setting, const char *option)
{
    const char *at = setting && option ? strstr(setting, option) : setting;
    const long number = at ? strtol(at + (option ? strlen(option) : 0), NULL, 10) : 0;
    return number > 0 ? (unsigned)number : 0;
}

unsigned check_team_setting(const struct view_process *process, const struct check_team *team)
{
    const struct check_runtime *runtime = team->runtime;
    if (!runtime || !runtime->variable)
        return 0;
    const unsigned argument =
        runtime->option
            ? read_number(launch_find_argument(process, runtime->option), runtime->option)
            : 0;
    return argument ? argument
                    : read_number(view_setting(process, runtime->variable), runtime->option);
}

/* An argument overrules the variable, and leaves its other options as they are. */
static void set_option(const struct view_process *process, const struct check_runtime *runtime,
                       unsigned threads, struct env_changes *env_changes)
{
    const bool is_argument = launch_find_argument(process, runtime->option),
               takes_argument = strcmp(process->name, "java") == 0;
    if (is_argument || (takes_argument && view_setting(process, runtime->variable)))
        text_set(env_changes->argument, "%s%u", runtime->option, threads);
    else
        env_changes_set_option(env_changes, runtime->variable, runtime->option, threads);
}

/*
 * OpenMP in OpenMP: each thread of a team starts a team. Or the program sets its number of threads
 * itself, and OMP_NUM_THREADS does not count.
 */
static void limit_openmp(const struct view_process *process, const struct check_team *team,
                         unsigned threads, struct env_changes *env_changes)
{
    const char *nested = view_setting(process, "OMP_NESTED"),
               *numbers = view_setting(process, "OMP_NUM_THREADS");
    const unsigned levels = read_number(view_setting(process, "OMP_MAX_ACTIVE_LEVELS"), NULL);
    const unsigned each = numbers ? read_number(numbers, NULL) : team->cpus;
    if (levels > 1 || (nested && nested[0] && strchr("tT1", nested[0])) ||
        (numbers && strchr(numbers, ',')))
        env_changes_set(env_changes, "OMP_MAX_ACTIVE_LEVELS", 1);
    else if (each && team->made > (each + 1) * team->pools) /* its callers may count twice */
        env_changes_set(env_changes, "OMP_THREAD_LIMIT", threads);
}

/* True if OpenMP without a setting made as many threads: one for each CPU of the mask. */
static bool is_default(const struct view_process *process, const struct check_team *team,
                       unsigned threads)
{
    return team->runtime->library & (LIBRARY_GOMP | LIBRARY_IOMP) &&
           !view_setting(process, team->runtime->variable) && threads == team->cpus &&
           team->made <= threads + 1;
}

void check_team_set(const struct view_process *process, const struct check_team *team,
                    unsigned threads, struct env_changes *env_changes)
{
    const char *own = team->runtime ? team->runtime->variable : NULL;
    const unsigned libraries = process->about ? process->about->libraries : 0;
    *env_changes = (struct env_changes){0};
    if (!own)
        return;
    if (team->runtime->option) {
        set_option(process, team->runtime, threads, env_changes);
        return;
    }
    if (check_team_setting(process, team) != threads && !is_default(process, team, threads))
        env_changes_set(env_changes, own, threads);
    for (size_t i = 0; i < sizeof(overruling) / sizeof(overruling[0]); i++)
        if (read_number(view_setting(process, overruling[i].name), NULL) > threads &&
            (!overruling[i].library || overruling[i].library & libraries))
            env_changes_set(env_changes, overruling[i].name, threads);
    if (team->runtime->library & (LIBRARY_GOMP | LIBRARY_IOMP))
        limit_openmp(process, team, threads, env_changes);
}

const char *check_team_variable(size_t index)
{
    const size_t nruntimes = sizeof(runtimes) / sizeof(runtimes[0]);
    for (size_t i = 0; i < nruntimes; i++)
        if (runtimes[i].variable && !index--)
            return runtimes[i].variable;
    return index < sizeof(overruling) / sizeof(overruling[0]) ? overruling[index].name : NULL;
}

const char *check_team_format(const struct check_team *team)
{
    const struct check_runtime *runtime = team->runtime;
    const char *name = strrchr(team->from, '/');
    name = name ? name + 1 : team->from;
    if (!runtime && name[0])
        return str_fmt("The code of %s starts them; its setting is not known", name);
    if (!runtime)
        return "Their runtime is not known";
    if (team->pools > 1)
        return str_fmt("Its pools are nested: %u threads call %s, which adds threads of its own "
                       "and reads %s",
                       team->pools, runtime->name, runtime->variable);
    return str_fmt("Their runtime is %s%s, which reads %s%s%s", team->is_seen ? "" : "probably ",
                   runtime->name, runtime->variable ? runtime->variable : "no variable",
                   !runtime->other_setting ? ""
                   : runtime->variable     ? "; or use "
                                           : ": use ",
                   runtime->other_setting ? runtime->other_setting : "");
}

bool check_team_spins(const struct view_process *process, const struct check_team *team)
{
    const char *policy = view_setting(process, "OMP_WAIT_POLICY");
    const char *block = view_setting(process, "KMP_BLOCKTIME");
    const char *count = view_setting(process, "GOMP_SPINCOUNT");
    bool passive = policy && (policy[0] == 'p' || policy[0] == 'P');
    bool is_openmp = team->runtime && team->runtime->library & (LIBRARY_GOMP | LIBRARY_IOMP);
    return team->runtime && team->runtime->spins &&
           !(is_openmp &&
             (passive || (block && strcmp(block, "0") == 0) || (count && strcmp(count, "0") == 0)));
}

const double check_spinning_least = 0.15;

bool check_team_waits(const struct view *view, const struct view_process *process)
{
    const struct check_team team = check_team_of(view, process);
    const double spun = view_spin_share(process);
    return isnan(spun) ? team.threads > 1 && check_team_spins(process, &team)
                       : spun >= check_spinning_least;
}
