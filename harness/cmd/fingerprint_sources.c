#include "harness/cmd/fingerprint_sources.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/metric.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/odd.h"

/* Memory aggressors get half of the CPUs, and need two: one for themselves, one for their probe. */
enum { HALVES_LEAST = 4 };

/* Size of {beyond}: this multiple of the largest cache, within these limits. */
enum { BEYOND_CACHES = 4, BEYOND_LEAST_MIB = 256, BEYOND_MOST_MIB = 1024 };

#define PIPELINE "run", "pipeline", "--no-baselines"
#define COPY(dir) "bench", "gpu_copy", "-p", dir, "-p", "mem=pinned", "-p", "via=ce"

/* clang-format off */
const struct source_run source_runs[] = {
    {"cpu", {"bench", "canary", "--rounds=5"}, 3},
    {"latency", {"bench", "mem_latency", "-p", "min={beyond}", "-p", "max={beyond}", "-p",
                 "pages=thp", "--rounds=3"}, 12},
    {"bandwidth", {"bench", "mem_bandwidth", "-p", "op=read", "-p", "threads={cpus}",
                   "--rounds=5"}, 10},
    {"default", {PIPELINE, "-P", "none,partition", "--rounds=7"}, 23},
    {"cpu-load", {PIPELINE, "-P", "partition", "--rounds=5", "--dose=cpu=20,40%"}, 40},
    {"memory-load", {PIPELINE, "-P", "partition", "--rounds=5", "--cpus={half}",
                     "--dose=bandwidth=0.9,0.8"}, 40, .needs_half = true},
    {"h2d", {COPY("dir=h2d"), "--rounds=5", "--cpus={half}", "--dose=bandwidth=0.8"}, 16,
     .needs_gpu = true, .needs_half = true},
    {"d2h", {COPY("dir=d2h"), "--rounds=5", "--cpus={half}", "--dose=bandwidth=0.8"}, 16,
     .needs_gpu = true, .needs_half = true},
    {"launch", {"bench", "gpu_launch", "--rounds=3", "--dose=cpu=20%"}, 20, .needs_gpu = true},
    {.folder = NULL},
};

/* Location of a value: run, metric, and the arm with this placement and dose. */
struct place {
    const char *folder, *metric; /* folder NULL: no value */
    const char *at;              /* position along dimensions, as in a key; NULL: the first value */
    enum placement placement;
    const char *dose; /* NULL = none */
};

#define COPIES .metric = "copy_bandwidth", .at = "gpu=0;with=alone"
#define LAUNCHES .metric = "launch_latency", .at = "what=launch;wait=spin;load=idle;stat=p50;gpu=0"
#define PARTITION .metric = METRIC_RATE, .placement = PLACE_PARTITION

/* A value relative to another (`to`) is a retention; else it is a rate. */
static const struct source {
    const char *part, *name;
    struct place of, to;
} sources[] = {
    {"cpu", "integer", {"cpu", "canary_integer"}, {0}},
    {"cpu", "latency of L1", {"cpu", "canary_latency"}, {0}},
    {"cpu", "copy", {"cpu", "canary_copy"}, {0}},
    {"memory", "latency, huge pages", {"latency", "latency"}, {0}},
    {"memory", "read by all CPUs", {"bandwidth", "bandwidth"}, {0}},
    {"default", "partition", {"default", PARTITION}, {0}},
    {"default", "none relative to partition", {"default", METRIC_RATE}, {"default", PARTITION}},
    {"cpu load", "cpu=20%", {"cpu-load", PARTITION, .dose = "cpu=20%"}, {"cpu-load", PARTITION}},
    {"cpu load", "cpu=40%", {"cpu-load", PARTITION, .dose = "cpu=40%"}, {"cpu-load", PARTITION}},
    {"memory load", "bandwidth=0.9", {"memory-load", PARTITION, .dose = "bandwidth=0.9"},
     {"memory-load", PARTITION}},
    {"memory load", "bandwidth=0.8", {"memory-load", PARTITION, .dose = "bandwidth=0.8"},
     {"memory-load", PARTITION}},
    {"copies", "h2d", {"h2d", COPIES}, {0}},
    {"copies", "d2h", {"d2h", COPIES}, {0}},
    {"copies under memory load", "h2d at bandwidth=0.8", {"h2d", COPIES, .dose = "bandwidth=0.8"},
     {"h2d", COPIES}},
    {"copies under memory load", "d2h at bandwidth=0.8", {"d2h", COPIES, .dose = "bandwidth=0.8"},
     {"d2h", COPIES}},
    {"launches", "latency", {"launch", LAUNCHES}, {0}},
    {"launches under cpu load", "latency at cpu=20%", {"launch", LAUNCHES, .dose = "cpu=20%"},
     {"launch", LAUNCHES}},
};
/* clang-format on */

const char *source_not_here(const struct source_run *run, const struct topo *topo, bool sim)
{
    struct bitset cpus = {0};
    topo_allowed_cpus(topo, &cpus);
    if (run->needs_gpu && sim)
        return "--device sim: no GPU is used";
    if (run->needs_gpu && !topo_visible_gpus(topo))
        return "there is no GPU";
    if (run->needs_half && bitset_count(&cpus) < HALVES_LEAST)
        return "the load needs CPUs of its own: fewer than 4 may be used";
    return "";
}

