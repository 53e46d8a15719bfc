/*
 * Unlike jobs in one round: the rate of each, and what each keeps of its rate alone in the same
 * round. Pure.
 */
#ifndef CONTEND_RECORD_JOBS_H
#define CONTEND_RECORD_JOBS_H

#include "harness/engine/result.h"

/*
 * The throughput of the jobs of an arm: the sum of what each keeps of its rate alone, the weighted
 * speed-up (Snavely and Tullsen, ASPLOS 2000) or system throughput (Eyerman and Eeckhout, IEEE
 * Micro 2008). Where none runs alone, as in an ab, the geometric mean of the rates, whose ratios
 * are right. NaN = unknown.
 */
double jobs_throughput(const struct result *result, const struct arm *arm,
                       const struct observation *of);

/* A value of a metric of the jobs, by its index. */
struct job_value {
    unsigned metric;
    double value;
};
enum { JOB_VALUES = 2 * NEIGHBOURS_MOST + 1 };

/* What each job does and keeps, and how fairly: the harmonic mean (Luo, Gummaraju and Franklin,
 * ISPASS 2001). Returns how many are known. */
size_t jobs_values(const struct result *result, const struct arm *arm, const struct observation *of,
                   struct job_value values[JOB_VALUES]);

#endif
