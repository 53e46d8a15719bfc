/*
 * A ring of io_uring, and why there is none: liburing was not there at build time, the kernel has
 * none (ENOSYS), or does not allow it (EPERM: kernel.io_uring_disabled, a sandbox).
 */
#ifndef CONTEND_BENCH_IO_RING_H
#define CONTEND_BENCH_IO_RING_H

#include "harness/lib/base/err.h"

/* 0 where one can be had, else -ENOTSUP with the reason. `sqpoll`: one with a thread of its own. */
int ring_check(int sqpoll, struct err *err);

#ifdef CONTEND_HAVE_URING

#include <liburing.h>

/*
 * Only the thread that has opened it may submit and wait: where the kernel has that (6.1), what is
 * done is looked after in these calls alone, and interrupts the thread nowhere else. sqpoll_cpu:
 * the kernel's own thread looks for what is submitted there; -1 = none. 0, or -ENOTSUP with the
 * reason. io_uring_queue_exit ends it.
 */
int ring_open(struct io_uring *ring, unsigned entries, int sqpoll_cpu, struct err *err);

/* Submits without waiting, so that what is done by then can be seen. */
int ring_submit(struct io_uring *ring);

#endif
#endif
