/* Rules of symmetry: equal units are to be equal, and what one should reach is what others reach.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/gpu/health.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/validate/rules/check.h"
#include "harness/verdict/odd/outlier.h"

/* What GPUs of one kind have in common; -1 and NaN = unknown. */
struct trait {
    const char *name, *in;
    double (*of)(const struct gpu_health *health);
};

static double links_of(const struct gpu_health *health)
{
    return health->nvlinks < 0 ? (double)NAN : health->nvlinks;
}

static double lanes_of(const struct gpu_health *health)
{
    return health->pcie_width < 0 ? (double)NAN : health->pcie_width;
}

static double power_of(const struct gpu_health *health)
{
    return health->power_limit_w;
}

static double mhz_of(const struct gpu_health *health)
{
    return health->clock_max_mhz;
}

static double ecc_of(const struct gpu_health *health)
{
    return health->ecc < 0 ? (double)NAN : health->ecc;
}

static const struct trait traits[] = {{"nvlinks", "links", links_of},
                                      {"pcie_width", "lanes", lanes_of},
                                      {"power_limit", "W", power_of},
                                      {"clock_max", "MHz", mhz_of},
                                      {"ecc", "flag", ecc_of}};

/* The value that most GPUs have; NaN where none is known. */
static double usual(const struct topo *topo, const struct trait *trait)
{
    double best = NAN;
    unsigned most = 0;
    for (unsigned i = 0; i < topo->ngpus; i++) {
        unsigned n = 0;
        double value = topo->gpus[i].health ? trait->of(topo->gpus[i].health) : (double)NAN;
        for (unsigned j = 0; j < topo->ngpus && !isnan(value); j++)
            n += topo->gpus[j].health && trait->of(topo->gpus[j].health) == value;
        if (n > most) {
            most = n;
            best = value;
        }
    }
    return best;
}

static bool judge_trait(struct checks *checks, const struct trait *trait)
{
    const struct topo *topo = checks->facts->topo;
    double common = usual(topo, trait);
    bool alike = true;
    char name[64];
    for (unsigned i = 0; i < topo->ngpus; i++) {
        double value = topo->gpus[i].health ? trait->of(topo->gpus[i].health) : (double)NAN;
        if (isnan(value) || value == common)
            continue;
        alike = false;
        check_fail(checks,
                   &(struct check){.unit = topo_gpu_name(&topo->gpus[i], name, sizeof(name)),
                                   .metric = trait->name,
                                   .in = trait->in,
                                   .value = value,
                                   .low = common,
                                   .high = common},
                   "%s is %g %s, and %g of its peers", trait->name, value, trait->in, common);
    }
    return alike;
}

static void judge_gpus_alike(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    bool alike = true;
    char name[64];
    if (topo->ngpus < 2) {
        check_skip(checks, topo->ngpus ? "one GPU" : "no GPU");
        return;
    }
    for (unsigned i = 1; i < topo->ngpus; i++) {
        if (strcmp(topo->gpus[i].name, topo->gpus[0].name) == 0)
            continue;
        check_warn(checks,
                   &(struct check){.unit = topo_gpu_name(&topo->gpus[i], name, sizeof(name))},
                   "this is a %s, and the first GPU a %s: their figures are not compared",
                   topo->gpus[i].name, topo->gpus[0].name);
        return;
    }
    for (size_t t = 0; t < sizeof(traits) / sizeof(traits[0]); t++)
        alike = judge_trait(checks, &traits[t]) && alike;
    if (alike)
        check_pass(checks, "%u GPUs have the same links, lanes, power limit, clocks and ECC",
                   topo->ngpus);
}

