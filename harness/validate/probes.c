#include "harness/validate/probes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/contract/scenario.h"
#include "harness/engine/run.h"
#include "harness/engine/setup.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

/* The most informative per second first: if time is short, the last ones are left out. */
static const enum facts_probe_name probe_order[PROBES] = {
    PROBE_CPU_SPEED,         PROBE_IDLE_EXIT,      PROBE_GPU_COPY,   PROBE_COLLECTIVE,
    PROBE_MEMORY_BANDWIDTH,  PROBE_GPU_MATMUL,     PROBE_GPU_MEMORY, PROBE_GPU_STREAM,
    PROBE_COLLECTIVE_STAGED, PROBE_NODE_BANDWIDTH, PROBE_BURN};

/* Start, set-up and end of each part, in addition to the measured time. */
static const double start_s = 2, start_gpu_s = 5;
/* A worker that is not ready, or a measurement that is not done, within these counts as hung. */
static const double setup_limit_s = 40, limit_s = 30;
static const double times[] = {[PROBES_QUICK] = 1, [PROBES_STANDARD] = 3, [PROBES_LONG] = 5};
static const unsigned rounds[] = {[PROBES_QUICK] = 1, [PROBES_STANDARD] = 3, [PROBES_LONG] = 9};

#define ONE_WORKER(name, parameters)                                                               \
    {                                                                                              \
        .foreground = (name), .params = (parameters), .placements = "none", .workers = 1           \
    }
static const struct scenario_part speed_parts[] = {ONE_WORKER("cpu_speed", NULL),
                                                   {.foreground = NULL}};
static const struct scenario_part idle_parts[] = {ONE_WORKER("idle_exit", NULL),
                                                  {.foreground = NULL}};
static const struct scenario_part memory_parts[] = {ONE_WORKER("mem_bandwidth", "op=triad"),
                                                    {.foreground = NULL}};
static const struct scenario_part node_parts[] = {ONE_WORKER("numa_matrix", NULL),
                                                  {.foreground = NULL}};
static const struct scenario_part stream_parts[] = {ONE_WORKER("gpu_stream", NULL),
                                                    {.foreground = NULL}};
static const struct scenario_part matmul_parts[] = {ONE_WORKER("gpu_matmul", NULL),
                                                    {.foreground = NULL}};
static const struct scenario_part pattern_parts[] = {ONE_WORKER("gpu_memory", NULL),
                                                     {.foreground = NULL}};
static const struct scenario_part burn_parts[] = {ONE_WORKER("burn", NULL), {.foreground = NULL}};
#define COPY "mem=pinned;via=ce;node=home;size=128M;dir="
static const struct scenario_part copy_parts[] = {
    ONE_WORKER("gpu_copy", COPY "h2d"), ONE_WORKER("gpu_copy", COPY "d2h"), {.foreground = NULL}};
static const struct scenario_part collective_parts[] = {
    {.foreground = "collective", .params = "begin=32M;end=32M", .placements = "none"},
    {.foreground = NULL}};

/* The benchmarks of each probe. */
static const struct probe {
    const struct scenario_part *parts;
    double measure_s;         /* of a part, on the quick level */
    double a_cpu_s;           /* measured time per CPU, at most measure_s; 0 = measure_s */
    unsigned gpus, nodes;     /* the machine needs at least this many */
    const char *name, *value; /* variable set while it runs; NULL = none */
    bool is_burn;             /* one round of the request's burn_s */
} probes[PROBES] = {
    [PROBE_CPU_SPEED] = {.parts = speed_parts, .measure_s = 12, .a_cpu_s = 0.25},
    [PROBE_IDLE_EXIT] = {.parts = idle_parts, .measure_s = 1.5},
    [PROBE_MEMORY_BANDWIDTH] = {.parts = memory_parts, .measure_s = 4},
    [PROBE_NODE_BANDWIDTH] = {.parts = node_parts, .measure_s = 4, .nodes = 2},
    [PROBE_GPU_STREAM] = {.parts = stream_parts, .measure_s = 4, .gpus = 1},
    [PROBE_GPU_MATMUL] = {.parts = matmul_parts, .measure_s = 6, .gpus = 1},
    [PROBE_GPU_MEMORY] = {.parts = pattern_parts, .measure_s = 2, .gpus = 1},
    [PROBE_GPU_COPY] = {.parts = copy_parts, .measure_s = 2, .gpus = 1},
    [PROBE_COLLECTIVE] = {.parts = collective_parts, .measure_s = 1, .gpus = 2},
    [PROBE_COLLECTIVE_STAGED] = {.parts = collective_parts,
                                 .measure_s = 1,
                                 .gpus = 2,
                                 .name = "NCCL_P2P_DISABLE",
                                 .value = "1"},
    [PROBE_BURN] = {.parts = burn_parts, .is_burn = true},
};

struct measure {
    const struct probes_request *request;
    struct signals signals;
    uint64_t start_ns;
    double expected_s, done_s;
};

