/* Rules for results and rates under load: GPU memory, and all parts of the machine at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/machine/topo_gpu.h"
#include "harness/validate/rules/rules.h"

/*
 * Least rates: of the last third relative to the first third, and of the whole time relative to
 * peers. GPUs at their power limit lose some percent while they warm up, and copies share memory
 * with CPUs, so a smaller loss is no fault.
 */
#define STEADY_FAIL 0.8
#define STEADY_WARN 0.9

/* Shares of the time in which heat or the hardware held a clock down. */
#define HELD_FAIL 0.5
#define HELD_WARN 0.05

enum { SERIES_MAX = 64 };

/* Values of a metric in order of time. */
struct series {
    double value[SERIES_MAX], end_s;
    unsigned n;
};

static struct series series_of(const struct facts *facts, const char *metric, const char *part,
                               int gpu)
{
    const struct facts_probe *probe = &facts->probes[PROBE_BURN];
    struct series series = {.end_s = 0};
    const char *unit = gpu >= 0 ? str_fmt("gpu=%d", gpu) : "";
    for (size_t i = 0; i < probe->n && series.n < SERIES_MAX; i++) {
        const struct facts_value *value = &probe->values[i];
        const char *time = strstr(value->key, "time=");
        if (strcmp(value->metric, metric) != 0 || !time || isnan(value->value) ||
            !text_has_words(value->key, ';', part) || !text_has_words(value->key, ';', unit))
            continue;
        series.value[series.n++] = value->value;
        series.end_s = fmax(series.end_s, atof(time + strlen("time=")));
    }
    return series;
}

static double mean_of(const struct series *series, unsigned from, unsigned n)
{
    double sum = 0;
    for (unsigned i = from; i < from + n; i++)
        sum += series->value[i];
    return n ? sum / n : (double)NAN;
}

/* The last third's mean / the first third's, after settling; NaN with fewer than three values. */
static double kept_share(const struct series *series)
{
    unsigned settles = series->n > 3, third = (series->n - settles) / 3;
    return series->n < 3
               ? (double)NAN
               : mean_of(series, series->n - third, third) / mean_of(series, settles, third);
}

/* A wrong result is a FAIL, even if it ended the measurement. */
static void judge_correct(struct checks *checks, const char *passed)
{
    const enum facts_probe_name name = check_probe(checks);
    const struct facts_probe *probe = &checks->facts->probes[name];
    if (probe->status == PROBE_FAILED)
        check_report(checks, OUTCOME_FAIL, NULL, "%s", probe->reason);
    else if (check_measured(checks, name) && !check_lost(checks, name))
        check_report(checks, OUTCOME_PASS, NULL, "%s", passed);
}

static void judge_memory(struct checks *checks)
{
    judge_correct(checks, "all that was free of the GPUs' memory reads back right");
}

static void judge_burn(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    struct series cpus = series_of(facts, "burn_cpu_rate", "", -1);
    const char *passed;
    unsigned gpus = 0;
    for (unsigned i = 0; i < facts->topo->ngpus; i++)
        gpus += series_of(facts, "burn_products", "", facts->topo->gpus[i].cuda_ordinal).n > 0;
    if (gpus)
        passed = str_fmt("%u GPU%s, their links and memory, and the CPUs: all right over %.0f s",
                         gpus, gpus == 1 ? "" : "s", cpus.end_s);
    else
        passed = str_fmt("no GPU: CPUs and memory alone, all right over %.0f s", cpus.end_s);
    judge_correct(checks, passed);
}

/* The rates to judge; may_fail: a low rate may fail, others only warn. */
static const struct rate {
    const char *metric, *part, *name, *in;
    bool of_gpu, may_fail;
} rates[] = {
    {"burn_products", "", "products", "TFLOP/s", true, true},
    {"burn_copies", "link=host", "copies of host memory", "GB/s", true, false},
    {"burn_copies", "link=peer", "copies of other GPUs", "GB/s", true, false},
    {"burn_cpu_rate", "", "rate of all CPUs", "G/s", false, false},
    {"burn_memory_rate", "", "memory bandwidth of all CPUs", "GB/s", false, false},
};
enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* Reports a value that is too small a share of `than`. Returns true if it did. */
static bool report_sag(struct checks *checks, const struct rate *rate, int gpu, double value,
                       double than, const char *whose)
{
    double share = value / than, least = rate->may_fail ? STEADY_WARN : STEADY_FAIL;
    char unit[64] = "";
    (void)topo_gpu_name_ordinal(checks->facts->topo, gpu, unit, sizeof(unit));
    const struct check check = {.unit = unit,
                                .metric = rate->metric,
                                .in = rate->in,
                                .value = value,
                                .low = least * than,
                                .high = NAN};
    const enum finding_outcome outcome = !(share < least)                        ? OUTCOME_PASS
                                         : rate->may_fail && share < STEADY_FAIL ? OUTCOME_FAIL
                                                                                 : OUTCOME_WARN;
    check_number(checks, outcome, &check);
    if (outcome == OUTCOME_PASS)
        return false;
    check_report(checks, outcome, &check, "%s: %s %s, %.0f%% of %s %s", rate->name,
                 units_plain(value, 4), rate->in, 100 * share, whose, units_plain(than, 4));
    return true;
}

