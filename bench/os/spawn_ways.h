/*
 * The ways to start a process or thread and wait for its end, which the benchmark `spawn` times.
 * Other code starts processes with harness/lib/sys/process.h.
 */
#ifndef CONTEND_BENCH_OS_SPAWN_WAYS_H
#define CONTEND_BENCH_OS_SPAWN_WAYS_H

enum spawn_way { SPAWN_FORK, SPAWN_FORK_EXEC, SPAWN_VFORK_EXEC, SPAWN_POSIX, SPAWN_THREAD };
enum { SPAWN_WAYS = SPAWN_THREAD + 1 };

/* True if `way` runs a program, which must exit with 0. */
static inline int spawn_runs_program(enum spawn_way way)
{
    return way == SPAWN_FORK_EXEC || way == SPAWN_VFORK_EXEC || way == SPAWN_POSIX;
}

/*
 * Starts a thread or process on the caller's CPUs and waits for its end. `program` is the path to
 * run, with an empty environment. Returns 0, -errno of a call that failed, or -ENOEXEC if the
 * program did not run or did not exit with 0.
 */
int spawn_once(enum spawn_way way, const char *program);

#endif
