#include "tests/lib/fixture_scans.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "tests/lib/fixture_result.h"

const struct fixture_scan_machine fixture_vm = {
    .cpus = 64, .siblings = 32, .nodes = 1, .rounds = 3};
const struct fixture_scan_machine fixture_server = {.cpus = 8, .nodes = 4, .rounds = 3};
const struct fixture_scan_machine fixture_gpus = {.cpus = 8, .nodes = 2, .rounds = 3, .gpus = 4};

/* Collects the values of one round. */
struct emitter {
    const struct fixture_scan_machine *machine;
    const struct arm *arm;
    struct worker_result *worker;
    size_t capacity;
    uint64_t random;
};

__attribute__((format(printf, 4, 5))) static void emit(struct emitter *to, unsigned metric,
                                                       double value, const char *key_fmt, ...)
{
    if (to->worker->nvalues == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 64;
        struct value *grown =
            realloc(to->worker->values, to->capacity * sizeof(*to->worker->values));
        assert(grown);
        to->worker->values = grown;
    }
    struct value *added = &to->worker->values[to->worker->nvalues++];
    *added = (struct value){.value = value, .metric = metric};
    char key[DIMS_KEY_MAX];
    va_list args;
    va_start(args, key_fmt);
    int length = vsnprintf(key, sizeof(key), key_fmt, args);
    va_end(args);
    assert(length >= 0 && length < DIMS_KEY_MAX);
    added->dims = dims_parse(to->arm->bench, key);
}

static double jitter(struct emitter *to, double sigma)
{
    return 1 + 2 * sigma * (2 * random_share(&to->random) - 1);
}

static void emit_bandwidth(struct emitter *to)
{
    static const char *const ops[] = {"read", "write", "copy", "scale", "add", "triad"};
    static const double plain[] = {11.8, 7.1, 10.4, 10.2, 11.0, 11.1};
    static const double nt[] = {0, 12.4, 12.9, 12.6, 12.8, 13.0};
    unsigned all = to->machine->cpus;
    for (unsigned threads = 1; threads <= all; threads *= all) {
        double scale = threads == 1 ? 1 : 18;
        for (unsigned op = 0; op < 6; op++) {
            for (int kind = 0; kind < (op ? 2 : 1); kind++) {
                double gbps = scale * (kind ? nt[op] : plain[op]) * jitter(to, 0.01);
                const char *stores = !op ? "none" : kind ? "nt" : "plain";
                emit(to, 0, gbps, "op=%s;stores=%s;threads=%u", ops[op], stores, threads);
                emit(to, 1, 1.03 * gbps, "op=%s;stores=%s;threads=%u", ops[op], stores, threads);
            }
        }
    }
    emit(to, 2, 1.2e9, "%s", "");
    emit(to, 3, 4, "%s", "");
    emit(to, 4, 0.98, "pages=thp");
}

/* The transition between two plateaus, around the size of a cache. */
static double curve_ns(double size_bytes, double page_bytes)
{
    static const struct {
        double ends, ns;
    } levels[] = {{48 << 10, 1.2}, {2 << 20, 3.9}, {36 << 20, 22}, {1e18, 105}};
    double ns = levels[0].ns;
    for (int i = 0; i < 3; i++)
        ns += (levels[i + 1].ns - levels[i].ns) / (1 + pow(levels[i].ends / size_bytes, 4));
    /* Beyond the reach of the TLB, each load walks the page table as well. */
    return ns + 26 / (1 + pow(2048 * page_bytes / size_bytes, 1.5));
}

static void emit_latency(struct emitter *to)
{
    static const char *const pages[] = {"4k", "thp", "hugetlb"};
    static const double page_bytes[] = {4096, 1 << 21, 1 << 21};
    for (int half = 24; half <= 60; half++) {
        uint64_t size = (UINT64_C(1) << half / 2) * (half % 2 ? 3 : 2) / 2;
        double ns[3];
        for (int kind = 0; kind < (size < 1 << 21 ? 2 : 3); kind++) {
            ns[kind] = curve_ns((double)size, page_bytes[kind]) * jitter(to, 0.006);
            emit(to, 0, ns[kind], "size=%llu;pages=%s", (unsigned long long)size, pages[kind]);
        }
        emit(to, 1, ns[0] - ns[1], "size=%llu", (unsigned long long)size);
    }
    static const double effective[] = {46.1e3, 1.95e6, 34.2e6},
                        reported[] = {48 << 10, 2 << 20, 300 << 20};
    for (int i = 0; i < 3; i++)
        emit(to, 2, effective[i], "level=%d", i + 1);
    for (int i = 0; i < 3; i++)
        emit(to, 3, reported[i], "level=%d", i + 1);
    emit(to, 4, 1, "pages=thp");
}

