#include "harness/core/visit.h"

#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/sys/clock.h"

/* -1: not registered yet. A process has one log, so one index a thread is enough. */
static _Thread_local int my_index = -1;

void visit_mark(struct visit_log *log)
{
    if (!log)
        return;
    if (my_index < 0) {
        my_index = (int)atomic_fetch_add(&log->threads, 1);
        if (my_index < VISIT_THREADS)
            atomic_store(&log->thread[my_index].tid, (int)syscall(SYS_gettid));
    }
    if (my_index >= VISIT_THREADS || !atomic_load_explicit(&log->recording, memory_order_relaxed))
        return;
    struct visit_thread *me = &log->thread[my_index];
    uint64_t now_ns = clock_now_ns();
    uint32_t marks = atomic_load_explicit(&me->marks, memory_order_relaxed);
    if (now_ns - me->last_ns < VISIT_INTERVAL_NS || marks >= VISIT_MARKS)
        return;
    int cpu = sched_getcpu();
    if (cpu < 0)
        return;
    me->last_ns = now_ns;
    me->mark[marks] = (struct visit){.at_ns = now_ns, .os_cpu = (uint32_t)cpu};
    atomic_store_explicit(&me->marks, marks + 1, memory_order_release);
}