static double measure_s(const struct probes_request *request, const struct probe *probe)
{
    struct bitset allowed = {0};
    topo_allowed_cpus(request->topo, &allowed);
    if (probe->is_burn)
        return request->burn_s;
    double base_s = probe->measure_s;
    if (probe->a_cpu_s > 0)
        base_s = fmin(base_s, probe->a_cpu_s * bitset_count(&allowed));
    return base_s * times[request->level];
}

static unsigned rounds_of(const struct probes_request *request, const struct probe *probe)
{
    return probe->is_burn ? 1 : rounds[request->level];
}

/* The expected time of the whole probe. */
static double expect_s(const struct probes_request *request, const struct probe *probe)
{
    unsigned parts = 0;
    while (probe->parts[parts].foreground)
        parts++;
    double once_s = measure_s(request, probe) + (probe->gpus ? start_gpu_s : start_s);
    return once_s * parts * rounds_of(request, probe);
}

/* True if the machine has what the probe measures; else out->reason says why not. */
static bool applies(const struct probes_request *request, const struct probe *probe,
                    struct facts_probe *out)
{
    const struct topo *topo = request->topo;
    unsigned gpus = topo_visible_gpus(topo);
    if (probe->is_burn && !(request->burn_s > 0))
        text_set(out->reason, "needs --burn, such as --burn 3m");
    else if (gpus < probe->gpus)
        text_set(out->reason, "%s", gpus ? "one GPU" : "no GPU");
    else if (topo->nnodes < probe->nodes)
        text_set(out->reason, "one NUMA node");
    else
        return true;
    out->status = PROBE_ABSENT;
    return false;
}

static bool is_wanted(const struct probes_request *request, enum facts_probe_name name)
{
    return request->wanted & (1u << name);
}

double probes_expect(const struct probes_request *request)
{
    double sum_s = 0;
    for (int i = 0; i < PROBES; i++) {
        const struct probe *probe = &probes[probe_order[i]];
        struct facts_probe ignored = {0};
        double s = expect_s(request, probe);
        if (is_wanted(request, probe_order[i]) && applies(request, probe, &ignored) &&
            sum_s + s <= request->limit_s)
            sum_s += s;
    }
    return sum_s;
}

static void on_arm(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total)
{
    const struct measure *m = arg;
    (void)round;
    (void)total;
    double left_s = m->expected_s - (double)(clock_now_ns() - m->start_ns) / 1e9;
    (void)done;
    progress_set(arm->bench->name, (size_t)m->done_s, (size_t)m->expected_s, fmax(left_s, 0));
}

static void on_wait(void *arg)
{
    (void)arg;
    progress_tick();
}

/* Keeps the best of several rounds, as facts_join_repeats does of several measurements. */
static int put_value(struct facts_probe *out, const struct bench_metric *metric, const char *key,
                     double number, const char *why, struct err *err)
{
    struct facts_value value = {
        .value = number, .unit = metric->unit, .better = metric->better, .gating = metric->gating};
    const struct facts_probe round = {.status = PROBE_DONE, .n = 1, .values = &value};
    text_set(value.metric, "%s", metric->name);
    text_set(value.key, "%s", key);
    text_set(value.why, "%.199s", why);
    return facts_join_repeats(out, &round, err);
}

_Static_assert((int)FACTS_KEY_MAX == DIMS_KEY_MAX, "a key of dims_format fits");

/* Writes the value's key. Of numa_matrix it keeps only a node's own memory, "from=1;to=1" as
 * "node=1". False: leave the value out. */
static bool name_place(enum facts_probe_name name, const struct bench *bench, const struct dims *at,
                       char key[static DIMS_KEY_MAX])
{
    (void)snprintf(key, DIMS_KEY_MAX, "%s", dims_format(bench, at));
    if (name != PROBE_NODE_BANDWIDTH)
        return true;
    (void)snprintf(key, DIMS_KEY_MAX, "node=%.0f", at->of[0].at);
    return at->n == 2 && at->of[0].at == at->of[1].at;
}

static int put_worker(enum facts_probe_name name, const struct bench *bench,
                      const struct worker_result *worker, struct facts_probe *out, struct err *err)
{
    char key[DIMS_KEY_MAX];
    int rc = 0;
    for (size_t i = 0; i < worker->nvalues && !rc; i++) {
        const struct value *value = &worker->values[i];
        const struct err *why = value->reason ? &worker->reasons[value->reason - 1] : NULL;
        if (isnan(value->value) && (!why || why->code == -ENOTSUP))
            continue;
        /* A difference below 0 is not resolved: a limit from above passes it. */
        const struct bench_metric *metric = &bench->metrics[value->metric];
        double number = metric->difference ? fdim(value->value, 0) : value->value;
        if (name_place(name, bench, &value->dims, key))
            rc = put_value(out, metric, key, number, isnan(value->value) && why ? why->msg : "",
                           err);
    }
    return rc;
}

