#include "harness/record/metric.h"

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

static double slowdown_vs_solo(const struct round_fields *own, const struct round_fields *solo,
                               double slices)
{
    (void)slices;
    return per(own->step_time, solo->step_time);
}

static double gain_vs_single(const struct round_fields *own, const struct round_fields *single,
                             double slices)
{
    (void)slices;
    return per(own->throughput, single->throughput);
}

static double vs_best(const struct round_fields *own, const struct round_fields *best,
                      double slices)
{
    (void)slices;
    return per(best->throughput, own->throughput);
}

static double page_faults(const struct round_fields *own, const struct round_fields *base,
                          double slices)
{
    (void)base;
    (void)slices;
    return own->usage.minor_faults + own->usage.major_faults;
}

static double loss(const struct round_fields *own, const struct round_fields *slice, double slices)
{
    (void)slices;
    return own->usage.wall_s - slice->usage.wall_s;
}

static double loss_oncpu(const struct round_fields *own, const struct round_fields *slice,
                         double slices)
{
    (void)slices;
    return own->usage.oncpu_s - slice->usage.oncpu_s;
}

static double loss_runqueue(const struct round_fields *own, const struct round_fields *slice,
                            double slices)
{
    (void)slices;
    return own->usage.runqueue_s - slice->usage.runqueue_s;
}

static double loss_throttled(const struct round_fields *own, const struct round_fields *slice,
                             double slices)
{
    (void)slices;
    return own->usage.throttled_s - slice->usage.throttled_s;
}

static double loss_blocked(const struct round_fields *own, const struct round_fields *slice,
                           double slices)
{
    (void)slices;
    return own->usage.blocked_s - slice->usage.blocked_s;
}

static double loss_stolen(const struct round_fields *own, const struct round_fields *slice,
                          double slices)
{
    (void)slices;
    return own->stolen_s - slice->stolen_s;
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
    double cost = per(slice->usage.oncpu_s, slice->thread_instructions);
    return (own->thread_instructions - slice->thread_instructions) * cost;
}

static double loss_oncpu_stalls(const struct round_fields *own, const struct round_fields *slice,
                                double slices)
{
    return loss_oncpu(own, slice, slices) - loss_oncpu_instructions(own, slice, slices);
}

static const char no_step[] = "a worker finished no step";
static const char no_slice[] = "no finished round of its baseline, one worker alone with its share "
                               "of the CPUs: a placement with CPUs of its own has it (-P "
                               "...,partition)";
static const char no_solo[] = "no finished round of its baseline, one worker alone under the same "
                              "placement";
static const char no_single[] = "no finished round of its baseline, one unpinned worker alone";
static const char no_best[] = "no round that both it and the best placement finished";

#define FIELD(field) .offset = offsetof(struct round_fields, field)
#define USAGE_METRIC(field, per_step, its_name, its_unit, which, why)                              \
    {its_name, its_unit, which, FIELD(usage.field), .absent = (why)},
#define SLICE .baseline = BASELINE_SLICE
#define LOSS .baseline = BASELINE_SLICE, .is_loss = true

/* clang-format off */
const struct metric_info metrics[] = {
    {METRIC_RATE, NULL, "higher", FIELD(throughput), .absent = no_step, .gating = true},
    {METRIC_VS_BEST, "ratio", "lower", BASELINE_BEST, vs_best, .absent = no_best},
    {"worst_worker", "ratio", "higher", FIELD(worst_worker)},
    {"step_time", "s", "lower", FIELD(step_time), .absent = no_step, .is_step_time = true,
     .gating = true},
    {METRIC_STEPS, "steps", "none", FIELD(steps)},
    {"background_rate", "items/s", "higher", FIELD(background_rate), .gating = true},
    {METRIC_DOSE, "ratio", "none", FIELD(dose)},
    {"efficiency", "ratio", "higher", SLICE, .value = efficiency, .absent = no_slice},
    {"slowdown_vs_alone", "ratio", "lower", BASELINE_SAME_PLACEMENT, slowdown_vs_solo, .absent = no_solo},
    {"gain_vs_single", "ratio", "higher", BASELINE_SINGLE, gain_vs_single, .absent = no_single},
    USAGE_SCHEDULER(USAGE_METRIC)
    {"page_faults_per_step", "count", "lower", .value = page_faults},
    USAGE_CPUS(USAGE_METRIC)
    {"pages_remote", "ratio", "lower", FIELD(pages_remote)},
    {"steal", "ratio", "lower", FIELD(steal), .absent = "the kernel reports no steal time"},
    {"stolen_per_step", "s", "lower", FIELD(stolen_s)},
    {"foreign_cpu", "ratio", "lower", FIELD(foreign_cpu)},
    {"psi_cpu_some", "ratio", "lower", FIELD(psi_cpu_some)},
    {"stage_cost", "ratio", "lower", FIELD(stage_cost)},
    {"gpu_busy", "ratio", "higher", FIELD(gpu_busy)},
    {"gpu_clock", "MHz", "none", FIELD(gpu_clock_mhz)},
    {"gpu_temperature", "degC", "none", FIELD(gpu_temp_c)},
    USAGE_COUNTERS(USAGE_METRIC)
    {METRIC_LOSS, "s", "lower", LOSS, .value = loss},
    {"loss_oncpu_per_step", "s", "lower", LOSS, .value = loss_oncpu},
    {"loss_runqueue_per_step", "s", "lower", LOSS, .value = loss_runqueue},
    {"loss_throttled_per_step", "s", "lower", LOSS, .value = loss_throttled},
    {"loss_blocked_per_step", "s", "lower", LOSS, .value = loss_blocked},
    {"loss_stolen_per_step", "s", "lower", LOSS, .value = loss_stolen},
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
