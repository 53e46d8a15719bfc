#include "harness/rows/metric.h"

#include <math.h>
#include <string.h>

static double per(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static double efficiency(const struct round_fields *own, const struct round_fields *slice,
                         double slices)
{
    return per(own->throughput, slices * slice->throughput);
}

static double slowdown_vs_alone(const struct round_fields *own, const struct round_fields *alone,
                                double slices)
{
    (void)slices;
    return per(own->step_time, alone->step_time);
}

static double gain_vs_single(const struct round_fields *own, const struct round_fields *single,
                             double slices)
{
    (void)slices;
    return per(own->throughput, single->throughput);
}

static double page_faults(const struct round_fields *own, const struct round_fields *base,
                          double slices)
{
    (void)base;
    (void)slices;
    return own->minor_faults + own->major_faults;
}

static double loss(const struct round_fields *own, const struct round_fields *slice, double slices)
{
    (void)slices;
    return own->step_time_mean - slice->step_time_mean;
}

static double loss_oncpu(const struct round_fields *own, const struct round_fields *slice,
                         double slices)
{
    (void)slices;
    return own->oncpu - slice->oncpu;
}

static double loss_runqueue(const struct round_fields *own, const struct round_fields *slice,
                            double slices)
{
    (void)slices;
    return own->runqueue - slice->runqueue;
}

static double loss_blocked(const struct round_fields *own, const struct round_fields *slice,
                           double slices)
{
    (void)slices;
    return own->blocked - slice->blocked;
}

/*
 * On-CPU time of a thread is instructions x cost of one, so its growth splits without a remainder:
 *   I c - I0 c0 = (I - I0) c0 + I (c - c0)
 * The first part is more work, mostly spinning at barriers; the second the same work at a higher
 * cost: caches, bandwidth, SMT siblings, clocks, and the kernel, whose instructions are not
 * counted. Per thread, because the teams of the two arms can differ in size.
 */
static double loss_oncpu_instructions(const struct round_fields *own,
                                      const struct round_fields *slice, double slices)
{
    (void)slices;
    double cost = per(slice->oncpu, slice->thread_instructions);
    return (own->thread_instructions - slice->thread_instructions) * cost;
}

static double loss_oncpu_stalls(const struct round_fields *own, const struct round_fields *slice,
                                double slices)
{
    return loss_oncpu(own, slice, slices) - loss_oncpu_instructions(own, slice, slices);
}

static const char no_step[] = "a worker finished no step";
static const char no_slice[] = "no finished round of its baseline, one worker alone with its share "
                               "of the CPUs";
static const char no_alone[] = "no finished round of its baseline, one worker alone under the same "
                               "placement";
static const char no_single[] = "no finished round of its baseline, one unpinned worker alone";
static const char no_accounting[] = "the kernel's accounting of the threads could not be read";
static const char no_schedstat[] = "the kernel offers no schedstat; blocked holds the wait";

#define FIELD(field) .offset = offsetof(struct round_fields, field)
#define SLICE .baseline = BASELINE_SLICE
#define LOSS .baseline = BASELINE_SLICE, .is_loss = true

/* clang-format off */
const struct metric_info metrics[] = {
    {METRIC_RATE, NULL, "higher", FIELD(throughput), .absent = no_step},
    {"step_time", "s", "lower", FIELD(step_time), .absent = no_step, .is_step_time = true},
    {"efficiency", "ratio", "higher", SLICE, .value = efficiency, .absent = no_slice},
    {"slowdown_vs_alone", "ratio", "lower", BASELINE_ALONE, slowdown_vs_alone, .absent = no_alone},
    {"gain_vs_single", "ratio", "higher", BASELINE_SINGLE, gain_vs_single, .absent = no_single},
    {"step_time_mean", "s", "lower", FIELD(step_time_mean), .absent = no_accounting},
    {"oncpu_per_step", "s", "lower", FIELD(oncpu), .absent = no_accounting},
    {"runqueue_wait_per_step", "s", "lower", FIELD(runqueue), .absent = no_schedstat},
    {"blocked_per_step", "s", "lower", FIELD(blocked), .absent = no_accounting},
    {"voluntary_switches_per_step", "count", "none", FIELD(voluntary_switches)},
    {"involuntary_switches_per_step", "count", "lower", FIELD(involuntary_switches),
     .absent = no_accounting},
    {"migrations_per_step", "count", "lower", FIELD(migrations), .absent = no_accounting},
    {"page_faults_per_step", "count", "lower", .value = page_faults},
    {"cpus_visited", "count", "none", FIELD(cpus_visited)},
    {"pages_remote", "ratio", "lower", FIELD(pages_remote)},
    {"steal", "ratio", "lower", FIELD(steal), .absent = "the kernel reports no steal time"},
    {"foreign_cpu", "ratio", "lower", FIELD(foreign_cpu)},
    {"psi_cpu_some", "ratio", "lower", FIELD(psi_cpu_some)},
    {"gpu_busy", "ratio", "higher", FIELD(gpu_busy)},
    {"gpu_clock", "MHz", "none", FIELD(gpu_clock_mhz)},
    {"gpu_temperature", "degC", "none", FIELD(gpu_temp_c)},
    {"instructions_per_step", "count", "lower", FIELD(instructions)},
    {"cycles_per_step", "count", "lower", FIELD(cycles)},
    {"cache_misses_per_step", "count", "lower", FIELD(cache_misses)},
    {METRIC_LOSS, "s", "lower", LOSS, .value = loss},
    {"loss_oncpu_per_step", "s", "lower", LOSS, .value = loss_oncpu},
    {"loss_runqueue_per_step", "s", "lower", LOSS, .value = loss_runqueue},
    {"loss_blocked_per_step", "s", "lower", LOSS, .value = loss_blocked},
    {"loss_oncpu_instructions_per_step", "s", "lower", LOSS, .value = loss_oncpu_instructions},
    {"loss_oncpu_stalls_per_step", "s", "lower", LOSS, .value = loss_oncpu_stalls},
    {.name = NULL},
};
/* clang-format on */

const struct metric_info *metric_find(const char *name)
{
    for (const struct metric_info *metric = metrics; metric->name; metric++)
        if (strcmp(metric->name, name) == 0)
            return metric;
    return NULL;
}

double metric_value(const struct metric_info *metric, const struct round_fields *own,
                    const struct round_fields *base, double slices)
{
    if (metric->baseline != BASELINE_NONE && !base)
        return NAN;
    if (metric->value)
        return metric->value(own, base, slices);
    return *(const double *)((const char *)own + metric->offset);
}
