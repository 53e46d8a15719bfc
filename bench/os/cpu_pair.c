#include "bench/os/cpu_pair.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/lib/bitset.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/futex.h"
#include "harness/lib/sys/process.h"

enum { READY = 1, REFUSED = 2 };

/* In shared memory. */
struct barrier {
    _Atomic uint32_t state[2]; /* 0 until the member is pinned (READY) or cannot run (REFUSED) */
    int refused[2];            /* -errno */
};

struct member {
    const struct cpu_pair *cpu_pair;
    struct barrier *barrier;
    unsigned index;
};

static void run_member(const struct member *member)
{
    const struct cpu_pair *cpu_pair = member->cpu_pair;
    struct barrier *barrier = member->barrier;
    struct bitset cpu = {0};
    bitset_set(&cpu, cpu_pair->os_cpus[member->index]);
    int rc = barrier->refused[member->index] = affinity_set(0, &cpu);
    futex_set(&barrier->state[member->index], rc ? REFUSED : READY);
    futex_wait_while(&barrier->state[1 - member->index], 0);
    if (!rc && atomic_load(&barrier->state[1 - member->index]) == READY)
        cpu_pair->run(cpu_pair->arg, member->index);
}

static void *thread_main(void *arg)
{
    const struct member *member = arg;
    cpu_samples_mark(member->cpu_pair->cpu_samples);
    run_member(member);
    return NULL;
}

static int process_main(void *arg)
{
    run_member(arg);
    return 0;
}

static int cannot_start(struct err *err, const char *what, int rc)
{
    (void)err_sys(err, rc, "cannot start a %s", what);
    return err->code = -ENOTSUP;
}

static int run_threads(struct member members[2], struct err *err)
{
    pthread_t threads[2];
    int failed = 0;
    unsigned started = 0;
    while (started < 2 && !failed) {
        failed = pthread_create(&threads[started], NULL, thread_main, &members[started]);
        started += !failed;
    }
    if (failed)
        futex_set(&members->barrier->state[started], REFUSED);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    return failed ? cannot_start(err, "thread", -failed) : 0;
}

/* Sleeps until one process has ended. Returns at once if the kernel has no pidfds. */
static void await_either(const struct process processes[2])
{
    struct pollfd ends[2] = {{.fd = processes[0].pidfd, .events = POLLIN},
                             {.fd = processes[1].pidfd, .events = POLLIN}};
    if (processes[0].pid && processes[1].pid && ends[0].fd >= 0 && ends[1].fd >= 0)
        (void)poll(ends, 2, -1);
}

/*
 * Waits for both processes. If a signal ended one process, kills the other, which would wait for it
 * forever, and returns true.
 */
static bool await_both(struct process processes[2])
{
    bool lost = false;
    await_either(processes);
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        if (processes[i].pid && process_ended(&processes[i], &status) && WIFSIGNALED(status)) {
            (void)process_signal(&processes[1 - i], SIGKILL);
            lost = true;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        if (processes[i].pid)
            process_wait(&processes[i], &status);
    }
    return lost;
}

static int run_processes(struct member members[2], struct err *err)
{
    struct process processes[2] = {{0}};
    int rc = process_start(&processes[0], false, process_main, &members[0]);
    if (rc)
        return cannot_start(err, "process", rc);
    rc = process_start(&processes[1], false, process_main, &members[1]);
    if (rc)
        futex_set(&members->barrier->state[1], REFUSED);
    bool lost = await_both(processes);
    if (rc)
        return cannot_start(err, "process", rc);
    return lost ? err_set(err, -EIO, "one of two processes was ended by a signal") : 0;
}

int cpu_pair_run(const struct cpu_pair *cpu_pair, struct err *err)
{
    struct barrier *barrier =
        mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (barrier == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two threads or processes share");
    struct member members[2] = {{cpu_pair, barrier, 0}, {cpu_pair, barrier, 1}};
    int rc = cpu_pair->processes ? run_processes(members, err) : run_threads(members, err);
    for (unsigned index = 0; index < 2 && !rc; index++)
        if (barrier->refused[index]) {
            rc = -ENOTSUP;
            (void)err_sys(err, barrier->refused[index], "cannot run on CPU %u",
                          cpu_pair->os_cpus[index]);
            err->code = rc;
        }
    (void)munmap(barrier, sizeof(*barrier));
    return rc;
}
