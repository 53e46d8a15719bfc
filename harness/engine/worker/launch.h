/* Starts the helper processes of a run: workers, and guards of variants. */
#ifndef CONTEND_ENGINE_WORKER_LAUNCH_H
#define CONTEND_ENGINE_WORKER_LAUNCH_H

#include <stdbool.h>

#include "harness/engine/contract/command.h"
#include "harness/engine/worker/shared.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/process.h"
#include "harness/plan/plan.h"

/*
 * Workers in cgroups (lib/sys/cgroup.h): cpusets in place of masks (--bind cgroup), quotas of CPU
 * time (--cpu-max, --dose throttle) and weights (--weight).
 */

/* Zeroed = no cgroups are requested. */
struct cgroups {
    bool cpuset; /* requested: a cpuset for each worker */
    bool cpu;    /* requested: a quota or a weight for workers of some arms */
    struct groups groups;
    double throttled, throttled_s; /* how often, and how long, the quota stopped workers */
    struct err err; /* why cgroups cannot be used: the error of each worker that needs one */
};

/*
 * Makes our cgroup, after removing those of runs that are gone. If that fails (no permission, a
 * cpuset of cgroup v1, a cgroup with processes or limits of its own), cgroups->err says why, and
 * cgroups_join refuses each worker for that reason. Close with cgroups_close, which logs how long
 * quotas stopped workers.
 */
void cgroups_open(struct cgroups *cgroups);
void cgroups_close(struct cgroups *cgroups);

/* Removes the cgroups of `n` workers that have ended, and adds up how long quotas stopped them. */
void cgroups_clear(struct cgroups *cgroups, unsigned n);

/*
 * argv[1] of a worker; argv[2] is the descriptor of its shared memory, argv[3] its number; then
 * come the words of the user's command that it runs.
 */
#define LAUNCH_WORKER_COMMAND "__worker"

/* argv[1] of a guard (engine/guard.h); argv[2] is the file descriptor of its socket. */
#define LAUNCH_GUARD_COMMAND "__guard"

/*
 * A variable that names a file of uint64_t, one for each worker, in which workers count their work
 * (bench_progress) for a process that watches from outside. If it is set, 'contend bench' takes
 * OMP_NUM_THREADS for --threads, as other programs do.
 */
#define LAUNCH_PROGRESS "CONTEND_PROGRESS"

/*
 * The path that this program was started from, for argv[0] and to find files in its folder. Another
 * program may have that path by now. Errors: -errno, such as without /proc.
 */
int launch_find_program(char *program, size_t size, struct err *err);

/* Names the process of the new image, which the kernel calls "exe" after /proc/self/exe. */
void launch_take_name(void);

/* Options of a worker in addition to its plan; each NULL = none. */
struct launch_request {
    const struct opt_texts *env; /* "VAR=VALUE", set in its environment; "VAR" = unset */
    const struct user_command *command;
    const struct cgroups *cgroups;
    double cpu_max; /* a quota in CPUs, with cgroups; 0 = none */
    struct cpu_priority priority;
};

/*
 * Re-executes this program as worker `index` of the shared memory. Between fork and exec the child
 * takes a process group of its own, asks to be killed with its parent, and binds itself to the CPUs
 * and memory of its plan: so every library of the new image sees only what the worker owns
 * (libgomp, NCCL and libnuma read the mask once, at start). OMP_NUM_THREADS is set to the plan's
 * threads, GOMP_CPU_AFFINITY is left out (machine/env.h), and request->env counts more
 * than both; the rest of the environment is passed on unchanged. stdin is /dev/null, stdout goes to
 * stderr. With a command, OMP_NUM_THREADS is the user's unless command->sets_threads. With cgroups
 * the child first joins its own, and a cpuset replaces the mask.
 *
 * A child that cannot bind or exec reports through its slot: WORKER_SKIPPED if the kernel refuses a
 * memory policy (containers) or a cgroup, else WORKER_FAILED. Errors: -errno of fork; the message
 * continues "worker 0: ".
 */
int launch_worker(struct shared *shared, int shared_fd, unsigned index,
                  const struct launch_request *request, struct process *process, struct err *err);

/*
 * Re-executes this program as the guard of a variant, with `fd` and three commands: before, after
 * and check. Errors: -errno.
 */
int launch_guard(int fd, const char *const *commands, struct process *process, struct err *err);

/*
 * Binds the calling thread to the CPUs and memory of the plan. Returns WORKER_LAUNCHED, or with the
 * reason in err the state in which the worker ends: see launch_worker.
 */
enum worker_state launch_bind(const struct plan_worker *plan, struct err *err);

#endif
