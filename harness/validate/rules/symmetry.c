/* Rules of peers: equal units should be equal, and a unit should reach what its peers reach. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/machine/topo_gpu.h"
#include "harness/validate/rules/rules.h"
#include "harness/verdict/outlier.h"

/* True if the GPUs are of one model, so that their figures are comparable. */
static bool are_of_one_model(struct checks *checks)
{
    const struct topo *topo = checks->facts->topo;
    if (topo->ngpus < 2) {
        check_report(checks, OUTCOME_SKIP, NULL, topo->ngpus ? "one GPU" : "no GPU");
        return false;
    }
    for (unsigned i = 1; i < topo->ngpus; i++) {
        if (strcmp(topo->gpus[i].name, topo->gpus[0].name) == 0)
            continue;
        check_report(checks, OUTCOME_WARN, &(struct check){.unit = topo_gpu_name(&topo->gpus[i])},
                     "this is a %s, and the first GPU a %s: their figures are not compared",
                     topo->gpus[i].name, topo->gpus[0].name);
        return false;
    }
    return true;
}

static double first_module_mib(const struct unit *unit)
{
    for (size_t i = 0; i < unit->facts->ndimms; i++)
        if (unit->facts->dimms[i].size_mib > 0)
            return (double)unit->facts->dimms[i].size_mib;
    return NAN;
}

static bool has_modules(struct checks *checks)
{
    size_t n = 0;
    for (size_t i = 0; i < checks->facts->ndimms; i++)
        n += checks->facts->dimms[i].size_mib > 0;
    if (!check_firmware(checks, checks->facts->ndimms))
        return false;
    if (n < 2)
        check_report(checks, OUTCOME_SKIP, NULL, "the firmware does not list two memory modules");
    return n > 1;
}

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
    return alike->metric_name ? alike->metric_name : alike->metric;
}

