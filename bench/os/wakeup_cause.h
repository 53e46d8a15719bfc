/*
 * The events while a thread slept, for wake-ups that were late and for those that were not:
 * interrupts and softirqs of its CPU, and who was runnable there when it had woken up. All from
 * /proc, as any user may read it.
 *
 *   rc = wakeup_cause_open(&log, "", os_cpu, err);
 *   wakeup_cause_look(log);  ... sleep ...  wakeup_cause_judge(log, was_late);   // again and again
 *   n = wakeup_cause_find(&log, 1, tells, WAKEUP_CAUSES);
 *   wakeup_cause_close(log);
 */
#ifndef CONTEND_BENCH_OS_WAKEUP_CAUSE_H
#define CONTEND_BENCH_OS_WAKEUP_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

enum { WAKEUP_CAUSE_NAME_MAX = 32, WAKEUP_CAUSES = 8 };

struct wakeup_cause_log;

/*
 * For the calling thread, on that CPU; `root` as in lib/files/proc.h. -ENOTSUP where the system
 * does not tell interrupts by CPU.
 */
int wakeup_cause_open(struct wakeup_cause_log **log, const char *root, unsigned os_cpu,
                      struct err *err);

/* NULL is fine. */
void wakeup_cause_close(struct wakeup_cause_log *log);

/* Takes time: see wakeup_cause_cost_ns. */
void wakeup_cause_look(struct wakeup_cause_log *log);
void wakeup_cause_judge(struct wakeup_cause_log *log, bool was_late);

/* The cost of a look, the median of a few. */
uint64_t wakeup_cause_cost_ns(struct wakeup_cause_log *log);

struct wakeup_cause {
    char what[WAKEUP_CAUSE_NAME_MAX]; /* "irq:virtio1-req.0", "softirq:NET_RX", "task:python3" */
    double late, on_time;             /* shares of wake-ups with it */
};

/*
 * Over all logs, of what came with more late wake-ups than others: at most `most`, those that
 * differ most first. None where nothing was late, or all was.
 */
size_t wakeup_cause_find(struct wakeup_cause_log *const *logs, size_t n, struct wakeup_cause *tells,
                         size_t most);

#endif
