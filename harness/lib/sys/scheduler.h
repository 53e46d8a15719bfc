/* Which scheduler is in force, by what the kernel shows; never a guess from its version. */
#ifndef CONTEND_LIB_SYS_SCHEDULER_H
#define CONTEND_LIB_SYS_SCHEDULER_H

#include <stddef.h>

/*
 * "EEVDF" (the fair class from Linux 6.6 on), "EEVDF with BORE", "CFS", or "sched_ext: NAME"; where
 * that schedules only tasks that ask for it, "EEVDF, and sched_ext: NAME for some". "" where the
 * kernel does not show enough. `root` as in lib/files/proc.h. Returns out.
 *
 * A kernel that places tasks by eligibility (Stoica and Abdel-Wahab 1995) has a symbol for the
 * average that they are held against; any kernel with the fair class has its tick. Versions do not
 * tell: distributions take the scheduler of newer ones, and sandboxes have a version of their own.
 */
char *scheduler_read(const char *root, char *out, size_t size);

#endif
