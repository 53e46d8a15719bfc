/*
 * A buffer of so many items between threads that put and threads that get: who finds it full or
 * empty sleeps.
 *
 *   rc = bounded_open(&buffer, BOUNDED_CONDVAR, capacity, err);
 *   bounded_put(&buffer, tag);  item = bounded_get(&buffer);
 *   bounded_close(&buffer);
 */
#ifndef CONTEND_BENCH_OS_BOUNDED_H
#define CONTEND_BENCH_OS_BOUNDED_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/*
 * CONDVAR: a mutex and two condition variables, signalled once an item and after the mutex is given
 * back. SEMAPHORE: two POSIX semaphores (a futex each), and a mutex for the slots alone.
 */
enum bounded_how { BOUNDED_CONDVAR, BOUNDED_SEMAPHORE, BOUNDED_HOWS };

struct bounded_item {
    uint64_t put_ns; /* clock_now_ns when it came into the buffer */
    uint64_t tag;    /* the caller's */
};

/* Zeroed, it is closed. */
struct bounded {
    enum bounded_how how;
    unsigned capacity, first, n;
    struct bounded_item *slots; /* [capacity]; NULL = closed */
    _Alignas(128) pthread_mutex_t mutex;
    _Alignas(128) pthread_cond_t room, filled;
    _Alignas(128) sem_t free_slots;
    _Alignas(128) sem_t items;
};

/* -ENOMEM, or what the system refused. */
int bounded_open(struct bounded *buffer, enum bounded_how how, unsigned capacity, struct err *err);
void bounded_close(struct bounded *buffer);

/* Returns when it is in the buffer: put_ns. */
uint64_t bounded_put(struct bounded *buffer, uint64_t tag);

/* The oldest. */
struct bounded_item bounded_get(struct bounded *buffer);

#endif
