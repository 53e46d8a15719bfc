#include "bench/cpu/awake.h"

#include <errno.h>
#include <sched.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/futex.h"

enum { STARTING, RUNS, REFUSED };

static int pin_and_set_policy(const struct awake *awake)
{
    const struct sched_param none = {0};
    struct bitset cpu = {0};
    bitset_set(&cpu, awake->os_cpu);
    int rc = affinity_set(0, &cpu);
    if (!rc && sched_setscheduler(0, SCHED_IDLE, &none))
        rc = -errno;
    return rc;
}

static void *keep_awake(void *arg)
{
    struct awake *awake = arg;
    awake->refused = pin_and_set_policy(awake);
    futex_set(&awake->state, awake->refused ? REFUSED : RUNS);
    while (!awake->refused && !atomic_load_explicit(&awake->stop, memory_order_relaxed))
        ;
    return NULL;
}

int awake_start(struct awake *awake, unsigned os_cpu, struct err *err)
{
    *awake = (struct awake){.os_cpu = os_cpu};
    int rc = -pthread_create(&awake->thread, NULL, keep_awake, awake);
    awake->started = !rc;
    if (!rc) {
        futex_wait_while(&awake->state, STARTING);
        rc = awake->refused;
    }
    if (!rc)
        return 0;
    awake_end(awake);
    (void)err_sys(err, rc, "the system refuses a thread of policy SCHED_IDLE on CPU %u", os_cpu);
    return err ? (err->code = -ENOTSUP) : -ENOTSUP;
}

void awake_end(struct awake *awake)
{
    if (!awake->started)
        return;
    atomic_store(&awake->stop, true);
    (void)pthread_join(awake->thread, NULL);
    awake->started = false;
}
