/*
 * Latency of requests in an open loop. Workers preprocess requests on the CPU and infer on a GPU,
 * at loads from 20% to 100% of what one worker does alone. Shows how late the answers are, and from
 * which load on they are too late.
 *
 * A request is a small batch (`rows` x `cols`): the worker's team preprocesses it
 * (kernels/prep/prep.h), copies it to the device, and waits for the device's work on it
 * (device/device.h). Each worker has its own queue and serves it in order, one request at a time.
 * The arrival times are drawn before the first request is served (serve_point.h). So a late server
 * does not delay later requests. In a closed loop it would: each client waits for its answer before
 * it asks again.
 *
 * Load 100 is the rate of one worker in a closed loop while the other workers sleep and before the
 * background begins, with a team as large as its share of all CPUs: the best of five slices. So it
 * is the same for placements that give workers as many CPUs; `rate` sets it for all.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW, keys arrival=poisson|bursts, load=% of load 100:
 * `serve_latency` ms = the end of a request - *when it was due*, over the requests of all workers
 * that came in the last two thirds of the span of arrivals; stat=p50|p99|p99.9|max. A percentile
 * with too few requests (served_know) is skipped or in doubt. A point is time-boxed: after a drain
 * of a quarter of that span, no request is begun. Requests that still wait then count with their
 * wait so far, and a percentile that reaches such a request is "at least" (~ in tables).
 * `serve_unserved`: share of these requests.
 * `serve_offered`, `serve_achieved`: requests a second that came, and that were done, in the part
 * that counts.
 * `serve_worst`: the largest latency of the requests that came in each `bin`, at= ms, at load 60 or
 * at the only load.
 * `serve_service` ms: from the begin of a request, as a client of a closed loop would see it.
 * `serve_saturation` %: the load at which the p99 passes `limit`, interpolated between two loads,
 * linearly in the logarithm of the p99; `serve_saturation_rate`: that load in requests a second of
 * all workers.
 * **Source** Tene, How NOT to measure latency (2013), and wrk2: latency counts from the intended
 * time; otherwise it leaves out waiting (coordinated omission). Schroeder, Wierman and
 * Harchol-Balter, Open versus closed, NSDI 2006.
 * **Limits** Requests come from a schedule: no network, and receiving them costs nothing. Workers
 * do not batch requests, as model servers do, and preprocessing does not overlap the GPU. Without
 * CPUs for all teams, load 100 of all workers at once is not achievable. A quick run has short
 * points: no p99.9, and few requests above a p99. On one machine: skipped under mpirun and srun.
 */
#include <errno.h>
#include <math.h>

#include "bench/common/points.h"
#include "bench/feed/serve_point.h"
#include "bench/registry.h"
#include "kernels/cpu/mix64.h"

static const unsigned loads[] = {20, 40, 60, 80, 100}; /* % */
enum {
    LOADS = sizeof(loads) / sizeof(loads[0]),
    POINTS = LOADS * ARRIVALS_PATTERNS,
    WATCHED_LOAD = 60,   /* serve_worst is emitted at this load */
    LIMIT_SERVICES = 10, /* default limit, in requests of one worker alone */
};

/* "all", then as enum arrivals_pattern. */
static const char *const pattern_choices[] = {"all", "poisson", "bursts", NULL};

struct serve_params {
    struct feed_params feed;
    int arrival;
    int64_t load, burst, behind;
    double rate, limit_s, bin_s;
};

static const struct opt serve_opts[] = {
    BATCH_OPTS_OF("32"),
    FEED_DEVICE_OPTS,
    OPT_CHOICE("arrival", serve_params, arrival, "all", pattern_choices, "PATTERN",
               "requests that come one by one, or in bursts"),
    OPT_INT("burst", serve_params, burst, "4", 1, 100000, "N", "requests of a burst"),
    OPT_INT("load", serve_params, load, "0", 0, 1000, "PERCENT",
            "only this load, in % of what one worker does alone; 0: from 20 to 100"),
    OPT_DOUBLE("rate", serve_params, rate, "0", 0, 1e6, "X",
               "requests a second of each worker that are load 100; 0: what one does alone"),
    OPT_INT("behind", serve_params, behind, "0", 0, 4096, "N",
            "workers of the background, which have a share of the CPUs, too: for load 100"),
    OPT_SECONDS("limit", serve_params, limit_s, "0", 0, 3600, "TIME",
                "p99 that is too late; 0: ten times a request alone"),
    OPT_SECONDS("bin", serve_params, bin_s, "100ms", 1e-3, 3600, "TIME",
                "of which the latest request is shown; less where a point is short"),
    {.name = NULL},
};

