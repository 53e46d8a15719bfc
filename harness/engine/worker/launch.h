/* Starting the processes that this one works with: workers, MPI's, and guards of variants. */
#ifndef CONTEND_ENGINE_WORKER_LAUNCH_H
#define CONTEND_ENGINE_WORKER_LAUNCH_H

#include "harness/contract/command.h"
#include "harness/engine/worker/cgroups.h"
#include "harness/engine/worker/shared.h"
#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"
#include "harness/lib/sys/process.h"

/*
 * argv[1] of a worker; argv[2] is the descriptor of its shared memory, argv[3] its number; behind
 * it, the words of the user's command that it is to run.
 */
#define LAUNCH_WORKER_COMMAND "__worker"

/* argv[1] of an MPI process (ranks/mpi/server.h); argv[2] is the file descriptor of its socket. */
#define LAUNCH_MPI_COMMAND "__mpi"

/* argv[1] of who runs the commands of a variant (engine/arms/guard.h); argv[2] is its socket. */
#define LAUNCH_GUARD_COMMAND "__guard"

/*
 * A variable that names a file of uint64_t, one for each worker, in which workers count what they
 * have done (bench_progress): for who watches them from outside. 'contend bench' then also takes
 * OMP_NUM_THREADS for --threads, as any program does that is started so.
 */
#define LAUNCH_PROGRESS "CONTEND_PROGRESS"

/*
 * The path that this program was started from, under which there may be another one by now: for
 * what lies beside it, and for argv[0]. Errors: -errno, without /proc.
 */
int launch_find_program(char *program, size_t size, struct err *err);

/* In the new image: the kernel calls it "exe", after the link that it was started by. */
void launch_take_name(void);

/* Options of a worker beside its plan; each NULL = none. */
struct launch_request {
    const struct opt_texts *env; /* "VAR=VALUE", set in its environment */
    const struct user_command *command;
    const struct cgroups *cgroups;
    double cpu_max; /* a quota in CPUs, with cgroups; 0 = none */
};

/*
 * Re-executes this program as worker `index` of the shared memory. Between fork and exec the child
 * takes a process group of its own, asks to be killed with its parent, and binds itself to the CPUs
 * and memory of its plan: so every library of the new image sees only what the worker owns
 * (libgomp, NCCL and libnuma read the mask once, at start). OMP_NUM_THREADS is set to the plan's
 * threads, and GOMP_CPU_AFFINITY left out (machine/facts/openmp.h); the environment is passed on
 * unchanged otherwise, but for what request->env sets. stdin is /dev/null,
 * stdout goes to stderr. With a command OMP_NUM_THREADS is the user's unless
 * command->sets_threads. With cgroups it goes into its own first, and a cpuset stands for the mask.
 *
 * A child that cannot bind or exec reports through its slot: WORKER_SKIPPED where the kernel
 * refuses a memory policy (containers) or a cgroup, else WORKER_FAILED. Errors: -errno of fork, in
 * words that go on after "worker 0: ".
 */
int launch_worker(struct shared *shared, int shared_fd, unsigned index,
                  const struct launch_request *request, struct process *process, struct err *err);

/*
 * Re-executes this program as the MPI process of this rank, with `fd`, the same environment, and
 * the signals of this process still blocked: who asks it to end is this process. Errors: -errno.
 */
int launch_mpi(int fd, struct process *process, struct err *err);

/*
 * The same as the guard of a variant, with `fd` and its three commands, before, after and check.
 * Errors: -errno.
 */
int launch_guard(int fd, const char *const *commands, struct process *process, struct err *err);

/*
 * Binds the calling thread to the CPUs and memory of the plan. WORKER_LAUNCHED, or the state that
 * the worker ends in, with the reason: see above.
 */
enum worker_state launch_bind(const struct plan_worker *plan, struct err *err);

#endif