/* The worst observation decides the status. */
static int read_result(enum facts_probe_name name, const struct result *result,
                       struct facts_probe *out, struct err *err)
{
    enum status worst = STATUS_OK;
    int rc = 0;
    for (size_t a = 0; a < result->narms && !rc; a++) {
        const struct arm *arm = &result->arms[a];
        if (arm->plan.status != PLAN_OK && worst < STATUS_SKIPPED) {
            worst = STATUS_SKIPPED;
            text_set(out->reason, "%.250s", arm->plan.reason);
        }
        for (size_t o = 0; o < arm->nobservations && !rc; o++) {
            const struct observation *observation = &arm->observations[o];
            if (observation->status > worst) {
                worst = observation->status;
                text_set(out->reason, "%s: %.220s", arm->bench->name, observation->reason);
            }
            for (unsigned w = 0; w < observation->nworkers && !rc; w++)
                rc = put_worker(name, arm->bench, &observation->workers[w], out, err);
        }
    }
    static const enum facts_probe_status meaning[STATUSES] = {
        [STATUS_OK] = PROBE_DONE,       [STATUS_NOISY] = PROBE_DONE,
        [STATUS_CENSORED] = PROBE_HUNG, [STATUS_SKIPPED] = PROBE_UNSUPPORTED,
        [STATUS_FAILED] = PROBE_FAILED, [STATUS_HUNG] = PROBE_HUNG,
    };
    out->status = meaning[worst];
    if (out->n && worst == STATUS_FAILED) /* NaN values already report the failed part */
        for (size_t i = 0; i < out->n; i++)
            if (isnan(out->values[i].value))
                out->status = PROBE_DONE;
    return rc;
}

static int run_probe(struct measure *m, enum facts_probe_name name, struct facts_probe *out,
                     struct err *err)
{
    const struct probe *probe = &probes[name];
    const struct scenario scenario = {.name = "validate", .parts = probe->parts};
    const struct run_options options = {.workers = "auto",
                                        .profile = PROFILE_QUICK,
                                        .rounds = rounds_of(m->request, probe),
                                        .time_s = measure_s(m->request, probe),
                                        .limit_s = limit_s * times[m->request->level],
                                        .setup_limit_s = setup_limit_s,
                                        .device = probe->gpus ? DEVICE_CUDA : DEVICE_NONE,
                                        .no_baselines = true,
                                        .no_control = true};
    const struct cli cli = {0};
    const struct run_hooks hooks = {.on_arm = on_arm, .arg = m};
    struct run_setup setup = {0};
    struct err why = {0};
    int rc = run_setup_make(m->request->benches, &scenario, &options, &cli, m->request->topo,
                            &setup, &why);
    setup.config.on_wait = on_wait;
    if (!rc)
        rc = run_rounds(&setup.config, &hooks, &m->signals, &setup.result, &why);
    if (rc == -EINTR || rc == -ENOMEM) {
        *err = why;
    } else if (rc) {
        out->status = PROBE_FAILED;
        text_set(out->reason, "%s", why.msg);
        rc = 0;
    } else {
        rc = read_result(name, &setup.result, out, err);
    }
    run_setup_free(&setup);
    return rc;
}

static int measure_one(struct measure *m, enum facts_probe_name name, struct facts_probe *out,
                       struct err *err)
{
    const struct probe *probe = &probes[name];
    double s = expect_s(m->request, probe);
    if (!is_wanted(m->request, name)) {
        text_set(out->reason, "not asked for");
        return 0;
    }
    if (!applies(m->request, probe, out))
        return 0;
    double gone_s = (double)(clock_now_ns() - m->start_ns) / 1e9;
    if (gone_s + s > m->request->limit_s) {
        text_set(out->reason, "it takes %.0f s, and %.0f of %.0f s were left: raise --max-time", s,
                 fmax(m->request->limit_s - gone_s, 0), m->request->limit_s);
        return 0;
    }
    const char *before = probe->name ? getenv(probe->name) : NULL;
    char *kept = before ? strdup(before) : NULL;
    if (probe->name)
        (void)setenv(probe->name, probe->value, 1);
    int rc = run_probe(m, name, out, err);
    if (kept)
        (void)setenv(probe->name, kept, 1);
    else if (probe->name)
        (void)unsetenv(probe->name);
    free(kept);
    m->done_s += s;
    return rc;
}

int probes_measure(const struct probes_request *request, struct facts *facts, struct err *err)
{
    struct measure m = {.request = request, .start_ns = clock_now_ns()};
    int rc = signals_open(&m.signals, err);
    if (rc)
        return rc;
    m.expected_s = fmax(probes_expect(request), 1);
    for (int i = 0; i < PROBES && !rc; i++) {
        enum facts_probe_name name = probe_order[request->reverse_order ? PROBES - 1 - i : i];
        struct facts_probe *probe = &facts->probes[name];
        free(probe->values);
        *probe = (struct facts_probe){0};
        rc = measure_one(&m, name, probe, err);
    }
    progress_end();
    if (rc == -EINTR)
        (void)err_set(err, rc, "interrupted while measuring");
    signals_close(&m.signals);
    return rc;
}