static void emit_loaded(struct emitter *to)
{
    static const double rates[] = {0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};
    const char *inject = *(const int64_t *)to->arm->params ? "rw" : "r";
    double most = *(const int64_t *)to->arm->params ? 171 : 214;
    for (int step = 0; step < 12; step++) {
        double ns = 104 + 9 * rates[step] / (1.045 - rates[step]);
        emit(to, 0, ns * jitter(to, 0.012), "inject=%s;step=%02d", inject, step);
        emit(to, 1, most * rates[step] * jitter(to, 0.004), "inject=%s;step=%02d", inject, step);
    }
    emit(to, 2, 0.89 * most, "inject=%s", inject);
    emit(to, 3, 0.34, "inject=%s", inject);
    emit(to, 4, 1 << 28, "%s", "");
}

static void emit_numa(struct emitter *to)
{
    for (unsigned node = 0; node < to->machine->nodes; node++) {
        emit(to, 2, 1, "to=%u", node);
        for (unsigned from = 0; from < to->machine->nodes; from++) {
            unsigned far = from == node ? 0 : from / 2 == node / 2 ? 1 : 2;
            static const double gbps[] = {96, 61, 27.5}, ns[] = {88, 121, 203};
            emit(to, 0, gbps[far] * jitter(to, 0.01), "from=%u;to=%u", from, node);
            emit(to, 1, ns[far] * jitter(to, 0.01), "from=%u;to=%u", from, node);
        }
    }
}

static bool are_siblings(const struct fixture_scan_machine *machine, unsigned a, unsigned b)
{
    return machine->siblings && b == a + machine->siblings;
}

static void emit_pairs(struct emitter *to)
{
    for (unsigned a = 0; a < to->machine->cpus; a++)
        for (unsigned b = a + 1; b < to->machine->cpus; b++) {
            bool near = a % 32 / 8 == b % 32 / 8;
            double ns = are_siblings(to->machine, a, b) ? 24 : near ? 62 : 84;
            ns *= jitter(to, 0.04);
            /* The hypervisor took a CPU away. */
            if (a == 5 && b == 60)
                ns = 1900;
            emit(to, 0, ns, "a=%u;b=%u", a, b);
            emit(to, 1, 0.93 * ns, "a=%u;b=%u", a, b);
        }
    emit(to, 2, 1.02, "%s", "");
}

static void emit_smt(struct emitter *to)
{
    for (unsigned a = 0; a < to->machine->cpus; a++)
        for (unsigned b = a + 1; b < to->machine->cpus; b++)
            emit(to, 0, (are_siblings(to->machine, a, b) ? 1.62 : 1.0) * jitter(to, 0.012),
                 "a=%u;b=%u", a, b);
}

static void emit_sharing(struct emitter *to)
{
    static const char *const layouts[] = {"same", "adjacent", "padded"};
    static const double rate[] = {61, 610, 655};
    for (int all = 0; all < 2; all++)
        for (int layout = 0; layout < 3; layout++) {
            double now = rate[layout] / (all && layout == 0 ? 9 : 1) * jitter(to, 0.02);
            const char *threads = all ? "all" : "2";
            emit(to, 0, now, "layout=%s;threads=%s", layouts[layout], threads);
            if (layout < 2)
                emit(to, 1, rate[2] / now, "layout=%s;threads=%s", layouts[layout], threads);
        }
}

static void emit_thrash(struct emitter *to)
{
    static const char *const aggressors[] = {"l1", "stream", "random"};
    static const char *const wheres[] = {"smt", "same-llc", "other-llc", "other-node"};
    for (int aggressor = 0; aggressor < 3; aggressor++)
        for (unsigned where = 0; where < (to->machine->nodes > 1 ? 4u : 3u); where++)
            for (unsigned n = 1; n <= (where ? 8u : 1u); n *= 2) {
                static const double push[] = {0.9, 0.22, 0.05, 0.015};
                double slower = aggressor ? push[where] * n * (aggressor == 2 ? 0.6 : 1)
                                : where   ? 0
                                          : 0.35;
                emit(to, 2, (1 + slower) * jitter(to, 0.02), "victim=l3;aggressor=%s;where=%s;n=%u",
                     aggressors[aggressor], wheres[where], n);
            }
    static const double refills[] = {9, 240, 2900};
    for (int victim = 0; victim < 3; victim++)
        emit(to, 8, refills[victim], "victim=l%d;aggressor=stream;where=turns;n=1", victim + 1);
    emit(to, 14, 14 << 20, "victim=l3");
    emit(to, 15, 600 << 20, "aggressor=stream");
}

