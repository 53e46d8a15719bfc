/*
 * What first use of memory costs, by threads of one process and by processes: new memory on base
 * or huge pages, memory written after a fork, and a cached file by mmap or read. Decides whether
 * loaders fork, whether they are threads, and whether a program asks for huge pages (madvise).
 *
 *   touch    new memory on base pages       private  a private mapping of a file, written
 *   huge     new memory on huge pages       shared   a shared mapping of a file, written
 *   cow      written while a child of fork  map      a shared mapping of a file, read
 *            shares it                      read     no mapping: the file is read to a buffer
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `page_rate` = 1e-6 base pages / s, the sum over `n` members,
 * each on a CPU of its own; `page_time` = ns a member takes for a page, n / page_rate;
 * `page_faults` = faults a page (getrusage). A member maps `size` bytes, uses a word of each page
 * and unmaps them, again and again. With cow, fill and fork are not timed.
 * **Source** page_fault1, 2 and 3 of will-it-scale are touch, private and shared; spawn times the
 * fork itself. Threads share a lock of their memory map (Corbet, The ongoing search for mmap_lock
 * scalability, lwn.net, 2022).
 * **Limits** The file is a memfd, all of it in the page cache: no file system, no disk. Processes
 * do not pass in step: with cow, one may write while another forks. Only a word of each page is
 * used: read copies all, and mmap leaves most for later.
 */
#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"

enum how { TOUCH, HUGE_PAGES, COW, PRIVATE, SHARED, MAP, READ, HOWS };
enum { THREADS, PROCESSES, BETWEENS, COUNTS = 16, HUGE_BYTES = 1 << 21, BLOCK = 1 << 17 };

static const uint64_t slice_least_ns = 2000000, tag = UINT64_C(0x9e3779b97f4a7c15);
static const char *const how_names[] = {"all",    "touch", "huge", "cow", "private",
                                        "shared", "map",   "read", NULL};
static const char *const between_names[] = {"all", "threads", "processes", NULL};

struct page_fault_params {
    uint64_t size;
    int how, between;
};

static const struct opt page_fault_opts[] = {
    OPT_SIZE("size", page_fault_params, size, "8M", HUGE_BYTES, 1ull << 36, "BYTES",
             "of each member"),
    OPT_CHOICE("how", page_fault_params, how, "all", how_names, "HOW", "only this use"),
    OPT_CHOICE("between", page_fault_params, between, "all", between_names, "WHOM",
               "only threads of one process, or only processes"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_BETWEEN, BY_N };
static const struct bench_dim page_fault_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1},
    [BY_BETWEEN] = {"between", .labels = between_names + 1},
    [BY_N] = {"n"},
    {.name = NULL},
};

