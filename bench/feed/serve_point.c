#include "bench/feed/serve_point.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/common/gather.h"
#include "bench/common/points.h"
#include "bench/device/device_sim.h"
#include "harness/lib/bitset.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"

enum {
    DRAIN_SHARE = 4,  /* after the span in which requests come: 1 / this of it to drain */
    SETTLE_SHARE = 3, /* the first 1 / this of that span does not count */
    BINS_LEAST = 10,
    BIN_LEAST_NS = 1000000,  /* whole ms name the bins, so names differ */
    REQUESTS_MOST = 1 << 22, /* of a worker */
    ALONE_SLICES = 5,        /* of the closed loop */
    ALONE_LEAST = 3,         /* requests in a slice */
};

const char *const serve_stats[] = {"p50", "p99", "p99.9", "max", NULL};
static const double fractions[SERVE_STATS] = {0.5, 0.99, 0.999, 1};

enum served_known serve_point_knows(const struct serve_point *point, unsigned stat)
{
    return served_know(point->n, fractions[stat]);
}

double serve_seconds_for(unsigned stat, double rate)
{
    static const double steps[] = {1, 2, 5, 10};
    double n = SERVED_ABOVE / (1 - fractions[stat]);
    double counts = (1 - 1.0 / SETTLE_SHARE) * DRAIN_SHARE / (DRAIN_SHARE + 1);
    double least_s = n / rate / counts;
    double unit_s = pow(10, floor(log10(least_s)));
    size_t step = 0;
    while (step < 3 && steps[step] * unit_s < least_s)
        step++;
    return steps[step] * unit_s;
}

struct serve_times serve_times_of(double point_s, double bin_s)
{
    uint64_t span_ns = (uint64_t)(1e9 * point_s * DRAIN_SHARE / (DRAIN_SHARE + 1));
    uint64_t from_ns = span_ns / SETTLE_SHARE;
    double counts_ns = (double)(span_ns - from_ns);
    double bin_ns = fmax(fmin(1e9 * bin_s, counts_ns / BINS_LEAST), counts_ns / SERVE_BINS_MOST);
    bin_ns = fmax(ceil(bin_ns), BIN_LEAST_NS);
    return (struct serve_times){
        .span_ns = span_ns,
        .from_ns = from_ns,
        .over_ns = span_ns + span_ns / DRAIN_SHARE,
        .bin_ns = (uint64_t)bin_ns,
        .nbins = (size_t)fmax(ceil(counts_ns / bin_ns), 1),
    };
}

/* ---- serving ---- */

/* Serves one request. Errors are those of feed_step. */
static int serve_request(struct feed *feed, const struct bench_ctx *ctx)
{
    struct sample sample = {0};
    return feed_step(feed, &sample, ctx);
}

static void wait_until(uint64_t until_ns)
{
    device_sim_wait_until(until_ns, false, NULL);
}

/* Serves requests in order, each when it comes or, if later, when the previous request is done. */
static int serve_all(const struct serve_times *times, uint64_t start_ns,
                     struct served_request *requests, struct served *served, struct feed *feed,
                     const struct bench_ctx *ctx)
{
    int rc = 0;
    for (size_t i = 0; i < served->n && !rc; i++) {
        struct served_request *request = &requests[i];
        wait_until(start_ns + request->at_ns);
        uint64_t begin_ns = clock_now_ns() - start_ns;
        if (begin_ns >= times->over_ns)
            break;
        rc = serve_request(feed, ctx);
        request->begin_ns = begin_ns;
        request->done_ns = clock_now_ns() - start_ns;
    }
    uint64_t now_ns = clock_now_ns() - start_ns;
    served->over_ns = now_ns > times->over_ns ? now_ns : times->over_ns;
    return rc;
}

/* This worker's schedule of a point, with a number per request for results. */
struct schedule {
    struct served_request *requests;
    double *numbers; /* [n] */
    struct served served;
};