/* Two GPUs share a switch, which halves their concurrent rates; the far node costs a sixth. */
static void emit_host_copies(struct emitter *to, const char *dir, double gbps)
{
    unsigned gpus = to->machine->gpus, nodes = to->machine->nodes;
    for (unsigned gpu = 0; gpu < gpus; gpu++) {
        unsigned home = gpu * nodes / gpus;
        double alone = gbps * jitter(to, 0.004), all = gpus > 1 ? gbps / 2 : 0;
        for (unsigned node = 0; node < nodes; node++)
            emit(to, 0, node == home ? alone : gbps * 5 / 6 * jitter(to, 0.004),
                 "dir=%s;gpu=%u;node=%u;mem=pinned;via=ce;with=alone", dir, gpu, node);
        if (all > 0) {
            emit(to, 0, all, "dir=%s;gpu=%u;node=%u;mem=pinned;via=ce;with=all", dir, gpu, home);
            emit(to, 1, all / alone, "dir=%s;gpu=%u", dir, gpu);
        }
        emit(to, 0, 0.9 * alone, "dir=%s;gpu=%u;node=%u;mem=pinned;via=sm;with=alone", dir, gpu,
             home);
        emit(to, 2, 7.9 * jitter(to, 0.02), "dir=%s;gpu=%u;size=8;stat=p50", dir, gpu);
        emit(to, 2, 9.6 * jitter(to, 0.05), "dir=%s;gpu=%u;size=8;stat=p99", dir, gpu);
    }
}

static void emit_copies(struct emitter *to)
{
    emit_host_copies(to, "h2d", 55.3);
    emit_host_copies(to, "d2h", 52.1);
    for (unsigned src = 0; src < to->machine->gpus; src++)
        for (unsigned dst = 0; dst < to->machine->gpus; dst++) {
            if (src == dst)
                continue;
            /* One pair has lost some links. */
            double gbps = (src + dst == 5 ? 197 : 393.7) * jitter(to, 0.002);
            emit(to, 0, gbps, "dir=d2d;src=%u;dst=%u;via=ce;op=read", src, dst);
            emit(to, 0, 0.97 * gbps, "dir=d2d;src=%u;dst=%u;via=ce;op=write", src, dst);
            emit(to, 3, 1, "src=%u;dst=%u", src, dst);
        }
    emit(to, 4, 512 << 20, "mem=pinned");
    emit(to, 4, 128 << 20, "mem=paged");
}

/* GPU 1 is a tenth slower while all GPUs work. */
static double of_gpu(struct emitter *to, unsigned gpu, bool all)
{
    return (all && gpu == 1 ? 0.9 : 1) * jitter(to, 0.004);
}

static const char *const withs[] = {"alone", "all"};

static void emit_stream(struct emitter *to)
{
    static const char *const ops[] = {"copy", "scale", "add", "triad", "read", "write", "copy"};
    for (unsigned all = 0; all < (to->machine->gpus > 1 ? 2u : 1u); all++)
        for (unsigned op = 0; op < 7; op++)
            for (unsigned gpu = 0; gpu < to->machine->gpus; gpu++)
                emit(to, 0, 4250 * of_gpu(to, gpu, all), "op=%s;via=%s;with=%s;gpu=%u", ops[op],
                     op == 6 ? "driver" : "kernel", withs[all], gpu);
    emit(to, 1, 1 << 30, "%s", "");
}

