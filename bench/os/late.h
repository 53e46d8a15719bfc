/*
 * What came between while a thread slept, of those wake-ups that were late and of those that were
 * not: interrupts and softirqs of its CPU, and who was runnable there when it had woken up. All
 * from /proc, as any user may read it.
 *
 *   rc = late_open(&log, "", os_cpu, err);
 *   late_look(log);  ... sleep ...  late_judge(log, was_late);   // again and again
 *   n = late_tell(&log, 1, tells, LATE_TELLS);
 *   late_close(log);
 */
#ifndef CONTEND_BENCH_OS_LATE_H
#define CONTEND_BENCH_OS_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

enum { LATE_NAME_MAX = 32, LATE_TELLS = 8 };

struct late_log;

/*
 * For the calling thread, on that CPU; `root` as in lib/files/proc.h. -ENOTSUP where the system
 * does not tell interrupts by CPU.
 */
int late_open(struct late_log **log, const char *root, unsigned os_cpu, struct err *err);

/* NULL is fine. */
void late_close(struct late_log *log);

/* Takes time: see late_cost_ns. */
void late_look(struct late_log *log);
void late_judge(struct late_log *log, bool was_late);

/* What a look takes, the median of a few. */
uint64_t late_cost_ns(struct late_log *log);

struct late_tell {
    char what[LATE_NAME_MAX]; /* "irq:virtio1-req.0", "softirq:NET_RX", "task:python3" */
    double late, on_time;     /* shares of wake-ups with it */
};

/*
 * Over all logs, of what came with more late wake-ups than others: at most `most`, those that
 * differ most first. None where nothing was late, or all was.
 */
size_t late_tell(struct late_log *const *logs, size_t n, struct late_tell *tells, size_t most);

#endif
