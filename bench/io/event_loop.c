/*
 * A server that echoes messages of many connections from one thread, by epoll and by io_uring: what
 * requests cost before anybody works on them.
 *
 * The server has a CPU, a client another one (of one CPU both are there). Each connection has one
 * message on its way: the client sends the next when it has seen the echo. The client is the same
 * for both servers, and waits by epoll.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `echoes` = 1e3 messages there and back a second, over all
 * connections; `echo_latency` us from sending to having received, of one in eight;
 * `echo_cpu` us = CPU time of the server's thread a message. Keys: how=epoll|uring,
 * via=unix|tcp (socketpair, loopback), connections; stat=p50|p99.
 * **Source** epoll: level-triggered, a receive and a send for each that is ready, as libevent does.
 * io_uring: Axboe, "Efficient IO with io_uring", 2019: receives and sends of all that came in one
 * call of the kernel, which also waits.
 * **Limits** The client takes CPU time, too: where it is the slower one, its rate is what is seen,
 * and `echo_cpu` tells the servers apart. No accept, no multishot receives, no TLS; messages are
 * never split. Loopback has no network card: no interrupts, no copies by DMA.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/io/echo.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"

enum { POINTS_MOST = 32, STEP = 8, SERVER = 0, CLIENT = 1, PLAYERS = 2 };

static const double slice_least_s = 0.01;

/* "all" is the first of each. */
static const char *const how_names[] = {"all", "epoll", "uring", NULL};
static const char *const via_names[] = {"all", "unix", "tcp", NULL};

struct event_loop_params {
    int64_t connections;
    uint64_t message;
    int how, via;
};

static const struct opt event_loop_opts[] = {
    OPT_INT("connections", event_loop_params, connections, "512", 1, 16384, "N",
            "at most; also 1, 8, 64 ... below"),
    OPT_SIZE("message", event_loop_params, message, "64", 8, ECHO_MESSAGE_MOST, "BYTES",
             "of a message"),
    OPT_CHOICE("how", event_loop_params, how, "all", how_names, "HOW", "only this server"),
    OPT_CHOICE("via", event_loop_params, via, "all", via_names, "VIA",
               "only socketpairs, or only loopback connections"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_VIA, BY_CONNECTIONS, BY_STAT };
static const struct bench_dim event_loop_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1},
    [BY_VIA] = {"via", .labels = via_names + 1},
    [BY_CONNECTIONS] = {"connections"},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99")},
    {.name = NULL},
};

enum { ECHOES, LATENCY, CPU };
static const struct bench_metric event_loop_metrics[] = {
    [ECHOES] = {"echoes", "kops/s", "higher", .gating = true},
    [LATENCY] = {"echo_latency", "us", "lower"},
    [CPU] = {"echo_cpu", "us", "lower"},
    {.name = NULL},
};

static const struct bench_figure event_loop_figures[] = {
    {.name = "echoes",
     .kind = FIGURE_LINES,
     .metric = "echoes",
     .title = "messages echoed by one thread, by number of connections",
     .how = "One message in flight on each",
     .x = {"connections (log scale)", BY_CONNECTIONS, .log = true},
     .y = {"messages (thousand/s)"},
     .series = {BY_HOW, BY_VIA}},
    {.name = "echo_cpu",
     .kind = FIGURE_LINES,
     .metric = "echo_cpu",
     .title = "CPU time of the server for a message, by number of connections",
     .how = "One message in flight on each",
     .x = {"connections (log scale)", BY_CONNECTIONS, .log = true},
     .y = {"CPU time of a message (us)"},
     .series = {BY_HOW, BY_VIA}},
    {.name = NULL},
};

struct point {
    enum echo_how how;
    enum echo_via via;
    unsigned connections;
};

struct event_loop {
    struct team team; /* the server's thread, and the client's */
    size_t npoints;
    struct point points[POINTS_MOST];
    double slice_s;
    size_t message_bytes;
    struct echo echo; /* of the point that runs */
};

static void list_points(struct event_loop *s, const struct event_loop_params *params)
{
    unsigned most = (unsigned)params->connections;
    for (unsigned via = 0; via < 2; via++)
        for (unsigned how = 0; how < 2; how++) {
            bool asked = points_asked(params->how, how) && points_asked(params->via, via);
            for (unsigned n = 1; asked; n = n * STEP < most ? n * STEP : most) {
                s->points[s->npoints++] = (struct point){.how = how, .via = via, .connections = n};
                if (n >= most)
                    break;
            }
        }
}

static int event_loop_setup(struct bench_ctx *ctx)
{
    const struct event_loop_params *params = ctx->params;
    const struct bench_machine *machine = ctx->machine;
    struct event_loop *s = ctx->state;
    list_points(s, params);
    s->slice_s = fmax(ctx->budget_s / (double)s->npoints, slice_least_s);
    s->message_bytes = params->message;
    const unsigned os_cpus[PLAYERS] = {machine->cpus[0].os_cpu,
                                       machine->cpus[machine->ncpus - 1].os_cpu};
    return team_open(&s->team, ctx, os_cpus, PLAYERS);
}

static void play(void *arg, unsigned rank, unsigned n)
{
    struct event_loop *s = arg;
    (void)n;
    if (rank == SERVER)
        echo_serve(&s->echo);
    else
        echo_ask(&s->echo, (uint64_t)(s->slice_s * 1e9));
}

static int run_echo(struct event_loop *s, const struct point *point, struct err *err)
{
    struct echo *echo = &s->echo;
    int rc = echo_open(echo, point->how, point->via, point->connections, s->message_bytes, err);
    if (rc)
        return rc;
    (void)team_run(&s->team, NULL, PLAYERS, play, s);
    return echo_failed(echo, err);
}

static void emit_echo(struct bench_ctx *ctx, struct echo *echo, struct dims at)
{
    double *late_us = echo->late_us.value;
    size_t n = stats_sort(late_us, echo->late_us.n);
    bench_emit(ctx, ECHOES, (double)echo->echoes * 1e6 / (double)echo->elapsed_ns, at);
    bench_emit(ctx, CPU, (double)echo->server_cpu_ns / 1e3 / (double)echo->served, at);
    bench_emit(ctx, LATENCY, stats_median(late_us, n), dims_with(at, BY_STAT, 0));
    bench_emit(ctx, LATENCY, stats_percentile(late_us, n, 0.99), dims_with(at, BY_STAT, 1));
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct event_loop *s = ctx->state;
    const struct point *point = &s->points[which];
    const struct dims at =
        DIMS({BY_HOW, point->how}, {BY_VIA, point->via}, {BY_CONNECTIONS, point->connections});
    struct err err = {.code = 0};
    int rc = err.code = run_echo(s, point, &err);
    if (!bench_emit_absent(ctx, ECHOES, &err, at))
        emit_echo(ctx, &s->echo, at);
    echo_close(&s->echo);
    return rc == -EBADMSG ? err_set(ctx->err, rc, "%s", err.msg) : 0;
}

static int event_loop_scan(struct bench_ctx *ctx)
{
    const struct event_loop *s = ctx->state;
    return points_run(ctx, s->npoints, measure_point, NULL);
}

const struct bench bench_event_loop = {
    .name = "event_loop",
    .summary = "messages echoed by one thread over sockets: epoll against io_uring",
    .opts = event_loop_opts,
    .params_size = sizeof(struct event_loop_params),
    .metrics = event_loop_metrics,
    .dims = event_loop_dims,
    .figures = event_loop_figures,
    .state_size = sizeof(struct event_loop),
    .setup = event_loop_setup,
    .scan = event_loop_scan,
};