static void judge_modules_alike(struct checks *checks)
{
    const struct facts *facts = checks->facts;
    int64_t first = -1, other = -1;
    const char *where = "";
    size_t n = 0;
    for (size_t i = 0; i < facts->ndimms; i++) {
        int64_t size = facts->dimms[i].size_mib;
        if (size <= 0)
            continue;
        n++;
        if (first < 0)
            first = size;
        else if (size != first && other < 0) {
            other = size;
            where = facts->dimms[i].locator;
        }
    }
    if (facts->env.virtual_machine > 0)
        check_skip(checks, "a virtual machine: its firmware's tables are made up");
    else if (facts->dmi == FACTS_DENIED)
        check_skip(checks, "the firmware's tables are readable as root: sudo contend validate");
    else if (n < 2)
        check_skip(checks, "the firmware lists no two memory modules");
    else if (other >= 0)
        check_warn(checks,
                   &(struct check){.unit = where,
                                   .metric = "module_size",
                                   .in = "MiB",
                                   .value = (double)other,
                                   .low = (double)first,
                                   .high = (double)first},
                   "this module has %lld MiB, and the first one %lld: part of the memory is on "
                   "fewer channels",
                   (long long)other, (long long)first);
    else
        check_pass(checks, "%zu memory modules of one size", n);
}

/* One comparison: the values of a metric whose keys name a unit ("cpu=3"), and a part in common. */
struct alike {
    enum facts_probe_name probe;
    const char *metric, *part; /* part: of the key; "" = any */
    const char *unit;          /* "cpu", "node", "gpu": the name in the key */
    const char *shown;         /* "CPU" */
    const char *in;
    bool same_kind;   /* CPUs are compared with those of their kind of core */
    const char *said; /* what a finding calls the metric; NULL = as it is called */
};

struct unit_value {
    int id, kind;
    double value;
};

static int kind_of_cpu(const struct topo *topo, int os_cpu)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].os_cpu == (unsigned)os_cpu)
            return topo->cpus[i].kind;
    return 0;
}

static bool has_part(const char *key, const char *part)
{
    const char *at = strstr(key, part);
    if (!part[0])
        return true;
    char end = at ? at[strlen(part)] : 'x';
    return at && (at == key || at[-1] == ';') && (end == '\0' || end == ';');
}

static int id_in_key(const char *key, const char *unit)
{
    size_t length = strlen(unit);
    for (const char *at = key; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, unit, length) == 0 && at[length] == '=')
            return atoi(at + length + 1);
    }
    return -1;
}

static const char *metric_of(const struct alike *alike)
{
    return alike->said ? alike->said : alike->metric;
}

/* *left_out: set where there was no room for some units. */
static size_t collect(const struct facts *facts, const struct alike *alike,
                      struct unit_value values[OUTLIER_UNITS_MAX], bool *left_out)
{
    const struct facts_probe *probe = &facts->probes[alike->probe];
    size_t n = 0;
    for (size_t i = 0; probe->values && i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        int id = id_in_key(value->key, alike->unit);
        if (strcmp(value->metric, alike->metric) != 0 || id < 0 || isnan(value->value) ||
            !has_part(value->key, alike->part))
            continue;
        size_t at = 0;
        while (at < n && values[at].id != id)
            at++;
        if (at == OUTLIER_UNITS_MAX)
            *left_out = true;
        else if (at == n)
            values[n++] =
                (struct unit_value){.id = id,
                                    .kind = alike->same_kind ? kind_of_cpu(facts->topo, id) : 0,
                                    .value = value->value};
        else
            values[at].value = fmax(values[at].value, value->value);
    }
    return n;
}

static void name_unit(const struct facts *facts, const struct alike *alike, int id, char *buf,
                      size_t size)
{
    for (unsigned i = 0; strcmp(alike->unit, "gpu") == 0 && i < facts->topo->ngpus; i++)
        if (facts->topo->gpus[i].cuda_ordinal == id) {
            (void)topo_gpu_name(&facts->topo->gpus[i], buf, size);
            return;
        }
    (void)snprintf(buf, size, "%s %d", alike->shown, id);
}

