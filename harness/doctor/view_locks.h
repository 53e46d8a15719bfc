/*
 * Who waits for whom among the threads of one process, as far as it can be read from outside: what
 * a thread waits for in futex(2), whether that is a lock which names its holder, and whether those
 * who wait hold each other up. Pure; locks.h reads, checks_locks.c tells.
 *
 * A thread waits for one lock at most, and a lock has one holder at most: from every thread there
 * is one way on, and a circle on it is a deadlock.
 *
 * Sources: futex(2), proc(5); the GNU C library's sysdeps/nptl/bits/struct_mutex.h and
 * nptl/pthread_mutex_lock.c, of 64-bit processes. Its mutexes alone name their holder. Condition
 * variables, semaphores, locks for reading and writing, the locks of other libraries, and whoever
 * waits with a time-out are not judged.
 */
#ifndef CONTEND_DOCTOR_VIEW_LOCKS_H
#define CONTEND_DOCTOR_VIEW_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/doctor/view.h"

enum futex_way { FUTEX_IN_WAIT, FUTEX_IN_WAIT_BITSET, FUTEX_IN_LOCK_PI };

/* A call that nothing but another thread ends. */
struct futex_call {
    uint64_t address; /* that it waits on */
    uint32_t value;   /* that it found there */
    enum futex_way way;
    bool is_private;
    uint64_t stack; /* its stack pointer */
    uint64_t code;  /* its program counter */
};

/*
 * From the text of /proc/PID/task/TID/syscall. False: it runs, is in another call, has a time-out,
 * or that is no such text.
 */
bool view_read_futex(const char *text, struct futex_call *call);

/* Whether it is worth to look at the memory there: most wait for something else, and show it. */
bool view_may_be_lock(const struct futex_call *call);

enum lock_kind {
    LOCK_NONE,
    LOCK_MUTEX,
    LOCK_ROBUST,     /* PTHREAD_MUTEX_ROBUST */
    LOCK_INHERITING, /* PTHREAD_PRIO_INHERIT */
    LOCK_REFUSED,    /* such a one, by the kernel: it sleeps for ever, and is its own "holder" */
    LOCK_THREAD_END  /* no lock: pthread_join, and the "holder" is who is to end; or any number */
};

/* What a mutex has in memory: its word, a count, the holder, users, its type. */
enum { LOCK_WORDS = 5 };

struct lock_seen {
    enum lock_kind kind;
    uint32_t holder; /* its thread, as the process itself numbers them */
    bool is_shared;  /* between processes: the holder may be in another one */
};

/* What that memory, at call->address, is. */
struct lock_seen view_read_lock(const struct futex_call *call, const uint32_t words[LOCK_WORDS]);

/*
 * The kernel refuses a mutex with PTHREAD_PRIO_INHERIT that would close a circle, and the C library
 * then lets the thread sleep for ever, on a 0 on its own stack. Which mutex it was is not kept. It
 * is that, and no semaphore on the stack, if the frame with the 0 is one of the function in which
 * another thread waits for such a mutex: the way back that is nearest below the 0 is less than
 * LOCK_NEAR_CODE away from one in the first LOCK_FRAME_WORDS words of the other's stack.
 *
 * On aarch64 what makes the system call keeps no way back on the stack, so that the stack begins
 * with the frame itself: both call from code that is that near; their frames have the record of the
 * caller at the same place, with the guard of the stack, which is one for all threads, right below
 * it; and the 0 lies below that.
 */
enum { LOCK_FRAME_WORDS = 12, LOCK_STACK_MOST = 256, LOCK_NEAR_CODE = 2048, LOCK_CALL_BYTES = 5 };
/* It waits on a 0 that is less than LOCK_STACK_MOST bytes above its stack pointer. */
bool view_may_be_refused(const struct futex_call *call, uint32_t word);
/* These bytes before an address are a call, so that the address is a way back. */
bool view_is_call(const uint8_t before[LOCK_CALL_BYTES]);
/* On aarch64: the first words of the stack of one that may have been refused, and of another that
 * waits for a lock that inherits, look so. `at`: where the caller's record is, to be checked. */
bool view_are_alike(const struct futex_call *one, const uint64_t here[LOCK_FRAME_WORDS],
                    const struct futex_call *other, const uint64_t there[LOCK_FRAME_WORDS],
                    size_t *at);
/* A way back as a record has it: on aarch64 its upper bits may be a signature. */
uint64_t view_way_back(uint64_t word);

/* The number of voluntary and other switches in the text of a status file; false: it has none. */
bool view_read_switches(const char *status, uint64_t *switches);
/* The number of a thread in the innermost namespace of pids, and in how many it has one. */
bool view_read_number(const char *status, uint32_t *number, unsigned *depth);

struct lock_wait {
    int tid;
    char name[VIEW_NAME_MAX];
    enum lock_kind kind;
    bool is_shared;
    uint64_t lock;     /* its address */
    uint32_t number;   /* of the holder, as the lock has it */
    int holder;        /* its tid; 0 = no thread of this process has that number */
    uint64_t switches; /* how often it was taken off a CPU so far */
    /* Of lock_waits_join; -1 = none: */
    int next;   /* its holder's wait */
    int circle; /* of which it is a part */
    int behind; /* the circle that it waits for in the end, or is a part of */
    int mark;   /* its own */
};

/*
 * Finds the circles among the waits of a process, sorted by tid, each thread once. Returns how
 * many there are; they are numbered from 0 on.
 */
unsigned lock_waits_join(struct lock_wait *waits, size_t n);

/* What it waits for is of this process alone, and nobody in it is left who could give it back. */
bool lock_wait_is_lost(const struct lock_wait *wait);

/* Something is to be told of them. */
bool lock_waits_are_stuck(const struct lock_wait *waits, size_t n);

/*
 * Forgets circles and lost locks of `now` that were not the same `then`, with nobody in them having
 * run between. Both sorted, and joined; `now` was read after the switches of `then`, and before its
 * own. Returns lock_waits_are_stuck of what is left.
 */
bool lock_waits_confirm(const struct lock_wait *then, size_t nthen, struct lock_wait *now,
                        size_t nnow);

#endif
