#include "bench/os/context_switch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/ping_pong.h"
#include "bench/registry.h"
#include "harness/lib/bitset.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"

/*
 * The cost of a context switch. Two threads or two processes (the members) take turns, by a pipe, a
 * futex or sched_yield, on one CPU or on two. Each member goes over a working set in its turn.
 *
 * **Measures** `round_trip` us = time / round trips on CLOCK_MONOTONIC_RAW, with two switches per
 * round trip: the median of batches of 0.1 ms or more, the first quarter not timed. `direct_cost`
 * us per switch = round_trip without a working set / 2 - `calls`; `calls` is the time of one
 * member's system calls when no switch is needed. `cache_cost` us per switch = (round_trip -
 * round_trip without a working set) / 2 - `touch`; `touch` is the time that a member alone takes to
 * go over a set that it has just gone over. Keys: how, between, cpus (`one` for both, or `two`),
 * size (of each member's set, in bytes; one word per cache line is incremented). `yields`: calls of
 * sched_yield per switch; above 1 the scheduler let the caller continue.
 * **Source** `perf bench sched pipe` (its usecs/op is round_trip of pipe; -T: threads) and lat_ctx
 * of lmbench (McVoy and Staelin 1996), which subtracts the calls, too, but not the cache effects.
 * **Limits** With two CPUs each CPU switches only to idle and back: this measures a wake-up from
 * another CPU, idle states included. Threads share page tables and processes do not: the rest of
 * their difference is the cost of the TLB. sched_yield between two CPUs switches nothing and is
 * left out. Pages are base pages.
 */

static const uint64_t slice_least_ns = 1000000;

enum between { THREADS, PROCESSES, BETWEENS };
enum cpus { ONE, TWO, CPUS };
enum { SIZES = WORKING_SETS, POINTS = PING_PONG_METHODS * BETWEENS * CPUS * SIZES };

/* Each list begins with "all". */
static const char *const how_names[] = {"all", "pipe", "futex", "yield", NULL};
static const char *const between_names[] = {"all", "threads", "processes", NULL};
static const char *const cpus_names[] = {"all", "one", "two", NULL};

struct switch_params {
    int how, between, cpus, size;
};

static const struct opt switch_opts[] = {
    OPT_CHOICE("how", switch_params, how, "all", how_names, "HOW", "how the turn is passed"),
    OPT_CHOICE("between", switch_params, between, "all", between_names, "WHOM",
               "two threads, or two processes"),
    OPT_CHOICE("cpus", switch_params, cpus, "all", cpus_names, "CPUS",
               "both on one CPU, or on one each"),
    OPT_CHOICE("size", switch_params, size, "all", working_set_names, "BYTES",
               "what each goes over between two switches"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_BETWEEN, BY_CPUS, BY_SIZE };
static const struct bench_dim switch_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1},
    [BY_BETWEEN] = {"between", .labels = between_names + 1},
    [BY_CPUS] = {"cpus", .labels = cpus_names + 1, .labels_long = LABELS("one CPU", "two CPUs")},
    [BY_SIZE] = {"size", DIM_BYTES},
    {.name = NULL},
};