static int draw_schedule(const struct serve_times *times, const struct arrivals_params *arrivals,
                         struct schedule *schedule, struct err *err)
{
    size_t n = arrivals_draw(arrivals, NULL, REQUESTS_MOST);
    if (n > REQUESTS_MOST)
        return err_set(err, -E2BIG,
                       "more than %d requests of a worker in a point: measure for less time",
                       REQUESTS_MOST);
    uint64_t *at_ns = calloc(n + 1, sizeof(*at_ns));
    schedule->requests = calloc(n + 1, sizeof(*schedule->requests));
    schedule->numbers = calloc(n + 1, sizeof(*schedule->numbers));
    bool has_room = at_ns && schedule->requests && schedule->numbers;
    (void)arrivals_draw(arrivals, at_ns, n);
    for (size_t i = 0; has_room && i < n; i++)
        schedule->requests[i].at_ns = at_ns[i];
    free(at_ns);
    schedule->served = (struct served){
        .requests = schedule->requests,
        .n = n,
        .from_ns = times->from_ns,
        .to_ns = times->span_ns,
    };
    return has_room ? 0 : err_set(err, -ENOMEM, "no memory for %zu requests", n);
}

static void free_schedule(struct schedule *schedule)
{
    free(schedule->numbers);
    free(schedule->requests);
}

/* Percentiles of the numbers of all workers, in worker 0. */
static int gather_percentiles(const struct bench_ctx *ctx, const double *mine, size_t n,
                              struct served_all *all,
                              struct served_value values[static SERVE_STATS])
{
    double *numbers;
    size_t total;
    int rc = gather_numbers(ctx, mine, n, &numbers, &total);
    *all = served_sort(numbers, total);
    for (unsigned i = 0; i < SERVE_STATS; i++)
        values[i] = served_percentile(all, fractions[i]);
    all->ms = NULL;
    free(numbers);
    return rc;
}

static int gather_latencies(const struct bench_ctx *ctx, const struct schedule *schedule,
                            struct serve_point *point)
{
    struct served_all all;
    served_latencies(&schedule->served, schedule->numbers);
    int rc = gather_percentiles(ctx, schedule->numbers, served_counted(&schedule->served).n, &all,
                                point->latency);
    point->n = all.n;
    point->unserved = all.unserved;
    return rc;
}

static int gather_services(const struct bench_ctx *ctx, const struct schedule *schedule,
                           struct serve_point *point)
{
    struct served_all all;
    size_t n = served_services(&schedule->served, schedule->numbers);
    return gather_percentiles(ctx, schedule->numbers, n, &all, point->service);
}

static int gather_rates(const struct serve_times *times, const struct bench_ctx *ctx,
                        const struct schedule *schedule, struct serve_point *point)
{
    double counts_s = 1e-9 * (double)(times->span_ns - times->from_ns);
    point->offered = (double)served_counted(&schedule->served).n / counts_s;
    point->achieved = (double)served_done(&schedule->served) / counts_s;
    int rc = gather_sum(ctx, &point->offered);
    return rc ? rc : gather_sum(ctx, &point->achieved);
}

static int gather_worst(const struct serve_times *times, const struct bench_ctx *ctx,
                        const struct schedule *schedule, struct serve_point *point)
{
    double mine[SERVE_BINS_MOST], *all;
    size_t n;
    for (size_t bin = 0; bin < times->nbins; bin++)
        mine[bin] = point->worst_ms[bin] = (double)NAN;
    served_worst(&schedule->served, times->bin_ns, mine, times->nbins);
    int rc = gather_numbers(ctx, mine, times->nbins, &all, &n);
    for (size_t i = 0, bin = 0; i < n; i++, bin = bin + 1 < times->nbins ? bin + 1 : 0)
        point->worst_ms[bin] = fmax(point->worst_ms[bin], all[i]);
    free(all);
    return rc;
}