/* The first half of the allowed CPUs in the order of the topology, so that cores stay whole. */
static const char *format_half(const struct topo *topo)
{
    struct bitset allowed = {0}, half = {0};
    topo_allowed_cpus(topo, &allowed);
    unsigned n = bitset_count(&allowed) / 2;
    for (unsigned i = 0; i < topo->ncpus && n; i++)
        if (bitset_test(&allowed, topo->cpus[i].os_cpu)) {
            bitset_set(&half, topo->cpus[i].os_cpu);
            n--;
        }
    return bitset_format(&half);
}

static unsigned beyond_mib(const struct topo *topo)
{
    uint64_t largest = 0;
    unsigned mib = BEYOND_LEAST_MIB;
    for (unsigned i = 0; i < topo->ncaches; i++)
        largest = topo->caches[i].size_bytes > largest ? topo->caches[i].size_bytes : largest;
    while (mib < BEYOND_MOST_MIB && mib < BEYOND_CACHES * (largest >> 20))
        mib *= 2;
    return mib;
}

const char *source_expand(const char *word, const struct topo *topo)
{
    struct bitset cpus = {0};
    const char *value;
    const char *open = strchr(word, '{');
    topo_allowed_cpus(topo, &cpus);
    if (!open)
        value = "";
    else if (!strcmp(open, "{half}"))
        value = format_half(topo);
    else if (!strcmp(open, "{beyond}"))
        value = str_fmt("%uM", beyond_mib(topo));
    else
        value = str_fmt("%u", bitset_count(&cpus));
    return str_fmt("%.*s%.400s", (int)strcspn(word, "{"), word, value);
}

static const struct source_result *find_run(const struct source_result *all, const char *folder)
{
    size_t i = 0;
    while (strcmp(source_runs[i].folder, folder) != 0)
        i++;
    return &all[i];
}

/* The arm of a place. For a scan without a dose, the baseline. NULL: none. */
static const struct arm *find_arm(const struct result *result, const struct place *place)
{
    struct dose dose = {DOSE_CPU, 0};
    if (place->dose)
        (void)dose_parse(place->dose, &dose, NULL);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        bool same_dose = place->dose ? dose_is_same(&arm->dose, &dose) : dose_is_idle(&arm->dose);
        if (!arm->is_control && arm->placement == place->placement && same_dose)
            return arm;
    }
    return NULL;
}

/* The row of a place; NULL: `reason` says why. */
static const struct row *find_row(const struct source_result *all, const struct place *place,
                                  char reason[static 200])
{
    const struct source_result *run = find_run(all, place->folder);
    (void)snprintf(reason, 200, "%s", run->reason);
    if (reason[0])
        return NULL;
    const struct analysis *analysis = &run->runs.all[0].recorded->analysis;
    const struct arm *arm = find_arm(analysis->result, place);
    const struct row *row = arm ? rows_find(&analysis->rows, arm, METRIC_DOSE) : NULL;
    size_t at = 0;
    if (arm && doses_off(analysis, arm) > 1) {
        (void)snprintf(reason, 200, "the dose was not held: %.2f", row->median);
        return NULL;
    }
    const struct dims dims = arm && place->at ? dims_parse(arm->bench, place->at) : NO_DIMS;
    row = arm ? rows_next(&analysis->rows, arm, place->metric, &at) : NULL;
    while (row && !dims_agree(&row->dims, &dims))
        row = rows_next(&analysis->rows, arm, place->metric, &at);
    if (!row)
        (void)snprintf(reason, 200, "the run has no such value");
    return row;
}

/* Relative to the other arm in the same rounds; above 1 is better, also if less is better. */
static void take_ratio(const struct source_result *all, const struct source *source,
                       const struct row *of, const struct row *to, struct fingerprint_value *value)
{
    const struct analysis *analysis =
        &find_run(all, source->of.folder)->runs.all[0].recorded->analysis;
    const struct round_value what = {.metric = of->metric, .dims = of->dims};
    const struct arm *arms = analysis->result->arms;
    const bool less = !strcmp(of->better, "lower");
    const struct evidence evidence =
        evidence_of_arms(analysis, &what, (int)((less ? of : to)->arm - arms),
                         (size_t)((less ? to : of)->arm - arms));
    value->value = evidence.ratio;
    value->low = evidence.low;
    value->high = evidence.high;
    value->rounds = (unsigned)evidence.rounds;
}

static void read_source(const struct source_result *all, const struct source *source,
                        struct fingerprint_value *value)
{
    value->value = value->low = value->high = NAN;
    value->is_retention = source->to.folder != NULL;
    text_set(value->part, "%s", source->part);
    text_set(value->name, "%s", source->name);
    const struct row *of = find_row(all, &source->of, value->reason);
    const struct row *to =
        of && value->is_retention ? find_row(all, &source->to, value->reason) : of;
    if (!of || !to)
        return;
    /* The unit differs for a modelled GPU, so that it is never compared with a real one. */
    text_set(value->unit, "%.9s%s", value->is_retention ? "ratio" : of->unit,
             strcmp(of->device, "sim") ? "" : ", sim");
    if (value->is_retention) {
        take_ratio(all, source, of, to, value);
    } else {
        value->less_is_better = !strcmp(of->better, "lower");
        value->value = of->median;
        value->low = of->ci_low;
        value->high = of->ci_high;
        value->rounds = of->rounds;
    }
    if (isnan(value->value))
        text_set(value->reason, "%.190s", of->reason[0] ? of->reason : "no round can be used");
}

void sources_read(const struct source_result *all, struct fingerprint *print)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct fingerprint_value value = {0};
        read_source(all, &sources[i], &value);
        fingerprint_add(print, &value);
    }
}