/* Compares with the upper median, so that of two GPUs the slower one is reported. */
static bool judge_peers(struct checks *checks, const struct rate *rate)
{
    const struct topo *topo = checks->facts->topo;
    double means[SERIES_MAX], sorted[SERIES_MAX];
    int gpus[SERIES_MAX];
    unsigned n = 0;
    bool any = false;
    for (unsigned i = 0; i < topo->ngpus && n < SERIES_MAX; i++) {
        struct series series =
            series_of(checks->facts, rate->metric, rate->part, topo->gpus[i].cuda_ordinal);
        if (!series.n)
            continue;
        gpus[n] = topo->gpus[i].cuda_ordinal;
        sorted[n] = means[n] = mean_of(&series, 0, series.n);
        n++;
    }
    (void)stats_sort(sorted, n);
    for (unsigned i = 0; i < n; i++)
        any |= report_sag(checks, rate, gpus[i], means[i], sorted[n / 2], "its peers'");
    return any;
}

static void judge_steady(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    bool any = false;
    unsigned judged = 0;
    if (!check_measured(checks, PROBE_BURN))
        return;
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned i = 0; i < (rates[r].of_gpu ? topo->ngpus : 1); i++) {
            int gpu = rates[r].of_gpu ? topo->gpus[i].cuda_ordinal : -1;
            struct series series = series_of(checks->facts, rates[r].metric, rates[r].part, gpu);
            unsigned settles = series.n > 3, third = (series.n - settles) / 3;
            if (isnan(kept_share(&series)))
                continue;
            judged++;
            any |= report_sag(checks, &rates[r], gpu, mean_of(&series, series.n - third, third),
                              mean_of(&series, settles, third), "its first third's");
        }
    for (unsigned r = 0; r < RATES; r++)
        any |= rates[r].of_gpu && judge_peers(checks, &rates[r]);
    if (!judged)
        check_report(checks, OUTCOME_ERROR, NULL, "nothing was measured");
    else if (!any)
        check_report(checks, OUTCOME_PASS, NULL, "%u rates held over the time and among peers",
                     judged);
}

static double throttles_gained(const struct unit *unit)
{
    const struct facts *later = unit->facts->after_burn;
    return later ? later->throttle_events - unit->facts->throttle_events : (double)NAN;
}

/* Reports a counter that rose. Returns true if it did. */
static bool report_gain(struct checks *checks, const char *unit, const char *what, double before,
                        double after, enum finding_outcome outcome)
{
    if (!(after > before) || before < 0)
        return false;
    const struct check check = {.unit = unit,
                                .metric = "events",
                                .in = "events",
                                .value = after - before,
                                .low = NAN,
                                .high = 0};
    check_report(checks, outcome, &check, "%.0f new %s during the burn-in", after - before, what);
    return true;
}

static double count_log_lines(const struct facts *facts, enum facts_event_kind kind)
{
    double n = 0;
    for (size_t i = 0; i < facts->nevents; i++)
        n += facts->events[i].kind == kind ? facts->events[i].count : 0;
    return n;
}

static bool judge_log(struct checks *checks, const struct facts *later)
{
    static const struct {
        enum facts_event_kind kind;
        const char *what;
        enum finding_outcome outcome;
    } kinds[] = {{EVENT_XID, "Xid lines of the kernel's log", OUTCOME_FAIL},
                 {EVENT_SXID, "SXid lines of the kernel's log", OUTCOME_FAIL},
                 {EVENT_AER_UNCORRECTED, "uncorrected PCIe error lines", OUTCOME_FAIL},
                 {EVENT_AER_CORRECTED, "corrected PCIe error lines", OUTCOME_WARN},
                 {EVENT_MACHINE_CHECK, "machine check lines", OUTCOME_FAIL}};
    bool any = report_gain(checks, NULL, "machine checks", checks->facts->machine_checks,
                           later->machine_checks, OUTCOME_FAIL);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        any |=
            report_gain(checks, NULL, kinds[i].what, count_log_lines(checks->facts, kinds[i].kind),
                        count_log_lines(later, kinds[i].kind), kinds[i].outcome);
    return any;
}