static void say_odd(struct checks *checks, const struct alike *alike,
                    const struct unit_value *value, const struct outlier_judgement *judgement,
                    double ratio)
{
    char unit[64];
    name_unit(checks->facts, alike, value->id, unit, sizeof(unit));
    const struct check check = {.unit = unit,
                                .metric = metric_of(alike),
                                .in = alike->in,
                                .value = value->value,
                                .low = OUTLIER_RATIO * judgement->typical,
                                .high = NAN};
    /* A virtual CPU may share its core with strangers. */
    if (checks->facts->env.virtual_machine > 0 && strcmp(alike->unit, "gpu") != 0)
        check_warn(checks, &check,
                   "%s is %.4g %s, %.2f of its peers' %.4g: on a virtual machine, perhaps of a "
                   "shared core",
                   metric_of(alike), value->value, alike->in, ratio, judgement->typical);
    else
        check_fail(checks, &check, "%s is %.4g %s, %.2f of its peers' %.4g", metric_of(alike),
                   value->value, alike->in, ratio, judgement->typical);
}

/* Those of one kind. Returns how many were compared; *wrong when something was said. */
static size_t judge_alike_of(struct checks *checks, const struct alike *alike,
                             const struct unit_value *values, size_t n, int kind, bool *wrong)
{
    struct outlier_judgement judgement;
    struct outlier_value list[OUTLIER_UNITS_MAX];
    const struct unit_value *of[OUTLIER_UNITS_MAX];
    size_t compared = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i].kind == kind) {
            of[compared] = &values[i];
            list[compared++] = (struct outlier_value){values[i].value, NAN, NAN};
        }
    if (compared < 2)
        return 0;
    outlier_judge(list, compared, OUTLIER_HIGHER, 0, &judgement);
    for (size_t i = 0; i < compared && judgement.verdict == OUTLIER_ODD; i++)
        if (judgement.unit[i].odd) {
            *wrong = true;
            say_odd(checks, alike, of[i], &judgement, judgement.unit[i].ratio);
        }
    if (judgement.verdict == OUTLIER_TWO) {
        const struct unit_value *low = of[0]->value < of[1]->value ? of[0] : of[1];
        const struct unit_value *high = low == of[0] ? of[1] : of[0];
        char unit[64];
        *wrong = true;
        name_unit(checks->facts, alike, low->id, unit, sizeof(unit));
        check_warn(checks,
                   &(struct check){.unit = unit,
                                   .metric = metric_of(alike),
                                   .in = alike->in,
                                   .value = low->value,
                                   .low = OUTLIER_RATIO * high->value,
                                   .high = NAN},
                   "%s is %.4g %s, and of %s %d it is %.4g: of two, nobody can say which is odd",
                   metric_of(alike), low->value, alike->in, alike->shown, high->id, high->value);
    } else if (judgement.verdict == OUTLIER_SPLIT) {
        *wrong = true;
        check_warn(checks, NULL,
                   "%s of %zu %ss falls into groups, or differs by more than a tenth: none of them "
                   "alone is odd",
                   metric_of(alike), compared, alike->shown);
    }
    return compared;
}

static void judge_alike(struct checks *checks, const struct alike *alike, size_t n)
{
    struct unit_value values[OUTLIER_UNITS_MAX];
    size_t compared = 0;
    bool wrong = false, left_out = false;
    if (!check_measured(checks, alike[0].probe))
        return;
    for (size_t p = 0; p < n; p++) {
        size_t found = collect(checks->facts, &alike[p], values, &left_out);
        unsigned kinds = alike[p].same_kind ? checks->facts->topo->nkinds : 1;
        for (unsigned kind = 0; kind < (kinds ? kinds : 1) && found > 1; kind++)
            compared += judge_alike_of(checks, &alike[p], values, found, (int)kind, &wrong);
    }
    if (!compared)
        check_skip(checks, "one %s, and no peer to hold it against", alike[0].shown);
    else if (left_out)
        check_warn(checks, NULL, "the first %d %ss were compared with each other, and no more",
                   OUTLIER_UNITS_MAX, alike[0].shown);
    else if (!wrong)
        check_pass(checks, "%zu %ss are alike", compared / n, alike[0].shown);
}

