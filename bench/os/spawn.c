/*
 * The cost to start a process or a thread and wait for its end, by the size of the parent's memory.
 * The cost of writes after a fork is page_fault's (how=cow).
 *
 * - fork: the child exits at once
 * - exec, vfork, spawn: the child runs `true` of PATH, which exits at once, by fork and execve, by
 *   vfork and execve, and by posix_spawn
 * - thread: pthread_create and pthread_join
 *
 * **Measures** `spawn_time` us = median time from the call to the return of the wait,
 * CLOCK_MONOTONIC_RAW. `spawn_faults` = page faults per start, by=parent (of the calling thread) or
 * by=child (its whole life, including those of the program). Keys: how; mib, memory that the parent
 * has touched beyond that of any worker; pages. Parent and child run on one CPU.
 * **Source** lat_proc of lmbench (fork, exec; McVoy and Staelin 1996); Baumann, Appavoo, Krieger
 * and Roscoe, A fork() in the road, 2019, for what fork costs a large parent.
 * **Limits** exec, vfork and spawn include the loading of `true`, some hundred us, the same for all
 * three. The memory is anonymous and private. A parent with a CUDA context has further mappings,
 * which this benchmark does not have.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/spawn_ways.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/process.h"

enum { SIZES = 3, PARENTS = 1 + 2 * (SIZES - 1) };
enum { STARTS_LEAST = 3, STARTS_MOST = 4096, MIB = 1 << 20 };
enum who { PARENT, CHILD, WHO };

static const uint64_t slice_least_ns = 1000000;
static const size_t sizes[SIZES] = {0, (size_t)64 << 20, (size_t)256 << 20};
static const char *const how_names[] = {"all", "fork", "exec", "vfork", "spawn", "thread", NULL};
static const char *const size_names[] = {"all", "0", "64M", "256M", NULL};
static const char *const page_names[] = {"all", "4k", "thp", NULL};

struct spawn_params {
    int how, size, pages;
};

static const struct opt spawn_opts[] = {
    OPT_CHOICE("how", spawn_params, how, "all", how_names, "HOW", "only this way"),
    OPT_CHOICE("size", spawn_params, size, "all", size_names, "BYTES",
               "that the parent has touched"),
    OPT_CHOICE("pages", spawn_params, pages, "all", page_names, "PAGES",
               "base pages, or transparent huge ones"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_WHO, BY_MIB, BY_PAGES };
static const struct bench_dim spawn_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1},
    [BY_WHO] = {"by", .labels = LABELS("parent", "child")},
    [BY_MIB] = {"mib", .unit = "MiB", .special = {0, "small parent"}},
    [BY_PAGES] = {"pages", .labels = page_names + 1,
                  .labels_long = LABELS("base pages", "huge pages")},
    {.name = NULL},
};

enum { TIME, FAULTS };
static const struct bench_metric spawn_metrics[] = {
    [TIME] = {"spawn_time", "us", "lower", .gating = true},
    [FAULTS] = {"spawn_faults", "1", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure spawn_figures[] = {
    {.name = "spawn",
     .kind = FIGURE_BARS,
     .metric = "spawn_time",
     .title = "time to start a process or a thread and see its end",
     .how = "By the memory that the parent has touched",
     .x = {"started by", BY_HOW},
     .y = {"time (us)"},
     .series = {BY_MIB, BY_PAGES}},
    {.name = NULL},
};

/* Results of one parent. `place` numbers parents: 0 has no memory, then sizes by kind of page. */
struct parent {
    struct err refused[SPAWN_WAYS];
    double us[SPAWN_WAYS], faults[SPAWN_WAYS][WHO];
};

struct spawn {
    struct team team;
    char program[PATH_MAX];
    struct err no_program;
    unsigned nparents, place[PARENTS]; /* parents that are asked for */
    bool asked[SPAWN_WAYS];
    uint64_t slice_ns, seed;
    /* The current parent. */
    struct parent parent;
    struct memory_block block;
    double us[STARTS_MOST];
};

static size_t size_of(unsigned place)
{
    return sizes[(place + 1) / 2];
}

static enum memory_pages pages_of(unsigned place)
{
    return place && place % 2 == 0 ? MEMORY_THP : MEMORY_4K;
}

static bool asked(const struct spawn_params *params, unsigned place)
{
    return points_asked(params->size, (place + 1) / 2) &&
           (!place || points_asked(params->pages, pages_of(place) == MEMORY_THP));
}

static int spawn_setup(struct bench_ctx *ctx)
{
    const struct spawn_params *params = ctx->params;
    struct spawn *s = ctx->state;
    unsigned nhows = 0;
    for (unsigned how = 0; how < SPAWN_WAYS; how++) {
        s->asked[how] = points_asked(params->how, how);
        nhows += s->asked[how];
    }
    for (unsigned place = 0; place < PARENTS; place++)
        if (asked(params, place))
            s->place[s->nparents++] = place;
    /* One more share for each parent: its memory is made. */
    s->slice_ns = points_share_ns(ctx, (size_t)s->nparents * (nhows + 1), slice_least_ns);
    s->seed = ctx->round_seed;
    if (file_find_program("true", true, s->program, sizeof(s->program)))
        (void)err_set(&s->no_program, -ENOTSUP, "PATH has no program 'true' to start");
    return team_open(&s->team, ctx, &ctx->machine->cpus[0].os_cpu, 1);
}