static int gather_results(const struct serve_times *times, const struct bench_ctx *ctx,
                          const struct schedule *schedule, struct serve_point *point)
{
    int rc = gather_latencies(ctx, schedule, point);
    if (!rc)
        rc = gather_services(ctx, schedule, point);
    if (!rc)
        rc = gather_rates(times, ctx, schedule, point);
    return rc ? rc : gather_worst(times, ctx, schedule, point);
}

int serve_point_measure(struct serve_point *point, const struct arrivals_params *arrivals,
                        struct feed *feed, const struct bench_ctx *ctx)
{
    const struct serve_times *times = &point->times;
    struct schedule schedule = {0};
    struct slice slice = {0};
    int rc = draw_schedule(times, arrivals, &schedule, ctx->err);
    if (!rc)
        rc = slice_begin(&slice, ctx, 1e-9 * (double)times->span_ns);
    if (!rc)
        rc = serve_all(times, slice.end_ns - times->span_ns, schedule.requests, &schedule.served,
                       feed, ctx);
    if (!rc)
        rc = gather_results(times, ctx, &schedule, point);
    free_schedule(&schedule);
    return rc;
}

static const uint64_t alone_slice_ns = 40000000;

/* Returns the best slice in *rate: it is the least disturbed by other programs. */
static int measure_closed_loop(struct feed *feed, const struct bench_ctx *ctx, double *rate)
{
    int rc = 0;
    for (unsigned slice = 0; slice <= ALONE_SLICES && !rc; slice++) { /* the first is warm-up */
        uint64_t start_ns = clock_now_ns(), end_ns = start_ns;
        unsigned n = 0;
        while (!rc && (n < ALONE_LEAST || end_ns - start_ns < alone_slice_ns)) {
            rc = serve_request(feed, ctx);
            end_ns = clock_now_ns();
            n++;
        }
        if (slice)
            *rate = fmax(*rate, 1e9 * n / (double)(end_ns - start_ns));
    }
    return rc;
}

/*
 * A worker's share of all CPUs. Reads the CPU mask of the parent process, which no placement binds,
 * so the share is the same for every placement.
 */
static unsigned share_of_cpus(const struct bench_ctx *ctx, unsigned behind)
{
    struct bitset all;
    if (affinity_get(getppid(), &all))
        return ctx->threads;
    unsigned share = bitset_count(&all) / (ctx->peers->size + behind);
    share = share < ctx->threads ? share : ctx->threads;
    return share ? share : 1;
}

/* Sends all workers the rate that worker 0 found. */
static int share_rate(const struct bench_ctx *ctx, double mine, double *found)
{
    double *all = calloc(ctx->peers->size, sizeof(*all));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "no memory for %u workers", ctx->peers->size);
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    *found = all[0];
    free(all);
    return rc;
}

int serve_alone(struct feed *feed, const struct bench_ctx *ctx, unsigned behind, double *rate)
{
    struct prep_params *prep = &feed->batches.prep;
    unsigned *least_team = prep->least_team;
    double mine = 0;
    int rc = 0;
    if (ctx->peers->rank == 0) {
        prep->threads = share_of_cpus(ctx, behind);
        prep->least_team = NULL; /* the team is smaller on purpose */
        rc = measure_closed_loop(feed, ctx, &mine);
        prep->threads = ctx->threads;
        prep->least_team = least_team;
    }
    return rc ? rc : share_rate(ctx, mine, rate);
}

struct served_part served_counted(const struct served *served)
{
    struct served_part part = {0};
    while (part.first < served->n && served->requests[part.first].at_ns < served->from_ns)
        part.first++;
    while (part.first + part.n < served->n &&
           served->requests[part.first + part.n].at_ns < served->to_ns)
        part.n++;
    return part;
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
    return 1e-6 * ((double)to_ns - (double)from_ns);
}

static double latency_of(const struct served *served, const struct served_request *request)
{
    if (request->done_ns)
        return ms_between(request->at_ns, request->done_ns);
    return -ms_between(request->at_ns, served->over_ns);
}

void served_latencies(const struct served *served, double *late_ms)
{
    struct served_part part = served_counted(served);
    for (size_t i = 0; i < part.n; i++)
        late_ms[i] = latency_of(served, &served->requests[part.first + i]);
}

