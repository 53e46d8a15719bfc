/*
 * The cost to start a process or a thread and wait for its end, by the size of the parent's memory,
 * and the cost of the first writes after a fork (copy on write).
 *
 * - fork: the child exits at once
 * - exec, vfork, spawn: the child runs `true` of PATH, which exits at once, by fork and execve, by
 *   vfork and execve, and by posix_spawn
 * - thread: pthread_create and pthread_join
 * - cow: while parent and child both live, one of the two writes a word into each 4 KiB of the
 *   parent's memory for the first time
 *
 * **Measures** `spawn_time` us = median time from the call to the return of the wait,
 * CLOCK_MONOTONIC_RAW. `spawn_faults` = page faults per start, by=parent (of the calling thread) or
 * by=child (its whole life, including those of the program). `cow_time` us = (time of the first
 * writes - time of a second pass without faults) / pages of 4 KiB; `cow_faults` = faults / MiB
 * written. Keys: how, or by (the process that writes); mib, memory that the parent has touched
 * beyond that of any worker; pages. Parent and child run on one CPU.
 * **Source** lat_proc of lmbench (fork, exec; McVoy and Staelin 1996); Baumann, Appavoo, Krieger
 * and Roscoe, A fork() in the road, 2019, for what fork costs a large parent.
 * **Limits** exec, vfork and spawn include the loading of `true`, some hundred us, the same for all
 * three. The memory is anonymous and private. A parent with a CUDA context has further mappings,
 * which this benchmark does not have.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
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

enum { SIZES = 3, PARENTS = 1 + 2 * (SIZES - 1), HOWS = SPAWN_WAYS + 1, COW = SPAWN_WAYS };
enum { STARTS_LEAST = 3, STARTS_MOST = 4096, COWS_MOST = 64, STEP = 4096, MIB = 1 << 20 };
enum who { PARENT, CHILD, WHO };

static const uint64_t slice_least_ns = 1000000;
static const size_t sizes[SIZES] = {0, (size_t)64 << 20, (size_t)256 << 20};
static const char *const how_names[] = {"all",   "fork",   "exec", "vfork",
                                        "spawn", "thread", "cow",  NULL};
static const char *const size_names[] = {"all", "0", "64M", "256M", NULL};
static const char *const page_names[] = {"all", "4k", "thp", NULL};

struct spawn_params {
    int how, size, pages;
};

static const struct opt spawn_opts[] = {
    OPT_CHOICE("how", spawn_params, how, "all", how_names, "HOW",
               "only this way, or only writes after a fork (cow)"),
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

enum { TIME, FAULTS, COW_TIME, COW_FAULTS };
static const struct bench_metric spawn_metrics[] = {
    [TIME] = {"spawn_time", "us", "lower", .gating = true},
    [FAULTS] = {"spawn_faults", "1", "lower"},
    [COW_TIME] = {"cow_time", "us", "lower", .difference = true},
    [COW_FAULTS] = {"cow_faults", "1", "none"},
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
    struct err refused[HOWS];
    double us[SPAWN_WAYS], faults[SPAWN_WAYS][WHO];
    double cow_us[WHO], cow_faults[WHO]; /* NaN without memory to write to */
};

/* In memory that parent and child share. */
struct common {
    _Atomic uint32_t released; /* the child may exit */
    double cow_us, faults;
    bool wrong; /* the child does not see what its parent wrote before the fork */
};

