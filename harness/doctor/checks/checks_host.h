/*
 * The checks of the machine around the processes (host.h), rows of check.c's table. Pure. They find
 * nothing in a view without a host.
 */
#ifndef CONTEND_DOCTOR_CHECKS_CHECKS_HOST_H
#define CONTEND_DOCTOR_CHECKS_CHECKS_HOST_H

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"

/*
 * Costs below this share, of the CPU time of workers or of the watched time, are not reported:
 * unchanged runs differ by 2% and more (METHOD.md, 6), so that a fix would not show.
 */
#define HOST_LEAST 0.02

/*
 * A hint fault counts as 1.5 us (the fault and the page table update), a moved page as 5 us more
 * (the copy and the TLB shootdown on all CPUs).
 */
void check_numa_balancing(struct checker *checker);

/* Reports HOST_LEAST of the time; if only events are counted, one per second. */
void check_throttling(struct checker *checker);

/*
 * Reports busy CPUs of workers below 90% of their base clock if a setting saves power; below 75%
 * for any reason, since wide vector code alone lowers the clock by less than that.
 */
void check_governor(struct checker *checker);

/*
 * Reports HOST_LEAST of the time (PSI); without PSI, 200 refaulted pages per second at 100 us each
 * (an SSD). Both count only where a limit is nearly used or the machine has no free pages. Always
 * reports an out-of-memory kill in a group of workers.
 */
void check_memory(struct checker *checker);

/* Reports workers bound to different CPUs of one core while other cores are free. */
void check_siblings(struct checker *checker);

/*
 * Reports what gpu_health_judge and gpu_change_judge call bad, except other users and the compute
 * mode; also a power limit, persistence mode off, and Xids of the last hour.
 */
void check_gpus(struct checker *checker);

/* Reports hung processes: bad if the process was named, else FINDING_DOUBT. */
void check_hung(struct checker *checker);
void check_convoy(struct checker *checker);

#endif
