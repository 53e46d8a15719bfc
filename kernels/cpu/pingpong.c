#include "kernels/cpu/pingpong.h"

#include "kernels/cpu/relax.h"

/* About 4 us without a pause: far longer than any transfer, far shorter than a time slice. */
enum { POLLS_WITHOUT_PAUSE = 4096, POLLS_PER_CHECK = 1024 };

/* The partner has probably lost its CPU: the result no longer depends on fast polling. */
static bool await_with_pauses(const _Atomic uint32_t *word, uint32_t value,
                              const struct pingpong_timeout *timeout)
{
    for (;;) {
        for (int poll = 0; poll < POLLS_PER_CHECK; poll++) {
            if (atomic_load_explicit(word, memory_order_acquire) == value)
                return true;
            cpu_relax();
        }
        if (timeout && timeout->give_up(timeout->arg))
            return false;
    }
}

bool pingpong_await(const _Atomic uint32_t *word, uint32_t value,
                    const struct pingpong_timeout *timeout)
{
    for (int poll = 0; poll < POLLS_WITHOUT_PAUSE; poll++)
        if (atomic_load_explicit(word, memory_order_acquire) == value)
            return true;
    return await_with_pauses(word, value, timeout);
}

bool pingpong_ask(_Atomic uint32_t *word, uint32_t trips, const struct pingpong_timeout *timeout)
{
    uint32_t value = atomic_load_explicit(word, memory_order_relaxed);
    for (uint32_t trip = 0; trip < trips; trip++) {
        atomic_store_explicit(word, value + 1, memory_order_release);
        value += 2;
        if (!pingpong_await(word, value, timeout))
            return false;
    }
    return true;
}

bool pingpong_answer(_Atomic uint32_t *word, uint32_t trips, const struct pingpong_timeout *timeout)
{
    /* The word is already odd if the asker was first. */
    uint32_t value = atomic_load_explicit(word, memory_order_relaxed) & ~1u;
    for (uint32_t trip = 0; trip < trips; trip++) {
        if (!pingpong_await(word, value + 1, timeout))
            return false;
        value += 2;
        atomic_store_explicit(word, value, memory_order_release);
    }
    return true;
}
