#include "harness/doctor/check/check_runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/check/check.h"

/*
 * Sources: libgomp's manual, "Environment Variables"; LLVM/OpenMP's and Intel's (KMP_BLOCKTIME);
 * OpenBLAS' README, "Setting the number of threads at runtime" (its OpenMP build uses libgomp's
 * threads); opencv modules/core/src/parallel.cpp, defaultNumberOfThreads, and issue 10033 there
 * (OPENCV_FOR_THREADS_NUM is read by OpenCV's own pool, which wheels for Linux use, and not by
 * builds on TBB or OpenMP); oneTBB's "global_control" (it has no variable, and sizes its arena by
 * the affinity mask at its start); rayon's ThreadPoolBuilder::build_global; polars'
 * POLARS_MAX_THREADS; numexpr's user guide; Arrow's "Thread Pools" (OMP_NUM_THREADS); TensorFlow's
 * process_util.cc (TF_NUM_INTRAOP_THREADS); pytorch aten/src/ATen/ParallelCommon.cpp
 * (OMP_NUM_THREADS and MKL_NUM_THREADS also set its own pool) and torch.set_num_interop_threads.
 */
static const struct check_runtime runtimes[] = {
    {"libgomp", "libgomp", "OMP_NUM_THREADS", NULL, LIBRARY_GOMP, true},
    {"libiomp5", "libiomp5", "OMP_NUM_THREADS", NULL, LIBRARY_IOMP, true},
    {"libomp", "libomp", "OMP_NUM_THREADS", NULL, LIBRARY_IOMP, true},
    {"libopenblas", "OpenBLAS", "OPENBLAS_NUM_THREADS", NULL, LIBRARY_OPENBLAS, true},
    {"libscipy_openblas", "OpenBLAS", "OPENBLAS_NUM_THREADS", NULL, LIBRARY_OPENBLAS, true},
    {"libblis", "BLIS", "BLIS_NUM_THREADS", NULL, 0, false},
    {"libopencv_core", "OpenCV", "OPENCV_FOR_THREADS_NUM", "cv::setNumThreads", 0, false},
    {"cv2", "OpenCV", "OPENCV_FOR_THREADS_NUM", "cv2.setNumThreads", 0, false},
    {"libtbb", "TBB", NULL, "tbb::global_control in the program, or fewer CPUs at its start", 0,
     false},
    {"numexpr", "numexpr", "NUMEXPR_NUM_THREADS", NULL, 0, false},
    {"tokenizers", "rayon (tokenizers)", "RAYON_NUM_THREADS", NULL, 0, false},
    {"polars", "rayon (polars)", "POLARS_MAX_THREADS", NULL, 0, false},
    {"libtorch", "PyTorch", "OMP_NUM_THREADS",
     "torch.set_num_threads and torch.set_num_interop_threads", 0, false},
    {"libc10", "PyTorch", "OMP_NUM_THREADS",
     "torch.set_num_threads and torch.set_num_interop_threads", 0, false},
    {"libarrow", "Arrow", "OMP_NUM_THREADS", "pyarrow.set_cpu_count", 0, false},
    {"libtensorflow", "TensorFlow", "TF_NUM_INTRAOP_THREADS", NULL, 0, false},
    {"libonnxruntime", "ONNX Runtime", NULL, "SessionOptions.intra_op_num_threads", 0, false},
    {"onnxruntime", "ONNX Runtime", NULL, "SessionOptions.intra_op_num_threads", 0, false},
    {"libggml", "ggml", NULL, "its --threads", 0, true},
    {"libpython", "Python", NULL, "an option of the program", 0, false},
    {"python3", "Python", NULL, "an option of the program", 0, false},
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

struct check_team check_team_of(const struct view *view, const struct view_process *process)
{
    const double least_s = find_least_s(view, process);
    struct check_team team = {0};
    unsigned most = 0;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        unsigned same = 0;
        if (wanted_s(task) < least_s)
            continue;
        team.threads++;
        for (size_t o = 0; task->from[0] && o < process->ntasks; o++)
            same += wanted_s(&process->tasks[o]) >= least_s &&
                    strcmp(task->from, process->tasks[o].from) == 0;
        if (same > most) {
            most = same;
            (void)snprintf(team.from, sizeof(team.from), "%s", task->from);
        }
    }
    team.is_seen = team.from[0];
    for (size_t i = 0; team.is_seen && !team.runtime && i < sizeof(runtimes) / sizeof(*runtimes);
         i++)
        if (has_part(team.from, runtimes[i].file))
            team.runtime = &runtimes[i];
    if (!team.is_seen)
        team.runtime = find_mapped(process);
    return team;
}

void check_team_set(const struct view_process *process, const struct check_team *team,
                    unsigned threads, struct env_changes *env_changes)
{
    const char *own = team->runtime ? team->runtime->variable : NULL;
    *env_changes = (struct env_changes){0};
    if (!own)
        return;
    env_changes_set(env_changes, own, threads);
    for (size_t i = 0; i < sizeof(overruling) / sizeof(overruling[0]); i++) {
        const char *value = view_setting(process, overruling[i].name);
        unsigned libraries = process->about ? process->about->libraries : 0;
        if (value && strtol(value, NULL, 10) > threads &&
            (!overruling[i].library || overruling[i].library & libraries))
            env_changes_set(env_changes, overruling[i].name, threads);
    }
}

const char *check_team_variable(size_t index)
{
    const size_t nruntimes = sizeof(runtimes) / sizeof(runtimes[0]);
    for (size_t i = 0; i < nruntimes; i++)
        if (runtimes[i].variable && !index--)
            return runtimes[i].variable;
    return index < sizeof(overruling) / sizeof(overruling[0]) ? overruling[index].name : NULL;
}

void check_team_format(const struct check_team *team, char *buf, size_t size)
{
    const struct check_runtime *runtime = team->runtime;
    const char *name = strrchr(team->from, '/');
    name = name ? name + 1 : team->from;
    if (!runtime && name[0])
        (void)snprintf(buf, size, "The code of %s starts them; its setting is not known", name);
    else if (!runtime)
        (void)snprintf(buf, size, "Their runtime is not known");
    else
        (void)snprintf(buf, size, "Their runtime is %s%s, which reads %s%s%s",
                       team->is_seen ? "" : "probably ", runtime->name,
                       runtime->variable ? runtime->variable : "no variable",
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
    return team.threads > 1 &&
           (isnan(spun) ? check_team_spins(process, &team) : spun >= check_spinning_least);
}