static void spawn_teardown(struct bench_ctx *ctx)
{
    struct spawn *s = ctx->state;
    memory_unmap(&s->block);
}

static double faults_of(int whose)
{
    struct rusage usage;
    return getrusage(whose, &usage) ? NAN : (double)usage.ru_minflt;
}

static int start_again_and_again(struct spawn *s, enum spawn_way way)
{
    static const int whose[WHO] = {RUSAGE_THREAD, RUSAGE_CHILDREN};
    struct parent *parent = &s->parent;
    double before[WHO];
    int rc = spawn_once(way, s->program); /* warm-up: the first start loads the program */
    unsigned n = 0;
    for (enum who who = PARENT; who < WHO; who++)
        before[who] = faults_of(whose[who]);
    for (uint64_t end_ns = clock_now_ns() + s->slice_ns, now_ns = 0;
         !rc && n < STARTS_MOST && (now_ns < end_ns || n < STARTS_LEAST); n++) {
        uint64_t start_ns = clock_now_ns();
        rc = spawn_once(way, s->program);
        now_ns = clock_now_ns();
        s->us[n] = (double)(now_ns - start_ns) / 1e3;
    }
    for (enum who who = PARENT; who < WHO; who++)
        parent->faults[way][who] = (faults_of(whose[who]) - before[who]) / n;
    parent->us[way] = stats_sort_median(s->us, n);
    return rc;
}

static void run_way(struct spawn *s, enum spawn_way way)
{
    struct err *refused = &s->parent.refused[way];
    if (!s->asked[way])
        return;
    if (spawn_runs_program(way) && s->no_program.code) {
        *refused = s->no_program;
        return;
    }
    int rc = start_again_and_again(s, way);
    if (rc) {
        (void)err_sys(refused, rc, "cannot start a child by %s", how_names[way + 1]);
        refused->code = -ENOTSUP;
    }
}

static void run_parent(void *arg)
{
    struct spawn *s = arg;
    size_t order[SPAWN_WAYS];
    random_shuffle(s->seed, SPAWN_WAYS, order);
    for (unsigned i = 0; i < SPAWN_WAYS; i++)
        run_way(s, (enum spawn_way)order[i]);
}

static int check_parent(unsigned place, struct err *err)
{
    char what[64];
    if (!size_of(place))
        return 0;
    (void)snprintf(what, sizeof(what), "a parent of %zu MiB", size_of(place) / MIB);
    int rc = memory_check_fits(size_of(place), what, err);
    return rc ? rc : memory_check_pages(pages_of(place), err);
}

/* Appends a parent's size and pages to `more`. */
static struct dims at_parent(struct dims more, unsigned place)
{
    const size_t mib = size_of(place) / MIB;
    more = dims_with(more, BY_MIB, (double)mib);
    return dims_with(more, BY_PAGES, pages_of(place));
}

static void emit_way(struct bench_ctx *ctx, const struct parent *parent, unsigned way,
                     unsigned place)
{
    const struct dims at = at_parent(DIMS({BY_HOW, way}), place);
    if (bench_emit_absent(ctx, TIME, &parent->refused[way], at))
        return;
    bench_emit(ctx, TIME, parent->us[way], at);
    for (enum who who = PARENT; who < WHO; who++)
        if (who == PARENT || way != SPAWN_THREAD)
            bench_emit(ctx, FAULTS, parent->faults[way][who],
                       at_parent(DIMS({BY_HOW, way}, {BY_WHO, who}), place));
}

static int measure_parent(struct bench_ctx *ctx, size_t which)
{
    struct spawn *s = ctx->state;
    unsigned place = s->place[which];
    struct err absent = {0};
    if (check_parent(place, &absent)) {
        (void)bench_emit_absent(ctx, TIME, &absent, at_parent(NO_DIMS, place));
        return 0;
    }
    s->parent = (struct parent){0};
    if (size_of(place)) {
        int rc = memory_map(&s->block, size_of(place), pages_of(place), ctx->err);
        if (rc)
            return rc;
        memset(s->block.base, 1, s->block.bytes);
    }
    team_call(&s->team, 0, run_parent, s);
    memory_unmap(&s->block);
    for (unsigned way = 0; way < SPAWN_WAYS; way++)
        if (s->asked[way])
            emit_way(ctx, &s->parent, way, place);
    return 0;
}

static int spawn_scan(struct bench_ctx *ctx)
{
    const struct spawn *s = ctx->state;
    return points_run(ctx, s->nparents, measure_parent, NULL);
}

const struct bench bench_spawn = {
    .name = "spawn",
    .summary = "starting processes and threads, by the parent's memory",
    .opts = spawn_opts,
    .params_size = sizeof(struct spawn_params),
    .metrics = spawn_metrics,
    .figures = spawn_figures,
    .dims = spawn_dims,
    .state_size = sizeof(struct spawn),
    .setup = spawn_setup,
    .scan = spawn_scan,
    .teardown = spawn_teardown,
};
