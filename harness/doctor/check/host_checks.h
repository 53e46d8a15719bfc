/*
 * The checks of the machine beside its processes (host.h), rows of check.c's table. Pure. They find
 * nothing in a view without a host.
 */
#ifndef CONTEND_DOCTOR_CHECK_HOST_CHECKS_H
#define CONTEND_DOCTOR_CHECK_HOST_CHECKS_H

#include "harness/doctor/check/check.h"
#include "harness/doctor/reader/host.h"

/*
 * Below this share of the CPU time that workers get, or of the watched time, nothing is told: runs
 * of one thing with nothing changed differ by 2% and more (METHOD.md, 6), so that nobody could see
 * it go away.
 */
#define HOST_LEAST 0.02

/* CPU time a second as a share of what busy workers had, of one CPU at least; 1 at most. */
double host_share(const struct checker *checker, double cpus);

/*
 * A hint fault counts as 1.5 us (a fault, and the page table again), a page moved as 5 us more
 * (copied, and all CPUs told).
 */
void check_numa_balancing(struct checker *checker);

/* HOST_LEAST of the time; where only events are counted, one a second. */
void check_throttling(struct checker *checker);

/*
 * Busy CPUs of workers below 90% of their base clock, under a setting that saves power; below 75%
 * whatever the reason, since code of wide vectors alone takes less than that.
 */
void check_governor(struct checker *checker);

/*
 * HOST_LEAST of the time (PSI); without PSI 200 pages read again a second, at 100 us of an SSD
 * each. A process that was ended for want of memory always.
 */
void check_memory(struct checker *checker);

/* Workers that are bound, on CPUs of their own: two on one core, while cores are free. */
void check_siblings(struct checker *checker);

/*
 * Reports all that gpu_health_judge and gpu_change_judge call bad; a power limit; persistence off.
 */
void check_gpus(struct checker *checker);

/* No thread is left to wake another: an error where the process was named, else a warning. */
void check_hung(struct checker *checker);

#endif