static bool judge_counters(struct checks *checks, const struct facts *later)
{
    const struct facts *facts = checks->facts;
    bool any = false;
    for (size_t i = 0; i < later->ndevices; i++) {
        const struct facts_device *after = &later->devices[i];
        const struct facts_device *before = facts_find_device(facts, after->bdf);
        if (!before)
            continue;
        any |= report_gain(checks, after->bdf, "fatal PCIe errors", (double)before->aer_fatal,
                           (double)after->aer_fatal, OUTCOME_FAIL);
        any |= report_gain(checks, after->bdf, "uncorrected PCIe errors",
                           (double)before->aer_nonfatal, (double)after->aer_nonfatal, OUTCOME_FAIL);
        any |= report_gain(checks, after->bdf, "corrected PCIe errors",
                           (double)before->aer_correctable, (double)after->aer_correctable,
                           OUTCOME_WARN);
    }
    /* A controller without errors before is not in the first list. */
    for (size_t i = 0; i < later->nedac && facts->edac == FACTS_READ; i++) {
        const struct facts_edac *after = &later->edacs[i], *before = NULL;
        for (size_t j = 0; j < facts->nedac && !before; j++)
            if (strcmp(facts->edacs[j].name, after->name) == 0)
                before = &facts->edacs[j];
        any |= report_gain(checks, after->name, "uncorrected memory errors",
                           before ? (double)before->uncorrected : 0, (double)after->uncorrected,
                           OUTCOME_FAIL);
        any |= report_gain(checks, after->name, "corrected memory errors",
                           before ? (double)before->corrected : 0, (double)after->corrected,
                           OUTCOME_WARN);
    }
    return any;
}

static bool judge_gpus(struct checks *checks, const struct facts *later)
{
    const struct topo *topo = checks->facts->topo;
    bool any = false;
    for (unsigned i = 0; i < topo->ngpus; i++) {
        const struct gpu_health *before = topo->gpus[i].health, *after = NULL;
        const char *unit = topo_gpu_name(&topo->gpus[i]);
        for (unsigned j = 0; j < later->topo->ngpus; j++)
            if (strcmp(later->topo->gpus[j].pci_bdf, topo->gpus[i].pci_bdf) == 0)
                after = later->topo->gpus[j].health;
        if (before && after) {
            any |=
                report_gain(checks, unit, "uncorrected ECC errors", (double)before->ecc_uncorrected,
                            (double)after->ecc_uncorrected, OUTCOME_FAIL);
            any |= report_gain(checks, unit, "corrected ECC errors", (double)before->ecc_corrected,
                               (double)after->ecc_corrected, OUTCOME_WARN);
        }
        const char *key = str_fmt("gpu=%d", topo->gpus[i].cuda_ordinal);
        const struct facts_probe *probe = &checks->facts->probes[PROBE_BURN];
        for (size_t v = 0; v < probe->n; v++)
            if (strcmp(probe->values[v].metric, "burn_replays") == 0 &&
                text_has_words(probe->values[v].key, ';', key))
                any |= report_gain(checks, unit, "PCIe replays", 0, probe->values[v].value,
                                   OUTCOME_WARN);
    }
    return any;
}

static void judge_events(struct checks *checks)
{
    const struct facts *later = checks->facts->after_burn;
    if (!check_measured(checks, PROBE_BURN))
        return;
    if (!later) {
        check_report(checks, OUTCOME_ERROR, NULL, "the counters were not read again");
        return;
    }
    bool any = judge_log(checks, later);
    any |= judge_counters(checks, later);
    any |= judge_gpus(checks, later);
    if (!any)
        check_report(checks, OUTCOME_PASS, NULL, "no counter of errors rose%s",
                     later->log == FACTS_READ ? "" : "; the kernel's log needs root");
}

/* Appends minimum, mean and maximum over all times and GPUs. */
static void append_range(const struct facts *facts, const char *metric, const char *in,
                         const char **text)
{
    struct series least = series_of(facts, metric, "stat=min", -1);
    struct series mean = series_of(facts, metric, "stat=mean", -1);
    struct series most = series_of(facts, metric, "stat=max", -1);
    if (!least.n || !mean.n || !most.n)
        return;
    (void)stats_sort(least.value, least.n);
    (void)stats_sort(most.value, most.n);
    str_add(text, ", ", "%.0f to %.0f %s (mean %.0f)", least.value[0], most.value[most.n - 1], in,
            mean_of(&mean, 0, mean.n));
}

