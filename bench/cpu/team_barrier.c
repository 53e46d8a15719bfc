#include "bench/cpu/team_barrier.h"

#include <sched.h>

#include "harness/lib/sys/futex.h"
#include "kernels/cpu/relax.h"

enum { SPINS_BEFORE_YIELD = 2048 };

static void spin_while(const _Atomic uint32_t *passed, uint32_t seen)
{
    while (atomic_load_explicit(passed, memory_order_acquire) == seen)
        cpu_relax();
}

static void yield_while(const _Atomic uint32_t *passed, uint32_t seen)
{
    unsigned spins = 0;
    while (atomic_load_explicit(passed, memory_order_acquire) == seen)
        if (spins < SPINS_BEFORE_YIELD) {
            spins++;
            cpu_relax();
        } else {
            (void)sched_yield();
        }
}

/* The last thread clears `arrived` first: a thread that it releases may arrive again at once. */
void team_barrier_wait(struct team_barrier *barrier)
{
    uint32_t seen = atomic_load(&barrier->passed);
    if (atomic_fetch_add(&barrier->arrived, 1) == barrier->n - 1) {
        atomic_store(&barrier->arrived, 0);
        if (barrier->wait == TEAM_FUTEX)
            futex_set(&barrier->passed, seen + 1);
        else
            atomic_store(&barrier->passed, seen + 1);
    } else if (barrier->wait == TEAM_FUTEX) {
        futex_wait_while(&barrier->passed, seen);
    } else if (barrier->wait == TEAM_YIELD) {
        yield_while(&barrier->passed, seen);
    } else {
        spin_while(&barrier->passed, seen);
    }
}
