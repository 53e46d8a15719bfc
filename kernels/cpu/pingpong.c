#include "kernels/cpu/pingpong.h"

#include <stddef.h>

#include "kernels/cpu/relax.h"

/* About 4 us without a pause: far longer than any transfer, far shorter than a time slice. */
enum { EAGER_POLLS = 4096, POLLS_A_QUESTION = 1024 };

/* The partner has probably lost its CPU: the result no longer depends on fast polling. */
static bool await_patiently(const _Atomic uint32_t *word, uint32_t value,
                            const struct pingpong_patience *patience)
{
    for (;;) {
        for (int poll = 0; poll < POLLS_A_QUESTION; poll++) {
            if (atomic_load_explicit(word, memory_order_acquire) == value)
                return true;
            cpu_relax();
        }
        if (patience && patience->give_up(patience->arg))
            return false;
    }
}

bool pingpong_await(const _Atomic uint32_t *word, uint32_t value,
                    const struct pingpong_patience *patience)
{
    for (int poll = 0; poll < EAGER_POLLS; poll++)
        if (atomic_load_explicit(word, memory_order_acquire) == value)
            return true;
    return await_patiently(word, value, patience);
}

bool pingpong_ask(_Atomic uint32_t *ball, uint32_t trips, const struct pingpong_patience *patience)
{
    uint32_t value = atomic_load_explicit(ball, memory_order_relaxed);
    for (uint32_t trip = 0; trip < trips; trip++) {
        atomic_store_explicit(ball, value + 1, memory_order_release);
        value += 2;
        if (!pingpong_await(ball, value, patience))
            return false;
    }
    return true;
}

bool pingpong_answer(_Atomic uint32_t *ball, uint32_t trips,
                     const struct pingpong_patience *patience)
{
    /* The word is already odd if the asker was first. */
    uint32_t value = atomic_load_explicit(ball, memory_order_relaxed) & ~1u;
    for (uint32_t trip = 0; trip < trips; trip++) {
        if (!pingpong_await(ball, value + 1, patience))
            return false;
        value += 2;
        atomic_store_explicit(ball, value, memory_order_release);
    }
    return true;
}