bool burn_format(const struct facts *facts, char *buf, size_t size)
{
    static const struct {
        struct number share;
        const char *label;
    } held[] = {{MEASURED(PROBE_BURN, "burn_throttle", "reason=power"), "the power limit"},
                {MEASURED(PROBE_BURN, "burn_throttle", "reason=thermal"), "heat"},
                {MEASURED(PROBE_BURN, "burn_slowdown", ""), "a slowdown"}};
    const struct unit machine = {.facts = facts, .at = facts};
    struct series cpus = series_of(facts, "burn_cpu_rate", "", -1);
    struct series memory = series_of(facts, "burn_memory_rate", "", -1);
    const char *rest = "";
    if (facts->probes[PROBE_BURN].status != PROBE_DONE || !cpus.n)
        return false;
    append_range(facts, "burn_clock", "MHz", &rest);
    append_range(facts, "burn_power", "W", &rest);
    append_range(facts, "burn_temperature", "C", &rest);
    bool any = false;
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        double share = unit_number(&held[i].share, &machine);
        if (!isnan(share))
            str_add(&rest, any ? ", " : "; clocks held by ", "%s %.0f%%", held[i].label,
                    100 * share);
        any = any || !isnan(share);
    }
    (void)snprintf(buf, size, "burn-in of %.0f s: %s%s; CPUs %s G/s, memory %s GB/s", cpus.end_s,
                   rest[0] ? "GPUs " : "no GPU", rest, units_plain(mean_of(&cpus, 0, cpus.n), 4),
                   units_plain(mean_of(&memory, 0, memory.n), 4));
    return true;
}

#define HELD(metric, part, most, outcome, sentence)                                                \
    {                                                                                              \
        OF_GPU, MEASURED(PROBE_BURN, metric, part), ABOVE, NUMBER(most), outcome, metric, "share", \
            sentence                                                                               \
    }

const struct rule rules_burn[] = {
    {"gpu_memory_right", RULE_HEALTH, "hardware", ACTION_REPLACE, "measurement",
     "Nearly all free memory of every GPU, written by patterns and their complements, reads back "
     "right.",
     "moving inversions, as memtest86", "contend bench gpu_memory",
     .probes = 1u << PROBE_GPU_MEMORY, .of_gpus = true, .judge = judge_memory},
    {"burn_right", RULE_HEALTH, "hardware", ACTION_REPLACE, "--burn",
     "All GPUs, links, CPUs and memory, busy together, give no wrong result.",
     "every result against its reference", "contend bench burn --time 60",
     .probes = 1u << PROBE_BURN, .judge = judge_burn},
    {"burn_steady", RULE_SYMMETRY, "hardware", ACTION_WATCH, "--burn",
     "Rates of the last third of a burn-in are those of the first, and those of the peers: 80% "
     "passes for products, 90% without a warning.",
     "the machine itself", "contend bench burn --time 60", .probes = 1u << PROBE_BURN,
     .judge = judge_steady},
    {"burn_clocks", RULE_HEALTH, "hardware", ACTION_WATCH, "--burn, driver",
     "During a burn-in neither heat nor the hardware holds a clock down; a GPU's power limit may.",
     "NVML, clock event reasons; thermal_throttle of CPUs",
     "nvidia-smi -q -d PERFORMANCE,TEMPERATURE", .probes = 1u << PROBE_BURN,
     .limits = {HELD("burn_slowdown", "", HELD_FAIL, OUTCOME_FAIL,
                     "heat or the hardware held its clock down for {%}% of the time"),
                HELD("burn_slowdown", "", HELD_WARN, OUTCOME_WARN,
                     "heat or the hardware held its clock down for {%}% of the time"),
                HELD("burn_throttle", "reason=thermal", HELD_WARN, OUTCOME_WARN,
                     "heat held its clock down for {%}% of the time"),
                {OF_MACHINE, MADE(throttles_gained), ABOVE, NUMBER(0), OUTCOME_WARN,
                 "throttle_events", "events", "heat throttled CPUs {v} times",
                 .independent = true}},
     .unknown = "neither GPUs nor CPUs report what holds their clocks down",
     .passed = "neither heat nor the hardware held a clock down"},
    {"burn_events", RULE_HEALTH, "hardware", ACTION_RESET, "--burn; kernel's log (root)",
     "During a burn-in no Xid, PCIe error or replay, machine check, memory or ECC error is new.",
     "counters before and behind it", "sudo dmesg | grep -e Xid -e AER -e mce",
     .probes = 1u << PROBE_BURN, .judge = judge_events},
    {.id = NULL}};