/* Collects the best value of each unit. *left_out: set if there is no room for some units. */
static size_t collect(const struct checks *checks, const struct alike *alike,
                      struct unit_value values[OUTLIER_UNITS_MAX], bool *left_out)
{
    const struct facts *facts = checks->facts;
    const struct facts_probe *probe = &facts->probes[check_probe(checks)];
    size_t n = 0;
    for (size_t i = 0; probe->values && i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        int id = id_in_key(value->key, alike->unit);
        if (strcmp(value->metric, alike->metric) != 0 || id < 0 || isnan(value->value) ||
            !text_has_words(value->key, ';', alike->part))
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

static void name_peer(const struct facts *facts, const struct alike *alike, int id, char *buf,
                      size_t size)
{
    if (strcmp(alike->unit, "gpu") != 0 || !topo_gpu_name_ordinal(facts->topo, id, buf, size))
        (void)snprintf(buf, size, "%s %d", alike->shown, id);
}

static struct check peer_check(const struct alike *alike, const char *unit, double value,
                               double low)
{
    return (struct check){.unit = unit,
                          .metric = metric_of(alike),
                          .in = alike->in,
                          .value = value,
                          .low = low,
                          .high = NAN};
}

/* A virtual CPU may share its core with another VM: it is reported only below this ratio. */
#define VIRTUAL_RATIO 0.7

static bool shares_cores(const struct checks *checks, const struct alike *alike)
{
    return machine_is_virtual(checks->facts) && strcmp(alike->unit, "gpu") != 0;
}

/* odd: reports it; NULL = it is as its peers. */
static void report_peer(struct checks *checks, const struct alike *alike,
                        const struct unit_value *value, const struct outlier_judgement *judgement,
                        const struct outlier_opinion *odd)
{
    char unit[64];
    name_peer(checks->facts, alike, value->id, unit, sizeof(unit));
    const bool shares = shares_cores(checks, alike);
    const double typical = judgement->typical, least = shares ? VIRTUAL_RATIO : OUTLIER_RATIO;
    const struct check check = peer_check(alike, unit, value->value, least * typical);
    const enum finding_outcome outcome = !odd ? OUTCOME_PASS : shares ? OUTCOME_WARN : OUTCOME_FAIL;
    check_number(checks, outcome, &check);
    if (!odd)
        return;
    check_report(checks, outcome, &check, "%s is %s %s, %.2f of its peers' %s%s", metric_of(alike),
                 units_plain(value->value, 4), alike->in, odd->ratio, units_plain(typical, 4),
                 shares ? ": on a virtual machine, perhaps of a shared core" : "");
}

/* Judges the units of one kind. Returns how many were compared; sets *wrong if it reported any. */
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
    /* Other virtual machines may take part of a virtual CPU's core, for moments or for long. */
    const bool shares = shares_cores(checks, alike);
    const bool is_clear = judgement.verdict == OUTLIER_ODD || judgement.verdict == OUTLIER_ALIKE;
    for (size_t i = 0; i < compared && is_clear; i++) {
        const struct outlier_opinion *judged = &judgement.unit[i];
        const bool is_odd = judgement.verdict == OUTLIER_ODD && judged->odd &&
                            !(shares && judged->ratio > VIRTUAL_RATIO);
        *wrong = *wrong || is_odd;
        report_peer(checks, alike, of[i], &judgement, is_odd ? judged : NULL);
    }
    if (judgement.verdict == OUTLIER_TWO) {
        const struct unit_value *low = of[0]->value < of[1]->value ? of[0] : of[1];
        const struct unit_value *high = low == of[0] ? of[1] : of[0];
        char unit[64];
        *wrong = true;
        name_peer(checks->facts, alike, low->id, unit, sizeof(unit));
        const struct check check = peer_check(alike, unit, low->value, OUTLIER_RATIO * high->value);
        check_number(checks, OUTCOME_WARN, &check);
        check_report(checks, OUTCOME_WARN, &check,
                     "%s is %s %s, of %s %d %s: with two, either may be the odd one",
                     metric_of(alike), units_plain(low->value, 4), alike->in, alike->shown,
                     high->id, units_plain(high->value, 4));
    } else if (judgement.verdict == OUTLIER_SPLIT && !shares) {
        const struct check check = peer_check(alike, NULL, NAN, NAN);
        *wrong = true;
        check_report(
            checks, OUTCOME_WARN, &check,
            "%s of %zu %ss forms groups, or differs by more than a tenth: none is an outlier",
            metric_of(alike), compared, alike->shown);
    }
    return compared;
}

static void judge_alike(struct checks *checks)
{
    const struct alike *alike = checks->rule->alike;
    struct unit_value values[OUTLIER_UNITS_MAX];
    size_t compared = 0, n = alike[1].metric ? 2 : 1;
    bool wrong = false, left_out = false;
    if (!check_measured(checks, check_probe(checks)))
        return;
    for (size_t p = 0; p < n; p++) {
        size_t found = collect(checks, &alike[p], values, &left_out);
        int kinds = alike[p].same_kind ? (int)checks->facts->topo->nkinds : 1;
        for (int kind = 0; kind < (kinds ? kinds : 1) && found > 1; kind++)
            compared += judge_alike_of(checks, &alike[p], values, found, kind, &wrong);
    }
    if (!compared)
        check_report(checks, OUTCOME_SKIP, NULL, "one %s: no peer to compare with", alike->shown);
    else if (left_out)
        check_report(checks, OUTCOME_WARN, NULL, "only the first %d %ss were compared",
                     OUTLIER_UNITS_MAX, alike->shown);
    else if (!wrong)
        check_report(checks, OUTCOME_PASS, NULL, "%zu %ss are alike", compared / n, alike->shown);
}

static const char outlier_source[] =
    "robust z-score of 3.5 (Iglewicz and Hoaglin 1993) and 0.9 of the peers";

#define TRAIT(name, field, unit)                                                                   \
    {                                                                                              \
        OF_GPU, GPU(field), DIFFERS, PEERS, OUTCOME_FAIL, name, unit,                              \
            name " is {v} " unit ", and {b} of its peers", .independent = true                     \
    }

const struct rule rules_symmetry[] = {
    {"gpus_alike", RULE_SYMMETRY, "configuration", ACTION_FIX, "driver, two GPUs",
     "All GPUs have the same links, lanes, power limit, highest clock and ECC mode.",
     "NVML; what most of them have", "nvidia-smi -q", .of_gpus = true, .ready = are_of_one_model,
     .limits = {TRAIT("nvlinks", nvlinks, "links"), TRAIT("pcie_width", pcie_width, "lanes"),
                TRAIT("power_limit", power_limit_w, "W"), TRAIT("clock_max", clock_max_mhz, "MHz"),
                TRAIT("ecc", ecc, "flag")},
     .passed = "all GPUs have the same links, lanes, power limit, clocks and ECC"},
    {"modules_alike", RULE_SYMMETRY, "hardware", ACTION_REPLACE,
     "firmware's tables (root), no virtual machine",
     "All memory modules have the same size, so that all memory uses all channels.",
     "SMBIOS 3.7, type 17", "sudo dmidecode -t memory", .ready = has_modules,
     .limits = {{OF_DIMM, FIELD(facts_dimm, size_mib), DIFFERS, MADE(first_module_mib),
                 OUTCOME_WARN, "module_size", "MiB",
                 "this module has {v} MiB, and the first one {b}: part of the memory is on fewer "
                 "channels",
                 .only = FIELD(facts_dimm, size_mib), .once = true}},
     .passed = "memory modules of one size, {v} MiB"},
    {"cpus_alike", RULE_SYMMETRY, "hardware", ACTION_WATCH, "measurement",
     "Every CPU, alone, computes and copies as fast as its peers of the same kind.", outlier_source,
     "contend bench cpu_speed", .probes = 1u << PROBE_CPU_SPEED, .judge = judge_alike,
     .alike = {{"cpu_rate", "", "cpu", "CPU", "G/s", .same_kind = true},
               {"cpu_copy", "", "cpu", "CPU", "GB/s", .same_kind = true}}},
    {"nodes_alike", RULE_SYMMETRY, "hardware", ACTION_REPLACE, "measurement, two NUMA nodes",
     "Every NUMA node's own memory is as fast as its peers': a slow one lacks modules or channels.",
     outlier_source, "contend bench numa_matrix", .probes = 1u << PROBE_NODE_BANDWIDTH,
     .judge = judge_alike, .alike = {{"node_bandwidth", "", "node", "node", "GB/s"}}},
    {"gpu_memory_alike", RULE_SYMMETRY, "hardware", ACTION_WATCH, "measurement, two GPUs",
     "Every GPU's memory is as fast as its peers'.", outlier_source, "contend bench gpu_stream",
     .probes = 1u << PROBE_GPU_STREAM, .of_gpus = true, .judge = judge_alike,
     .alike = {{"device_bandwidth", "op=triad", "gpu", "GPU", "GB/s"}}},
    {"gpu_compute_alike", RULE_SYMMETRY, "hardware", ACTION_WATCH, "measurement, two GPUs",
     "Every GPU multiplies large matrices as fast as its peers, all at once.", outlier_source,
     "contend bench gpu_matmul", .probes = 1u << PROBE_GPU_MATMUL, .of_gpus = true,
     .judge = judge_alike,
     .alike = {{"matmul_rate", "type=bf16;with=all", "gpu", "GPU", "TFLOP/s"},
               {"matmul_rate", "type=fp64;with=all", "gpu", "GPU", "TFLOP/s",
                .metric_name = "matmul_rate_fp64"}}},
    {"gpu_copies_alike", RULE_SYMMETRY, "hardware", ACTION_WATCH, "measurement, two GPUs",
     "Pinned copies to and from every GPU are as fast as its peers'.", outlier_source,
     "contend bench gpu_copy -p mem=pinned -p via=ce", .probes = 1u << PROBE_GPU_COPY,
     .of_gpus = true, .judge = judge_alike,
     .alike = {{"copy_bandwidth", "dir=h2d", "gpu", "GPU", "GB/s",
                .metric_name = "copy_bandwidth_h2d"},
               {"copy_bandwidth", "dir=d2h", "gpu", "GPU", "GB/s",
                .metric_name = "copy_bandwidth_d2h"}}},
    {.id = NULL}};
