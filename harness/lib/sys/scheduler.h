/* Which CPU scheduler the kernel uses, from what the kernel exposes, never from its version. */
#ifndef CONTEND_LIB_SYS_SCHEDULER_H
#define CONTEND_LIB_SYS_SCHEDULER_H

#include <stddef.h>

/*
 * "EEVDF" (the fair class from Linux 6.6 on), "EEVDF with BORE", "CFS", or "sched_ext: NAME"; if
 * sched_ext schedules only tasks that ask for it, "EEVDF, and sched_ext: NAME for some". "" if the
 * kernel exposes too little. `root` as in lib/sys/proc.h. Returns out.
 *
 * A kernel that places tasks by eligibility (Stoica and Abdel-Wahab 1995) has the symbol of their
 * average virtual runtime (avg_vruntime); any kernel with the fair class has task_tick_fair. The
 * version proves nothing: distributions backport schedulers, and sandboxes report their own.
 */
char *scheduler_read(const char *root, char *out, size_t size);

#endif