enum { BY_ARRIVAL = 1, BY_LOAD, BY_STAT, BY_AT };
static const struct bench_dim serve_dims[] = {
    [BY_ARRIVAL] = {"arrival", .labels = pattern_choices + 1,
                    .labels_long = LABELS("Poisson", "bursts")},
    [BY_LOAD] = {"load", .unit = "% of alone"},
    [BY_STAT] = {"stat", .labels = serve_stats, .labels_long = serve_stats},
    [BY_AT] = {"at"},
    {.name = NULL},
};

enum {
    LATENCY,
    SATURATION,
    SATURATION_RATE,
    ALONE,
    LIMIT,
    OFFERED,
    ACHIEVED,
    UNSERVED,
    SERVICE,
    WORST
};
static const struct bench_metric serve_metrics[] = {
    [LATENCY] = {"serve_latency", "ms", "lower"},
    [SATURATION] = {"serve_saturation", "%", "higher"},
    [SATURATION_RATE] = {"serve_saturation_rate", "requests/s", "higher", .gating = true},
    [ALONE] = {"serve_alone", "requests/s", "higher"},
    [LIMIT] = {"serve_limit", "ms", "none"},
    [OFFERED] = {"serve_offered", "requests/s", "none", .hidden = true},
    [ACHIEVED] = {"serve_achieved", "requests/s", "higher"},
    [UNSERVED] = {"serve_unserved", "ratio", "lower", .hide_zeros = true},
    [SERVICE] = {"serve_service", "ms", "lower", .hidden = true},
    [WORST] = {"serve_worst", "ms", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure serve_figures[] = {
    {.name = "serve",
     .kind = FIGURE_LINES,
     .metric = "serve_latency",
     .only = &DIMS({BY_ARRIVAL, ARRIVALS_POISSON}, {BY_STAT, SERVE_P99}),
     .title = "latency of requests, by load",
     .how = "p99 from when each request was due, Poisson arrivals",
     .x = {"load (% of what one worker does alone)", BY_LOAD},
     .y = {"latency (ms, log scale)", .log = true}},
    {.name = "serve_bursts",
     .kind = FIGURE_LINES,
     .metric = "serve_latency",
     .only = &DIMS({BY_ARRIVAL, ARRIVALS_BURSTS}, {BY_STAT, SERVE_P99}),
     .title = "latency of requests that come in bursts, by load",
     .how = "p99 from when each request was due",
     .x = {"load (% of what one worker does alone)", BY_LOAD},
     .y = {"latency (ms, log scale)", .log = true}},
    {.name = "serve_rate",
     .kind = FIGURE_LINES,
     .metric = "serve_achieved",
     .only = &DIMS({BY_ARRIVAL, ARRIVALS_POISSON}),
     .title = "requests served, by requests offered",
     .how = "All workers together, Poisson arrivals",
     .x = {"requests offered (1/s)", BY_LOAD, .metric = "serve_offered"},
     .y = {"requests served (1/s)"}},
    {.name = "serve_worst",
     .kind = FIGURE_LINES,
     .metric = "serve_worst",
     .only = &DIMS({BY_ARRIVAL, ARRIVALS_POISSON}),
     .title = "the slowest request at each moment",
     .how = "From when each was due, Poisson arrivals",
     .note = "A request that nobody began counts with the time that it had waited. rounds.csv has "
             "the spikes of each round",
     .x = {"time (ms)", BY_AT},
     .y = {"latency (ms, log scale)", .log = true}},
    {.name = NULL},
};

struct serve {
    struct feed feed;
    double alone; /* requests a second of a worker that are load 100 */
    double limit_ms;
    unsigned npoints;
    struct serve_point points[POINTS];
};

/* ---- all points ---- */

static int serve_probe(struct bench_ctx *ctx)
{
    if (ctx->peers->mpi)
        return err_set(ctx->err, -ENOTSUP,
                       "needs workers of one machine, with one clock: not under mpirun or srun");
    return device_probe(ctx->device, ctx->err);
}

/* If both patterns are measured, bursts have only the inner loads: no knee lies at the ends. */
static bool is_measured(const struct serve_params *params, enum arrivals_pattern pattern,
                        unsigned load)
{
    if (params->arrival)
        return params->arrival == (int)pattern + 1;
    bool is_inner = load > loads[0] && load < loads[LOADS - 1];
    return pattern == ARRIVALS_POISSON || params->load || is_inner;
}

static void list_points(struct serve *s, const struct serve_params *params)
{
    for (unsigned pattern = 0; pattern < ARRIVALS_PATTERNS; pattern++)
        for (unsigned i = 0; i < (params->load ? 1 : LOADS); i++) {
            unsigned load = params->load ? (unsigned)params->load : loads[i];
            if (is_measured(params, pattern, load))
                s->points[s->npoints++] = (struct serve_point){.pattern = pattern, .load = load};
        }
}

/* Gives all points the same number of requests, on which the precision of percentiles depends. */
static void divide_time(struct serve *s, const struct serve_params *params, double budget_s)
{
    double whole = 0;
    for (unsigned i = 0; i < s->npoints; i++)
        whole += 1.0 / s->points[i].load;
    for (unsigned i = 0; i < s->npoints; i++)
        s->points[i].times = serve_times_of(budget_s / s->points[i].load / whole, params->bin_s);
}

static int serve_setup(struct bench_ctx *ctx)
{
    const struct serve_params *params = ctx->params;
    struct serve *s = ctx->state;
    list_points(s, params);
    divide_time(s, params, ctx->budget_s);
    int rc = feed_open(&s->feed, &params->feed, ctx);
    if (!rc && params->rate > 0)
        s->alone = params->rate;
    else if (!rc)
        rc = serve_alone(&s->feed, ctx, (unsigned)params->behind, &s->alone);
    s->limit_ms = params->limit_s > 0 ? 1e3 * params->limit_s : 1e3 * LIMIT_SERVICES / s->alone;
    return rc;
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct serve *s = ctx->state;
    struct serve_point *point = &s->points[index];
    const struct serve_params *params = ctx->params;
    const struct arrivals_params arrivals = {
        .pattern = point->pattern,
        .rate = s->alone * point->load / 100,
        .burst = (uint64_t)params->burst,
        .seed = mix64(ctx->seed ^ ctx->round_seed),
        .span_ns = point->times.span_ns,
    };
    return serve_point_measure(point, &arrivals, &s->feed, ctx);
}

/* ---- results ---- */

/* Says which options to use if a point has too few requests for a percentile. */
static void report_beyond(const struct bench_ctx *ctx, const struct serve_point *point,
                          unsigned stat, struct err *why)
{
    const struct serve *s = ctx->state;
    unsigned load = s->npoints > 1 ? WATCHED_LOAD : point->load;
    double rate = s->alone * load / 100 * ctx->peers->size;
    (void)err_set(why, -ENOTSUP,
                  "%s lies beyond the latest of so few requests: %s--time %g has 10 above it",
                  serve_stats[stat], s->npoints > 1 ? "-p load=60 -p arrival=poisson " : "",
                  serve_seconds_for(stat, rate));
}

static void emit_latency(struct bench_ctx *ctx, const struct serve_point *point, unsigned stat,
                         struct dims at)
{
    enum served_known known = serve_point_knows(point, stat);
    struct err why;
    at = dims_with(at, BY_STAT, stat);
    if (known == SERVED_BEYOND) {
        report_beyond(ctx, point, stat, &why);
        (void)bench_emit_absent(ctx, LATENCY, &why, at);
        return;
    }
    bench_emit_doubt(ctx, LATENCY, point->latency[stat].ms,
                     point->latency[stat].at_least
                         ? "at least: some requests were not begun in time"
                     : known == SERVED_FEW ? "fewer than 10 requests of a round lie above it"
                                           : "",
                     at);
}

/* Emits bins at one load only: they are many rows. */
static void emit_worst(struct bench_ctx *ctx, const struct serve_point *point, struct dims at)
{
    const struct serve_params *params = ctx->params;
    double bin_ms = 1e-6 * (double)point->times.bin_ns;
    if (!params->load && point->load != WATCHED_LOAD)
        return;
    for (size_t bin = 0; bin < point->times.nbins; bin++)
        bench_emit(ctx, WORST, point->worst_ms[bin],
                   dims_with(at, BY_AT, nearbyint(bin_ms * (double)bin)));
}

static void emit_point(struct bench_ctx *ctx, size_t index)
{
    const struct serve *s = ctx->state;
    const struct serve_point *point = &s->points[index];
    const struct dims at = DIMS({BY_ARRIVAL, point->pattern}, {BY_LOAD, point->load});
    if (ctx->worker || !point->n) /* no request counts: the point has no value */
        return;
    for (unsigned i = 0; i < SERVE_STATS; i++)
        emit_latency(ctx, point, i, at);
    bench_emit(ctx, OFFERED, point->offered, at);
    bench_emit(ctx, ACHIEVED, point->achieved, at);
    bench_emit(ctx, UNSERVED, (double)point->unserved / (double)point->n, at);
    for (unsigned i = 0; i < SERVE_STATS; i++)
        if (serve_point_knows(point, i) != SERVED_BEYOND)
            bench_emit(ctx, SERVICE, point->service[i].ms, dims_with(at, BY_STAT, i));
    emit_worst(ctx, point, at);
}

/* Takes points first..n-1, which have the same pattern and rising loads. */
static void emit_saturation(struct bench_ctx *ctx, size_t first, size_t n)
{
    const struct serve *s = ctx->state;
    double load[LOADS], p99_ms[LOADS];
    size_t known = 0;
    bool few = false;
    for (size_t i = first; i < n; i++)
        if (s->points[i].n) {
            load[known] = s->points[i].load;
            p99_ms[known++] = s->points[i].latency[SERVE_P99].ms;
            few = few || serve_point_knows(&s->points[i], SERVE_P99) == SERVED_BEYOND;
        }
    if (!known)
        return;
    const struct served_saturation found = served_saturate(load, p99_ms, known, s->limit_ms);
    const char *why = found.low    ? "at most: p99 is too late at the least load"
                      : found.high ? "at least: p99 is in time at the highest load"
                      : few        ? "so few requests in a round that its p99 is the latest one"
                                   : "";
    const struct dims at = DIMS({BY_ARRIVAL, s->points[first].pattern});
    double rate = s->alone * found.load / 100 * ctx->peers->size;
    bench_emit_doubt(ctx, SATURATION, found.load, why, at);
    bench_emit_doubt(ctx, SATURATION_RATE, rate, why, at);
}

static int serve_scan(struct bench_ctx *ctx)
{
    const struct serve *s = ctx->state;
    int rc = points_run(ctx, s->npoints, measure_point, emit_point);
    if (rc || ctx->worker)
        return rc;
    bench_emit(ctx, ALONE, s->alone, NO_DIMS);
    bench_emit(ctx, LIMIT, s->limit_ms, NO_DIMS);
    for (size_t first = 0, n; first < s->npoints; first = n) {
        for (n = first; n < s->npoints && s->points[n].pattern == s->points[first].pattern;)
            n++;
        if (n > first + 1)
            emit_saturation(ctx, first, n);
    }
    return 0;
}

static int serve_check(struct bench_ctx *ctx)
{
    struct serve *s = ctx->state;
    return feed_check(&s->feed, ctx);
}

const struct bench bench_serve = {
    .name = "serve",
    .summary = "requests that arrive at random, preprocessed on the CPU and inferred on a GPU",
    .needs = NEED_DEVICE,
    .opts = serve_opts,
    .params_size = sizeof(struct serve_params),
    .metrics = serve_metrics,
    .figures = serve_figures,
    .dims = serve_dims,
    .gang = true,
    .validate = batches_validate,
    .probe = serve_probe,
    .state_size = sizeof(struct serve),
    .setup = serve_setup,
    .scan = serve_scan,
    .check = serve_check,
};