size_t served_services(const struct served *served, double *service_ms)
{
    struct served_part part = served_counted(served);
    size_t n = 0;
    for (size_t i = part.first; i < part.first + part.n; i++)
        if (served->requests[i].done_ns)
            service_ms[n++] = ms_between(served->requests[i].begin_ns, served->requests[i].done_ns);
    return n;
}

size_t served_done(const struct served *served)
{
    size_t done = 0;
    for (size_t i = 0; i < served->n; i++)
        done += served->requests[i].done_ns >= served->from_ns &&
                served->requests[i].done_ns < served->to_ns;
    return done;
}

void served_worst(const struct served *served, uint64_t bin_ns, double *worst_ms, size_t n)
{
    struct served_part part = served_counted(served);
    for (size_t i = part.first; i < part.first + part.n; i++) {
        const struct served_request *request = &served->requests[i];
        size_t bin = (size_t)((request->at_ns - served->from_ns) / bin_ns);
        if (bin < n)
            worst_ms[bin] = fmax(worst_ms[bin], fabs(latency_of(served, request)));
    }
}

struct served_all served_sort(double *late_ms, size_t n)
{
    struct served_all all = {.ms = late_ms, .least_bound = INFINITY};
    for (size_t i = 0; i < n; i++)
        if (late_ms[i] < 0) {
            late_ms[i] = -late_ms[i];
            all.unserved++;
            all.least_bound = fmin(all.least_bound, late_ms[i]);
        }
    all.n = stats_sort(late_ms, n);
    return all;
}

/* The percentile lies between two ranks. It is a bound if the upper rank reaches the least bound:
 * the request of that bound may belong after all others. */
struct served_value served_percentile(const struct served_all *all, double fraction)
{
    struct served_value value = {.ms = stats_percentile(all->ms, all->n, fraction)};
    if (all->n)
        value.at_least = all->ms[(size_t)ceil((double)(all->n - 1) * fraction)] >= all->least_bound;
    return value;
}

enum served_known served_know(size_t n, double fraction)
{
    static const double rounding = 1e-9; /* 1000 * (1 - 0.99) is slightly less than 10 */
    double above = fraction < 1 ? (double)n * (1 - fraction) + rounding : (double)n * SERVED_ABOVE;
    return above >= SERVED_ABOVE ? SERVED_KNOWN : above >= 1 ? SERVED_FEW : SERVED_BEYOND;
}

struct served_saturation served_saturate(const double *loads, const double *p99_ms, size_t n,
                                         double limit_ms)
{
    size_t past = 0;
    while (past < n && !(p99_ms[past] > limit_ms))
        past++;
    if (past == 0)
        return (struct served_saturation){.load = loads[0], .low = true};
    if (past == n)
        return (struct served_saturation){.load = loads[n - 1], .high = true};
    double below = log(p99_ms[past - 1]), above = log(p99_ms[past]);
    double share = (log(limit_ms) - below) / (above - below);
    return (struct served_saturation){.load = loads[past - 1] +
                                              share * (loads[past] - loads[past - 1])};
}

/* In (0, 1], so that its logarithm is finite. */
static double draw_unit(uint64_t *state)
{
    return random_share(state) + 0x1p-53;
}

size_t arrivals_draw(const struct arrivals_params *params, uint64_t *at_ns, size_t most)
{
    uint64_t at_once = params->pattern == ARRIVALS_BURSTS ? params->burst : 1;
    uint64_t state = params->seed;
    double gap_ns = 1e9 * (double)at_once / params->rate, now_ns = 0;
    size_t n = 0;
    for (;;) {
        now_ns -= gap_ns * log(draw_unit(&state));
        if (!(now_ns < (double)params->span_ns))
            return n;
        for (uint64_t i = 0; i < at_once; i++, n++) {
            if (n == most)
                return most + 1;
            if (at_ns)
                at_ns[n] = (uint64_t)now_ns;
        }
    }
}