static void emit_matmul(struct emitter *to)
{
    static const char *const types[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"};
    static const char *const reasons[] = {"power", "thermal", "sync_boost", "low_utilization"};
    static const double rates[] = {56, 51, 361, 690, 664, 1315, 1340};
    for (unsigned all = 0; all < (to->machine->gpus > 1 ? 2u : 1u); all++)
        for (unsigned type = 0; type < 7; type++)
            for (unsigned gpu = 0; gpu < to->machine->gpus; gpu++) {
                double share = of_gpu(to, gpu, all);
                const double value[] = {0.7 * share, 1500 * share, 700 / share, 55 / share};
                emit(to, type == 6, rates[type] * share, "type=%s;with=%s;gpu=%u", types[type],
                     withs[all], gpu);
                for (unsigned metric = 0; metric < 4; metric++)
                    emit(to, 2 + metric, value[metric], "type=%s;with=%s;gpu=%u", types[type],
                         withs[all], gpu);
                for (unsigned reason = 0; reason < 4; reason++)
                    emit(to, 6, reason ? 0 : share / 2, "type=%s;reason=%s;with=%s;gpu=%u",
                         types[type], reasons[reason], withs[all], gpu);
            }
}

/* If a driver yields its CPU, it gets the CPU back after a time slice. */
static void emit_launch(struct emitter *to)
{
    static const char *const what[] = {"launch", "queue", "sync", "sync", "sync", "graph20"};
    static const char *const waits[] = {"spin", "spin", "spin", "yield", "block", "spin"};
    static const char *const stats[] = {"p50", "p99", "max"};
    static const double us[] = {3.7, 3.6, 10.3, 10.4, 54, 0.58};
    for (unsigned gpu = 0; gpu < to->machine->gpus; gpu++)
        for (unsigned way = 0; way < 6; way++) {
            if (way > 1 && way < 5)
                emit(to, 1, way == 4 ? 0.006 : 1, "wait=%s;gpu=%u", waits[way], gpu);
            for (unsigned busy = 0; busy < 2; busy++)
                for (unsigned stat = 0; stat < 3; stat++)
                    emit(to, 0,
                         (busy && way == 3 ? 4000 : us[way]) * (1 + stat) * of_gpu(to, gpu, busy),
                         "what=%s;wait=%s;load=%s;stat=%s;gpu=%u", what[way], waits[way],
                         busy ? "busy" : "idle", stats[stat], gpu);
        }
}

/* An all-reduce among four GPUs, in place and out of place. */
static void emit_collective(struct emitter *to)
{
    for (int in_place = 0; in_place < 2; in_place++)
        for (double size = 8; size <= 128 << 20; size *= 4) {
            const char *place = in_place ? "in" : "out";
            double us = (22 + (1 + 0.1 * in_place) * size / 210e3) * jitter(to, 0.02);
            emit(to, 0, us, "op=allreduce;place=%s;size=%.0f", place, size);
            emit(to, 2, 1.5 * size / us * 1e-3, "op=allreduce;place=%s;size=%.0f", place, size);
        }
}

static const char *const injects[] = {"r", "rw", NULL};
static const struct opt loaded_opts[] = {
    {.name = "size", .kind = OPT_SIZE, .offset = 8, .def = "0"},
    {.name = "inject", .kind = OPT_CHOICE, .offset = 0, .def = "r", .choices = injects},
    {.name = NULL},
};
static const int64_t loaded_params[][2] = {{0, 0}, {1, 0}};
static const struct opt collective_opts[] = {
    {.name = "queue", .kind = OPT_INT, .offset = 0, .def = "20"},
    {.name = NULL},
};
static const int64_t collective_queues[] = {1, 20};

/* Metrics, figures and keys are those of the benchmark. */
static struct scan {
    const struct bench *like;
    const struct opt *opts;
    const void *params;
    void (*emit)(struct emitter *to);
    struct bench bench; /* made from `like` */
} scans[] = {
    {&bench_mem_bandwidth, NULL, NULL, emit_bandwidth},
    {&bench_mem_latency, NULL, NULL, emit_latency},
    {&bench_loaded_latency, loaded_opts, loaded_params[0], emit_loaded},
    {&bench_loaded_latency, loaded_opts, loaded_params[1], emit_loaded},
    {&bench_numa_matrix, NULL, NULL, emit_numa},
    {&bench_core_to_core, NULL, NULL, emit_pairs},
    {&bench_smt_pairs, NULL, NULL, emit_smt},
    {&bench_false_sharing, NULL, NULL, emit_sharing},
    {&bench_cache_thrash, NULL, NULL, emit_thrash},
    {&bench_gpu_copy, NULL, NULL, emit_copies},
    {&bench_gpu_stream, NULL, NULL, emit_stream},
    {&bench_gpu_matmul, NULL, NULL, emit_matmul},
    {&bench_gpu_launch, NULL, NULL, emit_launch},
    {&bench_collective, collective_opts, &collective_queues[1], emit_collective},
};
enum { SCANS = sizeof(scans) / sizeof(scans[0]) };

static void add_round(const struct fixture_scan_machine *machine, const struct scan *scan,
                      struct arm *arm, unsigned round)
{
    struct observation *observation = &arm->observations[arm->nobservations++];
    *observation = (struct observation){.round = round,
                                        .nworkers = 1,
                                        .workers = calloc(1, sizeof(*observation->workers)),
                                        .steal = NAN,
                                        .foreign_cpu = NAN,
                                        .psi_cpu_some = NAN,
                                        .gpu_clock_mhz = NAN,
                                        .gpu_temp_c = NAN,
                                        .start_ns = 1};
    struct worker_result *worker = observation->workers;
    assert(worker);
    worker->go_ns = 1;
    worker->end_ns = 1000000001;
    worker->samples = calloc(1, sizeof(*worker->samples));
    assert(worker->samples);
    worker->nsamples = 1;
    worker->samples[0] = (struct sample){.start_ns = 1, .elapsed_ns = 1000000000, .iters = 1};
    if (scan->emit == emit_numa && machine->nodes < 2) {
        observation->status = worker->status = STATUS_SKIPPED;
        (void)snprintf(observation->reason, sizeof(observation->reason),
                       "the machine has one NUMA node");
        return;
    }
    struct emitter to = {
        .machine = machine, .arm = arm, .worker = worker, .random = 42 + 1000u * round};
    scan->emit(&to);
}

/* Like the benchmark, but with its own parameters and without a need for GPUs. */
static const struct bench *imitate(struct scan *scan)
{
    const struct bench *like = scan->like;
    scan->bench = (struct bench){.name = like->name,
                                 .needs = like->needs & NEED_COLLECTIVE,
                                 .opts = scan->opts,
                                 .metrics = like->metrics,
                                 .figures = like->figures,
                                 .dims = like->dims,
                                 .gang = like->gang,
                                 .scan = fixture_no_scan};
    return &scan->bench;
}

static void add_arm(const struct fixture_scan_machine *machine, struct scan *scan,
                    struct result *result)
{
    struct arm *arm = &result->arms[result->narms++];
    /* The second arm of a benchmark has other parameters. */
    struct scan *first = scan > scans && scan[-1].like == scan->like ? scan - 1 : scan;
    *arm = (struct arm){.bench = imitate(first),
                        .params = scan->params,
                        .placement = PLACE_NONE,
                        .workers = 1,
                        .planned_workers = 1,
                        .same_as = -1};
    arm->plan.nworkers = 1;
    arm->plan.workers = calloc(1, sizeof(*arm->plan.workers));
    arm->observations = calloc(machine->rounds, sizeof(*arm->observations));
    assert(arm->plan.workers && arm->observations);
    for (unsigned cpu = 0; cpu < machine->cpus; cpu++)
        bitset_set(&arm->plan.workers[0].cpus, cpu);
    arm->plan.workers[0].gpu = -1;
    for (unsigned round = 0; round < machine->rounds; round++)
        add_round(machine, scan, arm, round);
}

static void add_collectives(const struct fixture_scan_machine *machine, struct scan *scan,
                            struct result *result)
{
    for (size_t queue = 0; queue < 2; queue++)
        for (size_t i = 0; i <= machine->nplacements; i++) {
            add_arm(machine, scan, result);
            struct arm *arm = &result->arms[result->narms - 1];
            arm->params = &collective_queues[queue];
            arm->is_baseline = i == machine->nplacements;
            arm->placement = arm->is_baseline ? PLACE_NONE : machine->placements[i];
        }
}

void fixture_scans_make(const struct fixture_scan_machine *machine, const char *only,
                        struct result *result)
{
    *result = (struct result){
        .run_id = "20250101T120000Z-memory",
        .scenario = "memory",
        .device = DEVICE_SIM,
        .transport = DEVICE_NCCL,
        .rounds_planned = machine->rounds,
        .rounds_done = machine->rounds,
        .seed = 42,
        .arms = calloc(SCANS + 2 * machine->nplacements + 2, sizeof(*result->arms)),
    };
    assert(result->arms);
    for (size_t i = 0; i < SCANS; i++)
        if ((!only || strstr(only, scans[i].like->name)) &&
            (machine->gpus || !(scans[i].like->needs & NEED_GPU))) {
            if (scans[i].emit == emit_collective && machine->nplacements)
                add_collectives(machine, &scans[i], result);
            else
                add_arm(machine, &scans[i], result);
        }
}