enum { ROUND_TRIP, DIRECT_COST, CACHE_COST, YIELDS, CALLS, TOUCH };
static const struct bench_metric switch_metrics[] = {
    [ROUND_TRIP] = {"round_trip", "us", "lower", .hidden = true, .gating = true},
    [DIRECT_COST] = {"direct_cost", "us", "lower", .difference = true},
    [CACHE_COST] = {"cache_cost", "us", "lower", .difference = true},
    [YIELDS] = {"yields", "1", "none", .hidden = true},
    [CALLS] = {"calls", "us", "lower", .hidden = true},
    [TOUCH] = {"touch", "us", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure switch_figures[] = {
    {.name = "context_switch",
     .kind = FIGURE_BARS,
     .metric = "direct_cost",
     .title = "time of a switch to another thread or process, without a working set",
     .how = "Half a round trip, less its system calls",
     .x = {"handed over by", BY_HOW},
     .y = {"time of a switch (us)"},
     .series = {BY_BETWEEN, BY_CPUS}},
    {.name = "context_switch_cache",
     .kind = FIGURE_LINES,
     .metric = "cache_cost",
     .only = &DIMS({BY_HOW, PING_PONG_PIPE}),
     .title = "cache cost of a switch by a pipe, by the working set",
     .how = "Beyond the switch itself and going over the set alone",
     .x = {"working set of each thread or process (bytes, log scale)", BY_SIZE, .log = true,
           .bytes = true},
     .y = {"time of a switch (us)"},
     .series = {BY_BETWEEN, BY_CPUS}},
    {.name = NULL},
};

struct switching {
    struct team team; /* one thread, on the first CPU: times a member alone */
    struct ping_pong *ping_pong;
    struct memory_block sets;
    unsigned os_cpus[2];
    unsigned npoints;
    struct point {
        enum ping_pong_method how;
        enum between between;
        enum cpus cpus;
        unsigned size;
    } points[POINTS];
    uint64_t slice_ns;
    double calls_us[PING_PONG_METHODS], touch_us[SIZES];
};

static bool asked(const struct switch_params *params, const struct point *point)
{
    return points_asked(params->how, point->how) && points_asked(params->between, point->between) &&
           points_asked(params->cpus, point->cpus) && points_asked(params->size, point->size) &&
           !(point->how == PING_PONG_YIELD && point->cpus == TWO);
}

static void list_points(struct switching *s, const struct switch_params *params)
{
    for (unsigned i = 0; i < POINTS; i++) {
        const struct point point = {.how = (enum ping_pong_method)(i / SIZES / CPUS / BETWEENS),
                                    .between = (enum between)(i / SIZES / CPUS % BETWEENS),
                                    .cpus = (enum cpus)(i / SIZES % CPUS),
                                    .size = i % SIZES};
        if (asked(params, &point))
            s->points[s->npoints++] = point;
    }
}

/* The first CPU, and the next one in order on another core; on a single core, the second CPU. */
static void choose_cpus(struct switching *s, const struct bench_machine *machine)
{
    unsigned other = machine->ncpus > 1;
    for (unsigned i = machine->ncpus - 1; i > 0; i--)
        if (machine->cpus[i].core != machine->cpus[0].core)
            other = i;
    s->os_cpus[0] = machine->cpus[0].os_cpu;
    s->os_cpus[1] = machine->cpus[other].os_cpu;
}

static int switch_validate(const void *params, struct err *err)
{
    const struct switch_params *asks = params;
    if (asks->how == PING_PONG_YIELD + 1 && asks->cpus == TWO + 1)
        return err_set(err, -EINVAL, "how=yield hands nothing over between two CPUs: cpus=one");
    return 0;
}

static int open_ping_pong(struct switching *s, struct err *err)
{
    uint64_t *first = s->sets.base;
    uint64_t *const sets[2] = {first, first + WORKING_SET_MOST / sizeof(*first)};
    return ping_pong_open(&s->ping_pong, sets, err);
}

static int switch_setup(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    choose_cpus(s, ctx->machine);
    list_points(s, ctx->params);
    /* One more share for the times of a member alone. */
    s->slice_ns = points_share_ns(ctx, s->npoints + 1, slice_least_ns);
    int rc = memory_open(ctx, &s->sets, (size_t)2 * WORKING_SET_MOST, MEMORY_4K);
    if (!rc)
        rc = open_ping_pong(s, ctx->err);
    return rc ? rc : team_open(&s->team, ctx, s->os_cpus, 1);
}

static void switch_teardown(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    ping_pong_close(s->ping_pong);
}

static struct dims place_of(const struct point *point)
{
    return DIMS({BY_HOW, point->how}, {BY_BETWEEN, point->between}, {BY_CPUS, point->cpus});
}

static struct dims sized(const struct point *point, unsigned size)
{
    return dims_with(place_of(point), BY_SIZE, (double)working_set_sizes[size]);
}

static int emit_ping_pong(struct bench_ctx *ctx, const struct point *point)
{
    const struct switching *s = ctx->state;
    const struct ping_pong *ping_pong = s->ping_pong;
    const struct dims at = sized(point, point->size);
    bench_emit(ctx, ROUND_TRIP, ping_pong->round_trip_us, at);
    if (point->how == PING_PONG_YIELD)
        bench_emit(ctx, YIELDS, (double)ping_pong->yields / (double)ping_pong->repeat.items, at);
    return ping_pong->wrong[0] || ping_pong->wrong[1]
               ? err_set(ctx->err, -EBADMSG,
                         "a thread or process went over its working set more or less often than "
                         "it had the turn")
               : 0;
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct switching *s = ctx->state;
    const struct point *point = &s->points[which];
    struct err absent = {0};
    struct ping_pong *ping_pong = s->ping_pong;
    ping_pong_begin(ping_pong, point->how, working_set_sizes[point->size] / sizeof(uint64_t),
                    s->slice_ns);
    const struct cpu_pair cpu_pair = {.processes = point->between == PROCESSES,
                                      .os_cpus = {s->os_cpus[0], s->os_cpus[point->cpus == TWO]},
                                      .run = ping_pong_run,
                                      .arg = ping_pong,
                                      .cpu_samples = ctx->cpu_samples};
    int rc = point->cpus == TWO && s->os_cpus[0] == s->os_cpus[1]
                 ? err_set(&absent, -ENOTSUP, "there is only one CPU to use")
                 : cpu_pair_run(&cpu_pair, &absent);
    for (unsigned who = 0; who < 2 && !rc; who++)
        if (ping_pong->failed[who])
            rc = err_sys(ctx->err, ping_pong->failed[who], "a turn could not be passed");
    if (bench_emit_absent(ctx, ROUND_TRIP, &absent, sized(point, point->size)) || rc)
        return rc == -ENOTSUP ? 0 : rc;
    return emit_ping_pong(ctx, point);
}

static void time_all_alone(void *arg)
{
    struct switching *s = arg;
    struct ping_pong *ping_pong = s->ping_pong;
    for (unsigned how = 0; how < PING_PONG_METHODS; how++)
        s->calls_us[how] = ping_pong_time_calls(ping_pong, (enum ping_pong_method)how);
    for (unsigned size = 1; size < SIZES; size++)
        s->touch_us[size] =
            ping_pong_time_set(ping_pong, working_set_sizes[size] / sizeof(uint64_t));
}

/* Emits a point's cost from its round trip and from the round trip without a working set. */
static void conclude(struct bench_ctx *ctx, size_t which)
{
    const struct switching *s = ctx->state;
    const struct point *point = &s->points[which];
    double half_us = points_value(ctx, ROUND_TRIP, sized(point, point->size)) / 2;
    double bare_us = points_value(ctx, ROUND_TRIP, sized(point, 0)) / 2;
    if (!point->size)
        bench_emit(ctx, DIRECT_COST, half_us - s->calls_us[point->how], place_of(point));
    else
        bench_emit(ctx, CACHE_COST, half_us - bare_us - s->touch_us[point->size],
                   sized(point, point->size));
}

static void emit_alone(struct bench_ctx *ctx)
{
    const struct switching *s = ctx->state;
    for (unsigned how = 0; how < PING_PONG_METHODS; how++)
        bench_emit(ctx, CALLS, s->calls_us[how], DIMS({BY_HOW, how}));
    for (unsigned size = 1; size < SIZES; size++)
        bench_emit(ctx, TOUCH, s->touch_us[size], DIMS({BY_SIZE, (double)working_set_sizes[size]}));
}

static int switch_scan(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    s->ping_pong->repeat.slice_ns = s->slice_ns / (PING_PONG_METHODS + SIZES - 1);
    team_call(&s->team, 0, time_all_alone, s);
    int rc = points_run(ctx, s->npoints, measure_point, conclude);
    if (!rc)
        emit_alone(ctx);
    return rc;
}

const struct bench bench_context_switch = {
    .name = "context_switch",
    .summary = "a switch between threads or processes: the call, the switch and the caches",
    .opts = switch_opts,
    .params_size = sizeof(struct switch_params),
    .metrics = switch_metrics,
    .figures = switch_figures,
    .dims = switch_dims,
    .validate = switch_validate,
    .state_size = sizeof(struct switching),
    .setup = switch_setup,
    .scan = switch_scan,
    .teardown = switch_teardown,
};

enum { READY = 1, REFUSED = 2 };

/* In shared memory. */
struct barrier {
    _Atomic uint32_t state[2]; /* 0 until the member is pinned (READY) or cannot run (REFUSED) */
    int refused[2];            /* -errno */
};

struct member {
    const struct cpu_pair *cpu_pair;
    struct barrier *barrier;
    unsigned index;
};

static void run_member(const struct member *member)
{
    const struct cpu_pair *cpu_pair = member->cpu_pair;
    struct barrier *barrier = member->barrier;
    struct bitset cpu = {0};
    bitset_set(&cpu, cpu_pair->os_cpus[member->index]);
    int rc = barrier->refused[member->index] = affinity_set(0, &cpu);
    futex_set(&barrier->state[member->index], rc ? REFUSED : READY);
    futex_wait_while(&barrier->state[1 - member->index], 0);
    if (!rc && atomic_load(&barrier->state[1 - member->index]) == READY)
        cpu_pair->run(cpu_pair->arg, member->index);
}

static void *thread_main(void *arg)
{
    const struct member *member = arg;
    cpu_samples_mark(member->cpu_pair->cpu_samples);
    run_member(member);
    return NULL;
}

static int process_main(void *arg)
{
    run_member(arg);
    return 0;
}

static int cannot_start(struct err *err, const char *what, int rc)
{
    (void)err_sys(err, rc, "cannot start a %s", what);
    return err->code = -ENOTSUP;
}

static int run_threads(struct member members[2], struct err *err)
{
    pthread_t threads[2];
    int failed = 0;
    unsigned started = 0;
    while (started < 2 && !failed) {
        failed = pthread_create(&threads[started], NULL, thread_main, &members[started]);
        started += !failed;
    }
    if (failed)
        futex_set(&members->barrier->state[started], REFUSED);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    return failed ? cannot_start(err, "thread", -failed) : 0;
}

/* Sleeps until one process has ended. Returns at once if the kernel has no pidfds. */
static void await_either(const struct process processes[2])
{
    struct pollfd ends[2] = {{.fd = processes[0].pidfd, .events = POLLIN},
                             {.fd = processes[1].pidfd, .events = POLLIN}};
    if (processes[0].pid && processes[1].pid && ends[0].fd >= 0 && ends[1].fd >= 0)
        (void)poll(ends, 2, -1);
}

/*
 * Waits for both processes. If a signal ended one process, kills the other, which would wait for it
 * forever, and returns true.
 */
static bool await_both(struct process processes[2])
{
    bool lost = false;
    await_either(processes);
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        if (processes[i].pid && process_ended(&processes[i], &status) && WIFSIGNALED(status)) {
            (void)process_signal(&processes[1 - i], SIGKILL);
            lost = true;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        if (processes[i].pid)
            process_wait(&processes[i], &status);
    }
    return lost;
}

static int run_processes(struct member members[2], struct err *err)
{
    struct process processes[2] = {{0}};
    int rc = process_start(&processes[0], false, process_main, &members[0]);
    if (rc)
        return cannot_start(err, "process", rc);
    rc = process_start(&processes[1], false, process_main, &members[1]);
    if (rc)
        futex_set(&members->barrier->state[1], REFUSED);
    bool lost = await_both(processes);
    if (rc)
        return cannot_start(err, "process", rc);
    return lost ? err_set(err, -EIO, "one of two processes was ended by a signal") : 0;
}

int cpu_pair_run(const struct cpu_pair *cpu_pair, struct err *err)
{
    struct barrier *barrier =
        mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (barrier == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two threads or processes share");
    struct member members[2] = {{cpu_pair, barrier, 0}, {cpu_pair, barrier, 1}};
    int rc = cpu_pair->processes ? run_processes(members, err) : run_threads(members, err);
    for (unsigned index = 0; index < 2 && !rc; index++)
        if (barrier->refused[index]) {
            rc = -ENOTSUP;
            (void)err_sys(err, barrier->refused[index], "cannot run on CPU %u",
                          cpu_pair->os_cpus[index]);
            err->code = rc;
        }
    (void)munmap(barrier, sizeof(*barrier));
    return rc;
}