static void judge_cpus_alike(struct checks *checks)
{
    static const struct alike alike[] = {
        {PROBE_CPU_SPEED, "cpu_rate", "", "cpu", "CPU", "G/s", .same_kind = true},
        {PROBE_CPU_SPEED, "cpu_copy", "", "cpu", "CPU", "GB/s", .same_kind = true}};
    judge_alike(checks, alike, 2);
}

static void judge_nodes_alike(struct checks *checks)
{
    static const struct alike alike[] = {
        {PROBE_NODE_BANDWIDTH, "node_bandwidth", "", "node", "node", "GB/s", false}};
    judge_alike(checks, alike, 1);
}

static void judge_gpu_memory_alike(struct checks *checks)
{
    static const struct alike alike[] = {
        {PROBE_GPU_STREAM, "device_bandwidth", "op=triad", "gpu", "GPU", "GB/s", false}};
    judge_alike(checks, alike, 1);
}

static void judge_gpu_copies_alike(struct checks *checks)
{
    static const struct alike alike[] = {{PROBE_GPU_COPY, "copy_bandwidth", "dir=h2d", "gpu", "GPU",
                                          "GB/s", .said = "copy_bandwidth_h2d"},
                                         {PROBE_GPU_COPY, "copy_bandwidth", "dir=d2h", "gpu", "GPU",
                                          "GB/s", .said = "copy_bandwidth_d2h"}};
    judge_alike(checks, alike, 2);
}

static const char outlier_source[] =
    "robust z-score of 3.5 (Iglewicz and Hoaglin 1993) and 0.9 of the peers";

const struct rule rules_symmetry[] = {
    {.id = "gpus_alike",
     .kind = RULE_SYMMETRY,
     .cause = "configuration",
     .action = ACTION_MEND,
     .needs = "driver, two GPUs",
     .about = "All GPUs have the same links, lanes, power limit, highest clock and ECC mode.",
     .source = "NVML; what most of them have",
     .command = "nvidia-smi -q",
     .judge = judge_gpus_alike,
     .of_gpus = true},
    {.id = "modules_alike",
     .kind = RULE_SYMMETRY,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "firmware's tables (root), no virtual machine",
     .about = "All memory modules have one size, so that all memory lies on all channels.",
     .source = "SMBIOS 3.7, type 17",
     .command = "sudo dmidecode -t memory",
     .judge = judge_modules_alike},
    {.id = "cpus_alike",
     .kind = RULE_SYMMETRY,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "measurement",
     .about = "Every CPU, alone, multiplies and copies as fast as its peers of the same kind.",
     .source = outlier_source,
     .command = "contend bench cpu_speed",
     .probes = 1u << PROBE_CPU_SPEED,
     .judge = judge_cpus_alike},
    {.id = "nodes_alike",
     .kind = RULE_SYMMETRY,
     .cause = "hardware",
     .action = ACTION_REPLACE,
     .needs = "measurement, two NUMA nodes",
     .about = "Every NUMA node's own memory is as fast as its peers': a slow one lacks modules or "
              "channels.",
     .source = outlier_source,
     .command = "contend bench numa_matrix",
     .probes = 1u << PROBE_NODE_BANDWIDTH,
     .judge = judge_nodes_alike},
    {.id = "gpu_memory_alike",
     .kind = RULE_SYMMETRY,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "measurement, two GPUs",
     .about = "Every GPU's memory is as fast as its peers'.",
     .source = outlier_source,
     .command = "contend bench gpu_stream",
     .probes = 1u << PROBE_GPU_STREAM,
     .judge = judge_gpu_memory_alike,
     .of_gpus = true},
    {.id = "gpu_copies_alike",
     .kind = RULE_SYMMETRY,
     .cause = "hardware",
     .action = ACTION_WATCH,
     .needs = "measurement, two GPUs",
     .about = "Pinned copies to and from every GPU are as fast as its peers'.",
     .source = outlier_source,
     .command = "contend bench gpu_copy -p mem=pinned -p via=ce",
     .probes = 1u << PROBE_GPU_COPY,
     .judge = judge_gpu_copies_alike,
     .of_gpus = true},
    {.id = NULL}};