struct spawn {
    struct team team;
    struct common *common;
    char program[PATH_MAX];
    struct err no_program;
    unsigned nparents, place[PARENTS]; /* parents that are asked for */
    bool asked[HOWS];
    uint64_t slice_ns, seed;
    /* The current parent. */
    struct parent parent;
    bool wrong;
    struct memory_block block;
    uint64_t tag; /* what the memory holds */
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

static int spawn_validate(const void *params, struct err *err)
{
    const struct spawn_params *asks = params;
    if (asks->how == COW + 1 && asks->size == 1)
        return err_set(err, -EINVAL, "how=cow has nothing to write to with size=0: 64M or 256M");
    return 0;
}

static int spawn_setup(struct bench_ctx *ctx)
{
    const struct spawn_params *params = ctx->params;
    struct spawn *s = ctx->state;
    void *common =
        mmap(NULL, sizeof(*s->common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED)
        return err_set(ctx->err, -ENOMEM, "cannot map what a parent and its child share");
    s->common = common;
    unsigned nhows = 0;
    for (unsigned how = 0; how < HOWS; how++) {
        s->asked[how] = points_asked(params->how, how);
        nhows += !s->asked[how] ? 0 : how == COW ? WHO : 1;
    }
    for (unsigned place = 0; place < PARENTS; place++)
        if (asked(params, place))
            s->place[s->nparents++] = place;
    s->slice_ns = points_share_ns(ctx, (size_t)s->nparents * nhows, slice_least_ns);
    s->seed = ctx->round_seed;
    if (file_find_program("true", true, s->program, sizeof(s->program)))
        (void)err_set(&s->no_program, -ENOTSUP, "PATH has no program 'true' to start");
    return team_open(&s->team, ctx, &ctx->machine->cpus[0].os_cpu, 1);
}

static void spawn_teardown(struct bench_ctx *ctx)
{
    struct spawn *s = ctx->state;
    memory_unmap(&s->block);
    if (s->common)
        (void)munmap(s->common, sizeof(*s->common));
}

static double faults_of(int whose)
{
    struct rusage usage;
    return getrusage(whose, &usage) ? NAN : (double)usage.ru_minflt;
}

/* ---- starts ---- */

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

/* ---- writes after a fork ---- */

static void write_all(const struct memory_block *block, uint64_t tag)
{
    for (size_t at = 0; at < block->bytes; at += STEP)
        *(volatile uint64_t *)((char *)block->base + at) = tag + at;
}

static bool all_hold(const struct memory_block *block, uint64_t tag)
{
    bool right = true;
    for (size_t at = 0; at < block->bytes; at += STEP)
        right &= *(volatile uint64_t *)((char *)block->base + at) == tag + at;
    return right;
}

/*
 * Times the first writes to the block less a second pass, and counts the faults of `whose` (for
 * getrusage). Runs in the parent or in the child.
 */
static void time_writes(struct spawn *s, uint64_t tag, int whose)
{
    const struct memory_block *block = &s->block;
    double before = faults_of(whose);
    uint64_t start_ns = clock_now_ns();
    write_all(block, tag);
    uint64_t first_ns = clock_now_ns();
    double after = faults_of(whose);
    uint64_t again_ns = clock_now_ns();
    write_all(block, tag);
    uint64_t end_ns = clock_now_ns();
    double extra_ns = (double)(first_ns - start_ns) - (double)(end_ns - again_ns);
    s->common->cow_us = extra_ns / 1e3 / ((double)block->bytes / STEP);
    s->common->faults = (after - before) / ((double)block->bytes / MIB);
}

static int write_as_child(void *arg)
{
    struct spawn *s = arg;
    s->common->wrong = !all_hold(&s->block, s->tag);
    time_writes(s, ~s->tag, RUSAGE_SELF);
    return 0;
}

static int wait_as_child(void *arg)
{
    struct spawn *s = arg;
    futex_wait_while(&s->common->released, 0);
    s->common->wrong = !all_hold(&s->block, s->tag);
    return 0;
}

/* Sets `wrong` if parent or child sees what the other wrote after the fork. */
static int cow_once(struct spawn *s, enum who who)
{
    struct process child;
    int status = 0;
    *s->common = (struct common){.released = 0};
    int rc = process_start(&child, false, who == CHILD ? write_as_child : wait_as_child, s);
    if (rc)
        return rc;
    if (who == PARENT)
        time_writes(s, ~s->tag, RUSAGE_THREAD);
    futex_set(&s->common->released, 1);
    process_wait(&child, &status);
    if (status)
        return -ECHILD;
    if (who == PARENT)
        s->tag = ~s->tag;
    s->wrong |= s->common->wrong || !all_hold(&s->block, s->tag);
    return 0;
}

/* A parent that writes after a fork loses its huge pages: maps its memory anew for each fork. */
static int renew_memory(struct spawn *s, size_t bytes, enum memory_pages pages, struct err *err)
{
    memory_unmap(&s->block);
    int rc = memory_map(&s->block, bytes, pages, err);
    if (!rc)
        write_all(&s->block, s->tag);
    return rc;
}

static int write_again_and_again(struct spawn *s, enum who who)
{
    struct parent *parent = &s->parent;
    double faults[COWS_MOST];
    unsigned n = 0;
    int rc = 0;
    for (uint64_t spent_ns = 0; !rc && n < COWS_MOST && (spent_ns < s->slice_ns || !n); n++) {
        uint64_t start_ns = clock_now_ns();
        if (who == PARENT && s->block.pages == MEMORY_THP)
            rc = renew_memory(s, s->block.bytes, s->block.pages, NULL);
        if (!rc)
            rc = cow_once(s, who);
        s->us[n] = s->common->cow_us;
        faults[n] = s->common->faults;
        spent_ns += clock_now_ns() - start_ns;
    }
    parent->cow_us[who] = stats_sort_median(s->us, n);
    parent->cow_faults[who] = stats_sort_median(faults, n);
    return rc;
}

static int run_how(struct spawn *s, unsigned how)
{
    if (how < SPAWN_WAYS)
        return start_again_and_again(s, (enum spawn_way)how);
    if (!s->block.base)
        return 0;
    int rc = write_again_and_again(s, CHILD);
    return rc ? rc : write_again_and_again(s, PARENT);
}

/* ---- parents ---- */

static void run_asked(struct spawn *s, unsigned how)
{
    struct err *refused = &s->parent.refused[how];
    if (!s->asked[how])
        return;
    if (how < SPAWN_WAYS && spawn_runs_program((enum spawn_way)how) && s->no_program.code) {
        *refused = s->no_program;
        return;
    }
    int rc = run_how(s, how);
    if (rc) {
        (void)err_sys(refused, rc, "cannot start a child by %s", how_names[how + 1]);
        refused->code = -ENOTSUP;
    }
}

/* Copy on write comes last: it leaves the parent without its huge pages. */
static void run_parent(void *arg)
{
    struct spawn *s = arg;
    size_t order[SPAWN_WAYS];
    random_shuffle(s->seed, SPAWN_WAYS, order);
    for (unsigned i = 0; i < SPAWN_WAYS; i++)
        run_asked(s, (unsigned)order[i]);
    run_asked(s, COW);
}

static int check_parent(unsigned place, struct err *err)
{
    char what[64];
    if (!size_of(place))
        return 0;
    (void)snprintf(what, sizeof(what), "a parent of %zu MiB and its child", size_of(place) / MIB);
    int rc = memory_check_fits(2 * (uint64_t)size_of(place), what, err);
    return rc ? rc : memory_check_pages(pages_of(place), err);
}

/* ---- rows ---- */

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

static void emit_cow(struct bench_ctx *ctx, const struct parent *parent, unsigned place)
{
    if (bench_emit_absent(ctx, COW_TIME, &parent->refused[COW], at_parent(NO_DIMS, place)))
        return;
    for (enum who who = PARENT; who < WHO; who++) {
        const struct dims at = at_parent(DIMS({BY_WHO, who}), place);
        bench_emit(ctx, COW_TIME, parent->cow_us[who], at);
        bench_emit(ctx, COW_FAULTS, parent->cow_faults[who], at);
    }
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
    s->parent = (struct parent){.cow_us = {NAN, NAN}, .cow_faults = {NAN, NAN}};
    int rc = size_of(place) ? renew_memory(s, size_of(place), pages_of(place), ctx->err) : 0;
    if (!rc)
        team_call(&s->team, 0, run_parent, s);
    memory_unmap(&s->block);
    if (rc)
        return rc;
    for (unsigned way = 0; way < SPAWN_WAYS; way++)
        if (s->asked[way])
            emit_way(ctx, &s->parent, way, place);
    if (s->asked[COW])
        emit_cow(ctx, &s->parent, place);
    return s->wrong ? err_set(ctx->err, -EBADMSG,
                              "a parent or a child saw what the other had written after the fork")
                    : 0;
}

static int spawn_scan(struct bench_ctx *ctx)
{
    const struct spawn *s = ctx->state;
    return points_run(ctx, s->nparents, measure_parent, NULL);
}

const struct bench bench_spawn = {
    .name = "spawn",
    .summary = "starting processes and threads by the parent's memory, and writes after a fork",
    .opts = spawn_opts,
    .params_size = sizeof(struct spawn_params),
    .metrics = spawn_metrics,
    .figures = spawn_figures,
    .dims = spawn_dims,
    .validate = spawn_validate,
    .state_size = sizeof(struct spawn),
    .setup = spawn_setup,
    .scan = spawn_scan,
    .teardown = spawn_teardown,
};
