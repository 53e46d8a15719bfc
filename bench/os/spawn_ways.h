/*
 * The ways to start somebody and to wait for the end: what `spawn` times. Elsewhere
 * harness/lib/sys/process.h starts processes.
 */
#ifndef CONTEND_BENCH_OS_SPAWN_WAYS_H
#define CONTEND_BENCH_OS_SPAWN_WAYS_H

enum spawn_way { SPAWN_FORK, SPAWN_FORK_EXEC, SPAWN_VFORK_EXEC, SPAWN_POSIX, SPAWN_THREAD };
enum { SPAWN_WAYS = SPAWN_THREAD + 1 };

/* True where it runs a program, which must be one that ends with 0. */
static inline int spawn_runs_program(enum spawn_way way)
{
    return way == SPAWN_FORK_EXEC || way == SPAWN_VFORK_EXEC || way == SPAWN_POSIX;
}

/*
 * Starts one and waits for it: a thread, or a process, on the CPUs of who calls. `program`: its
 * path, started without an environment. 0, -errno of what the system refused, -ENOEXEC where the
 * program did not run or did not end with 0.
 */
int spawn_once(enum spawn_way way, const char *program);

#endif