enum { RATE, TIME, FAULTS };
static const struct bench_metric page_fault_metrics[] = {
    [RATE] = {"page_rate", "Mops/s", "higher", .hidden = true, .gating = true},
    [TIME] = {"page_time", "ns", "lower"},
    [FAULTS] = {"page_faults", "1", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure page_fault_figures[] = {
    {.name = "page_fault",
     .kind = FIGURE_LINES,
     .metric = "page_rate",
     .title = "first use of memory, by threads and by processes",
     .how = "All members together; a word of each base page is used",
     .x = {"members, each on a CPU of its own (log scale)", BY_N, .log = true},
     .y = {"pages (million/s, log scale)", .log = true},
     .series = {BY_HOW}},
    {.name = NULL},
};

/* In memory that all processes share. */
struct member {
    _Alignas(128) struct page_fault *of;
    unsigned rank;
    uint64_t ns, pages, faults;
    _Atomic uint32_t released; /* the child that shares the memory may exit */
    int rc;
};

struct page_fault {
    struct team team;
    struct member *members; /* of all CPUs */
    size_t bytes, page;
    int fd; /* the cached file: bytes of each member */
    unsigned npoints;
    struct point {
        enum how how;
        unsigned between, n;
    } points[HOWS * BETWEENS * COUNTS], now;
    uint64_t slice_ns, end_ns;
    bool alone;                /* in a process of its own, without the team */
    struct memory_block block; /* cow: `bytes` of each thread of this process */
    uint64_t value;            /* that it holds */
};

static void write_all(const struct page_fault *s, char *base, size_t bytes, uint64_t value)
{
    for (size_t at = 0; at < bytes; at += s->page)
        *(volatile uint64_t *)(base + at) = value + at;
}

static bool all_hold(const struct page_fault *s, const char *base, size_t bytes, uint64_t value)
{
    bool right = true;
    for (size_t at = 0; at < bytes; at += s->page)
        right &= *(const volatile uint64_t *)(base + at) == value + at;
    return right;
}

static int use_new_memory(const struct page_fault *s)
{
    struct memory_block block = {0};
    int rc = memory_map(&block, s->bytes, s->now.how == HUGE_PAGES ? MEMORY_THP : MEMORY_4K, NULL);
    if (!rc)
        write_all(s, block.base, s->bytes, tag);
    memory_unmap(&block);
    return rc;
}

/* What is written through a shared mapping is what the file holds. */
static int use_mapping(const struct page_fault *s, unsigned rank)
{
    bool right = true;
    char *base =
        mmap(NULL, s->bytes, s->now.how == MAP ? PROT_READ : PROT_READ | PROT_WRITE,
             s->now.how == PRIVATE ? MAP_PRIVATE : MAP_SHARED, s->fd, (off_t)(rank * s->bytes));
    if (base == MAP_FAILED)
        return -errno;
    if (s->now.how == MAP)
        right = all_hold(s, base, s->bytes, tag);
    else
        write_all(s, base, s->bytes, s->now.how == SHARED ? tag : ~tag);
    (void)munmap(base, s->bytes);
    return right ? 0 : -EBADMSG;
}

static int use_read(const struct page_fault *s, unsigned rank)
{
    _Alignas(64) char buffer[BLOCK];
    bool right = true;
    for (size_t at = 0; at < s->bytes; at += BLOCK) {
        if (pread(s->fd, buffer, BLOCK, (off_t)(rank * s->bytes + at)) != BLOCK)
            return -EIO;
        right &= all_hold(s, buffer, BLOCK, tag + at);
    }
    return right ? 0 : -EBADMSG;
}

static int use_memory(struct page_fault *s, unsigned rank)
{
    size_t at = s->alone ? 0 : rank * s->bytes;
    if (s->now.how == READ)
        return use_read(s, rank);
    if (s->now.how >= PRIVATE)
        return use_mapping(s, rank);
    if (s->now.how != COW)
        return use_new_memory(s);
    write_all(s, (char *)s->block.base + at, s->bytes, s->value + at);
    return 0;
}

static uint64_t faults_so_far(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_minflt;
}

static void run_pass(void *arg, unsigned rank, unsigned n)
{
    struct page_fault *s = arg;
    struct member *member = &s->members[rank];
    (void)n;
    uint64_t faults = faults_so_far(), start_ns = clock_now_ns();
    int rc = use_memory(s, rank);
    member->ns += clock_now_ns() - start_ns;
    member->faults += faults_so_far() - faults;
    member->pages += s->bytes / s->page;
    member->rc = member->rc ? member->rc : rc;
}

/* Shares the block until its parent has written; exits with 0 if it does not see those writes. */
static int share_block(void *arg)
{
    struct member *first = arg;
    const struct page_fault *s = first->of;
    futex_wait_while(&first->released, 0);
    return !all_hold(s, s->block.base, s->block.bytes, s->value);
}

static void pass_together(struct page_fault *s, unsigned rank)
{
    if (s->alone)
        run_pass(s, rank, 1);
    else
        (void)team_run(&s->team, NULL, s->now.n, run_pass, s);
}

static int pass_after_fork(struct page_fault *s, struct member *first)
{
    struct process child;
    int status = 0;
    atomic_store(&first->released, 0);
    int rc = process_start(&child, false, share_block, first);
    if (rc)
        return rc;
    s->value++;
    pass_together(s, first->rank);
    futex_set(&first->released, 1);
    process_wait(&child, &status);
    return status ? -EBADMSG : 0;
}

/* The passes of all threads of a process, the first of which is `first`. */
static int repeat_passes(void *arg)
{
    struct member *first = arg;
    struct page_fault *s = first->of;
    int rc = 0;
    if (s->now.how == COW)
        rc = memory_map(&s->block, s->bytes * (s->alone ? 1 : s->now.n), MEMORY_4K, NULL);
    if (s->block.base)
        write_all(s, s->block.base, s->block.bytes, s->value);
    for (bool more = true; !rc && more; more = clock_now_ns() < s->end_ns)
        if (s->now.how == COW)
            rc = pass_after_fork(s, first);
        else
            pass_together(s, first->rank);
    memory_unmap(&s->block);
    first->rc = first->rc ? first->rc : rc;
    return 0;
}

static void run_process(void *arg, unsigned rank, unsigned n)
{
    struct page_fault *s = arg;
    struct process process;
    int status = 0;
    (void)n;
    int rc = process_start(&process, false, repeat_passes, &s->members[rank]);
    if (!rc)
        process_wait(&process, &status);
    if (rc || status)
        s->members[rank].rc = rc ? rc : -ECHILD;
}

static int emit_point(struct bench_ctx *ctx, struct dims at)
{
    const struct page_fault *s = ctx->state;
    struct err why = {0};
    double per_ns = 0, pages = 0, faults = 0;
    for (unsigned i = 0; i < s->now.n; i++) {
        const struct member *member = &s->members[i];
        per_ns += (double)member->pages / (double)member->ns;
        pages += (double)member->pages;
        faults += (double)member->faults;
        if (member->rc == -EBADMSG)
            return err_set(ctx->err, member->rc, "memory did not hold what was written to it");
        if (member->rc)
            (void)err_sys(&why, member->rc, "member %u cannot use its memory", i);
    }
    if (bench_emit_absent(ctx, TIME, &why, at))
        return 0;
    bench_emit(ctx, RATE, per_ns * 1e3, at);
    bench_emit(ctx, TIME, s->now.n / per_ns, at);
    bench_emit(ctx, FAULTS, faults / pages, at);
    return 0;
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct page_fault *s = ctx->state;
    struct err absent = {0};
    s->now = s->points[which];
    s->alone = s->now.between == PROCESSES;
    const struct dims at =
        DIMS({BY_HOW, s->now.how}, {BY_BETWEEN, s->now.between}, {BY_N, s->now.n});
    int rc = memory_check_fits(2 * s->bytes * s->now.n, "memory and its copies", &absent);
    if (!rc && s->now.how == HUGE_PAGES)
        rc = memory_check_pages(MEMORY_THP, &absent);
    if (rc) {
        (void)bench_emit_absent(ctx, TIME, &absent, at);
        return 0;
    }
    for (unsigned i = 0; i < s->now.n; i++)
        s->members[i] = (struct member){.of = s, .rank = i};
    s->end_ns = clock_now_ns() + s->slice_ns;
    if (s->alone)
        (void)team_run(&s->team, NULL, s->now.n, run_process, s);
    else
        (void)repeat_passes(&s->members[0]);
    return emit_point(ctx, at);
}

static int page_fault_scan(struct bench_ctx *ctx)
{
    const struct page_fault *s = ctx->state;
    return points_run(ctx, s->npoints, measure_point, NULL);
}

static void list_points(struct page_fault *s, const struct page_fault_params *params,
                        unsigned ncpus)
{
    unsigned counts[COUNTS];
    size_t ncounts = counts_doubled(ncpus, counts, COUNTS);
    for (unsigned how = 0; how < HOWS; how++)
        for (unsigned between = 0; between < BETWEENS; between++)
            for (size_t i = 0; i < ncounts; i++)
                if (points_asked(params->how, how) && points_asked(params->between, between))
                    s->points[s->npoints++] = (struct point){(enum how)how, between, counts[i]};
}

/* All of the file is in the page cache once each member's part is written. */
static int make_file(struct page_fault *s, unsigned ncpus, struct err *err)
{
    s->fd = memfd_create("contend", MFD_CLOEXEC);
    int rc = s->fd < 0 || ftruncate(s->fd, (off_t)(ncpus * s->bytes)) ? -errno : 0;
    s->now.how = SHARED;
    for (unsigned rank = 0; rank < ncpus && !rc; rank++)
        rc = use_mapping(s, rank);
    return rc ? err_sys(err, rc, "cannot make a file of %zu bytes in memory", ncpus * s->bytes) : 0;
}

static int page_fault_setup(struct bench_ctx *ctx)
{
    const struct page_fault_params *params = ctx->params;
    struct page_fault *s = ctx->state;
    unsigned ncpus = ctx->machine->ncpus;
    s->fd = -1;
    s->page = memory_page_bytes();
    s->bytes = (params->size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    s->members = mmap(NULL, ncpus * sizeof(*s->members), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->members == MAP_FAILED)
        return err_sys(ctx->err, -errno, "cannot map what processes share");
    list_points(s, params, ncpus);
    s->slice_ns = points_share_ns(ctx, s->npoints, slice_least_ns);
    int rc = memory_check_fits(s->bytes * ncpus, "a file in memory", ctx->err);
    if (!rc)
        rc = make_file(s, ncpus, ctx->err);
    return rc ? rc : team_open_all(&s->team, ctx);
}

static void page_fault_teardown(struct bench_ctx *ctx)
{
    struct page_fault *s = ctx->state;
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->members && s->members != MAP_FAILED)
        (void)munmap(s->members, ctx->machine->ncpus * sizeof(*s->members));
}

const struct bench bench_page_fault = {
    .name = "page_fault",
    .summary = "first use of memory by threads and by processes: huge pages, fork, mmap, read",
    .opts = page_fault_opts,
    .params_size = sizeof(struct page_fault_params),
    .metrics = page_fault_metrics,
    .figures = page_fault_figures,
    .dims = page_fault_dims,
    .state_size = sizeof(struct page_fault),
    .setup = page_fault_setup,
    .scan = page_fault_scan,
    .teardown = page_fault_teardown,
};
