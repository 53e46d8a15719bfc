#include "bench/io/read_points.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"

enum { CHECKED_PAGES = 16 };

/* "write", "direct". */
static const char *const write_way_names[WRITE_WAYS] = {"write", "direct"};

static int open_file(const struct writer_plan *plan, struct err *err)
{
    int fd = place_make_file(plan->place, err);
    if (fd < 0 || plan->way == WRITE_WRITE)
        return fd;
    int direct = place_open_again(fd, O_RDWR | O_DIRECT, err);
    (void)close(fd);
    if (direct < 0)
        err->code = -ENOTSUP;
    return direct < 0 ? -ENOTSUP : direct;
}

static int write_blocks(const struct writer_plan *plan, int fd, uint64_t *done, struct err *err)
{
    int rc = 0;
    for (*done = 0; *done < plan->bytes && !rc;) {
        uint64_t left = plan->bytes - *done;
        size_t part;
        rc = data_write(fd, (const char *)plan->content + *done,
                        left < plan->block_bytes ? (size_t)left : plan->block_bytes, *done, &part);
        *done += part;
    }
    return rc ? err_sys(err, rc, "cannot write") : 0;
}

/* Compares pages at random offsets. They may come from a cache or from the device. */
static int check_pages(const struct writer_plan *plan, int fd, struct err *err)
{
    char *buffer = data_buffer(DATA_ALIGN);
    uint64_t state = plan->seed, pages = plan->bytes / DATA_ALIGN;
    bool right = buffer != NULL;
    assert(pages);
    for (unsigned i = 0; i < CHECKED_PAGES && right; i++) {
        uint64_t offset = random_next(&state) % pages * DATA_ALIGN;
        right = pread(fd, buffer, DATA_ALIGN, (off_t)offset) == DATA_ALIGN &&
                data_holds(buffer, DATA_ALIGN, offset, plan->seed);
    }
    free(buffer);
    return right ? 0
                 : err_set(err, -EBADMSG, "a file written by %s holds something else",
                           write_way_names[plan->way]);
}

static uint64_t process_cpu_ns(void)
{
    struct timespec spent;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static int write_timed(const struct writer_plan *plan, int fd, struct written *written,
                       struct err *err)
{
    uint64_t done = 0, cpu_ns = process_cpu_ns(), start_ns = clock_now_ns();
    struct err why = {.code = 0};
    int rc = write_blocks(plan, fd, &done, &why);
    uint64_t sync_ns = clock_now_ns();
    if (!rc && fsync(fd))
        rc = err_sys(&why, -errno, "fsync");
    uint64_t end_ns = clock_now_ns();
    if (rc)
        return err_set(err, rc, "checkpoint of %s in %s (%s), after %s: %s",
                       units_bytes(plan->bytes), plan->place->directory, plan->place->file_system,
                       units_bytes(done), why.msg);
    written->bytes += plan->bytes;
    written->elapsed_ns += end_ns - start_ns;
    written->fsync_ns += end_ns - sync_ns;
    written->cpu_ns += process_cpu_ns() - cpu_ns;
    return 0;
}

/*
 * Writes one checkpoint, checks samples of it and drops the file. Adds to *written. -ENOTSUP with
 * the reason: this way is not supported; errors of writes (-ENOSPC ...) name how many bytes were
 * written; -EBADMSG: the file does not hold `content`.
 */
static int writer_run(const struct writer_plan *plan, struct written *written, struct err *err)
{
    if (plan->way != WRITE_WRITE && plan->place->memory)
        return err_set(err, -ENOTSUP, "%s is in memory: nothing to write past the cache",
                       plan->place->file_system);
    int fd = open_file(plan, err);
    if (fd < 0)
        return fd;
    int rc = write_timed(plan, fd, written, err);
    if (!rc)
        rc = check_pages(plan, fd, err);
    (void)close(fd);
    return rc;
}

enum { VERIFIED = 64, EVICTIONS = 4, SLOW = 4 };

static const uint64_t pause_ns = 2000000;
static const double slice_least_s = 0.02;
static const double cached_most = 0.02, cached_least = 0.98; /* share if cold, if warm */

const char *const read_part_names[] = {"all", "seq", "random", "files", "shared", "write", NULL};
const char *const read_how_names[] = {"all", "read", "pread", "mmap", "write", "direct", NULL};
enum { HOW_DIRECT = 5 }; /* index of "direct" in read_how_names */
const char *const read_cache_names[] = {"all", "cold", "warm", "none", NULL};

/* ---- the list of points ---- */

/* Index in read_how_names. */
static int how_of(const struct read_point *point)
{
    const char *name =
        point->part == PART_WRITE ? write_way_names[point->way] : read_way_names[point->way];
    int how = 1;
    while (strcmp(read_how_names[how], name) != 0)
        how++;
    return how;
}

static void add(struct read_path *s, struct read_point point)
{
    const struct read_path_params *params = s->params;
    if (!points_asked(params->part, point.part) ||
        (!points_asked(params->cache, point.cache) && point.part != PART_WRITE) ||
        (params->how && params->how != how_of(&point)))
        return;
    if (s->npoints < READ_POINTS_MOST)
        s->points[s->npoints++] = point;
}

/* read(2) has no random order. Small files are read whole from 0, where pread equals read. */
static bool is_way(enum read_part part, unsigned way)
{
    if (part == PART_RANDOM)
        return way != READ_READ;
    return part != PART_FILES || way != READ_PREAD;
}

static void add_ways(struct read_path *s, enum read_part part, bool warm)
{
    for (unsigned way = 0; way < READ_WAYS; way++)
        if (is_way(part, way) && !(warm && way == READ_DIRECT))
            add(s, (struct read_point){.part = part,
                                       .way = way,
                                       .cache = way == READ_DIRECT ? CACHE_NONE
                                                : warm             ? CACHE_WARM
                                                                   : CACHE_COLD,
                                       .readers = 1});
}

static void add_shared(struct read_path *s, unsigned way, enum read_cache cache, unsigned ncpus)
{
    for (unsigned all = 0; all < (ncpus > 1 ? 2 : 1); all++)
        for (int busy = 0; busy < 2; busy++)
            add(s, (struct read_point){.part = PART_SHARED,
                                       .way = way,
                                       .cache = cache,
                                       .readers = all ? ncpus : 1,
                                       .busy = busy});
}

void read_points_list(struct read_path *s, const struct bench_ctx *ctx)
{
    unsigned ncpus = ctx->machine->ncpus;
    for (enum read_part part = PART_SEQUENTIAL; part <= PART_FILES; part++)
        add_ways(s, part, false);
    add_shared(s, READ_DIRECT, CACHE_NONE, ncpus);
    for (unsigned way = 0; way < WRITE_WAYS; way++)
        add(s, (struct read_point){.part = PART_WRITE, .way = way});
    s->first = s->npoints;
    for (enum read_part part = PART_SEQUENTIAL; part <= PART_FILES; part++)
        add_ways(s, part, true);
    add_shared(s, READ_PREAD, CACHE_WARM, ncpus);
    s->slice_s = fmax(ctx->budget_s / (double)(s->npoints ? s->npoints : 1), slice_least_s);
}

/* ---- measurement ---- */

/*
 * Readers take every n-th unit each. PART_SHARED reads random blocks past the page cache, but
 * blocks in order from a warm page cache.
 */
static void plan_reader(const struct read_path *s, const struct read_point *point, unsigned which,
                        struct io_reader_plan *plan)
{
    bool files = point->part == PART_FILES;
    bool random =
        point->part == PART_RANDOM || (point->part == PART_SHARED && point->cache == CACHE_NONE);
    *plan = (struct io_reader_plan){.data = files ? &s->small : &s->whole,
                                    .way = point->way,
                                    .first = which,
                                    .every = point->readers,
                                    .timed = point->cache != CACHE_WARM};
    plan->order = files ? s->file_order : random ? s->random_order : NULL;
    plan->unit_bytes = files    ? s->params->file
                       : random ? s->params->random_block
                                : s->params->block;
    plan->nunits = files    ? s->small.nfiles
                   : random ? s->nrandom
                            : (size_t)(s->whole.file_bytes / s->params->block);
}

/* Drops or warms the data as the point needs it, and reads back what is in the page cache. */
static int prepare_cache(const struct read_path *s, struct read_point *point, struct err *err)
{
    const struct data *data = point->part == PART_FILES ? &s->small : &s->whole;
    bool warm = point->cache == CACHE_WARM;
    if (point->cache == CACHE_COLD && s->place.memory)
        return err_set(err, -ENOTSUP, "%s is in memory: its files are never cold",
                       s->place.file_system);
    int rc = warm ? data_warm(data, err) : data_evict(data, err);
    double cached = rc ? (double)NAN : data_cached(data);
    /* The kernel does not drop pages that it still reads ahead: try again. */
    for (unsigned tries = 0; !rc && !warm && cached > 0 && tries < EVICTIONS; tries++) {
        clock_sleep_until(clock_timer_ns() + pause_ns);
        rc = data_evict(data, err);
        cached = data_cached(data);
    }
    if (rc)
        return rc;
    bool worse = isnan(point->cached) || (warm ? cached < point->cached : cached > point->cached);
    point->cached = worse ? cached : point->cached;
    if (isnan(cached))
        text_set(point->doubt, "the system does not report what the page cache has");
    else if (warm ? point->cached < cached_least : point->cached > cached_most)
        text_set(point->doubt, "%.0f%% of it was in the page cache", 100 * point->cached);
    return 0;
}

struct job {
    struct read_path *s;
    uint64_t ns;
};

static void read_in_thread(void *arg, unsigned rank, unsigned n)
{
    struct job *job = arg;
    struct io_reader *reader = &job->s->readers[rank];
    uint64_t at_ns = clock_now_ns(), end_ns = at_ns + job->ns;
    struct err *err = &job->s->results[rank];
    /* A single reader stops at the end of the data: what it has read is no longer cold. */
    bool once = n == 1 && reader->plan.timed, over;
    do {
        err->code = io_reader_run(reader, end_ns - at_ns, &over, err);
        at_ns = clock_now_ns();
    } while (!err->code && over && !once && at_ns < end_ns);
}

static int run_job(struct read_path *s, unsigned n, uint64_t ns, uint64_t *took_ns, struct err *err)
{
    struct job job = {s, ns};
    memset(s->results, 0, n * sizeof(*s->results));
    *took_ns = team_run(&s->team, NULL, n, read_in_thread, &job);
    for (unsigned i = 0; i < n; i++)
        if (s->results[i].code) {
            *err = s->results[i];
            return err->code;
        }
    return 0;
}

static void summarize(const struct read_path *s, struct read_point *point, uint64_t took_ns,
                      uint64_t cpu_ns)
{
    struct io_reader *reader = &s->readers[0];
    uint64_t bytes = 0;
    for (unsigned i = 0; i < point->readers; i++)
        bytes += s->readers[i].totals.bytes;
    point->speed = (double)bytes / (double)took_ns;
    point->cpu_per_gb = (double)cpu_ns / (double)bytes;
    struct time_sample *latency_us = &reader->totals.latency_us;
    size_t n = latency_us->n ? stats_sort(latency_us->value, latency_us->n) : 0;
    point->latency_us[0] = stats_median(latency_us->value, n);
    point->latency_us[1] = stats_percentile(latency_us->value, n, 0.99);
}

/* Cold data is read once, then dropped again; the time to drop it is not counted. */
static int read_by_one(struct read_path *s, struct read_point *point, struct err *err)
{
    uint64_t slice_ns = (uint64_t)(s->slice_s * 1e9), took_ns = 0, cpu_ns = 0, part_ns;
    uint64_t give_up_ns = clock_now_ns() + SLOW * slice_ns;
    int rc = 0;
    while (!rc && took_ns < slice_ns && (!took_ns || clock_now_ns() < give_up_ns)) {
        rc = prepare_cache(s, point, err);
        if (rc)
            break;
        uint64_t before_ns = process_cpu_ns();
        rc = run_job(s, 1, slice_ns - took_ns, &part_ns, err);
        cpu_ns += process_cpu_ns() - before_ns;
        took_ns += part_ns;
    }
    if (rc)
        return rc;
    summarize(s, point, took_ns, cpu_ns);
    return io_reader_verify(&s->readers[0], VERIFIED, err);
}

static int read_shared(struct read_path *s, struct bench_ctx *ctx, struct read_point *point,
                       struct err *err)
{
    struct busy_team busy = {NULL};
    uint64_t took_ns, cpu_ns = 0;
    int rc = prepare_cache(s, point, err);
    if (!rc && point->busy)
        rc = busy_team_open(&busy, ctx);
    if (!rc && point->busy)
        rc = busy_team_start(&busy, err);
    if (!rc)
        rc = run_job(s, point->readers, (uint64_t)(s->slice_s * 1e9), &took_ns, err);
    if (busy.state) {
        busy_team_end(&busy);
        point->load_share = busy_team_share(&busy);
        if (!rc)
            rc = busy_team_check(&busy, err);
        busy_team_close(&busy);
    }
    for (unsigned i = 0; i < point->readers && !rc; i++)
        cpu_ns += s->readers[i].totals.cpu_ns;
    if (!rc)
        summarize(s, point, took_ns, cpu_ns);
    for (unsigned i = 0; i < point->readers && !rc; i++)
        rc = io_reader_verify(&s->readers[i], VERIFIED, err);
    return rc;
}

static int write_point(struct read_path *s, const struct bench_ctx *ctx, struct read_point *point,
                       struct err *err)
{
    const struct read_path_params *params = s->params;
    const struct writer_plan plan = {.place = &s->place,
                                     .content = s->content,
                                     .way = point->way,
                                     .bytes = params->checkpoint,
                                     .seed = ctx->seed,
                                     .block_bytes = params->block};
    struct written written = {0};
    int rc = 0;
    while (!rc && (double)written.elapsed_ns < s->slice_s * 1e9)
        rc = writer_run(&plan, &written, err);
    if (rc)
        return rc;
    point->speed = (double)written.bytes / (double)written.elapsed_ns;
    point->fsync_share = (double)written.fsync_ns / (double)written.elapsed_ns;
    point->cpu_per_gb = (double)written.cpu_ns / (double)written.bytes;
    return 0;
}

static int read_point(struct read_path *s, struct bench_ctx *ctx, struct read_point *point,
                      struct err *err)
{
    unsigned opened = 0;
    int rc = 0;
    while (opened < point->readers && !rc) {
        struct io_reader_plan plan;
        plan_reader(s, point, opened, &plan);
        rc = io_reader_open(&s->readers[opened], &plan, err);
        opened += !rc;
    }
    if (!rc)
        rc = point->part == PART_SHARED ? read_shared(s, ctx, point, err)
                                        : read_by_one(s, point, err);
    while (opened)
        io_reader_close(&s->readers[--opened]);
    return rc;
}

/* ---- results ---- */

static void emit(struct bench_ctx *ctx, unsigned metric, const struct read_point *point,
                 double value, struct dims at)
{
    bench_emit_doubt(ctx, metric, value, point->doubt, at);
}

static void emit_latency(struct bench_ctx *ctx, unsigned metric, const struct read_point *point,
                         struct dims at)
{
    for (unsigned i = 0; i < 2; i++)
        emit(ctx, metric, point, point->latency_us[i], dims_with(at, BY_STAT, i));
}

static void emit_read(struct bench_ctx *ctx, const struct read_point *point)
{
    const struct dims at =
        DIMS({BY_HOW, how_of(point) - 1}, {BY_ORDER, point->part}, {BY_CACHE, point->cache});
    if (bench_emit_absent(ctx, READ_SPEED, &point->absent, at))
        return;
    emit(ctx, READ_SPEED, point, point->speed, at);
    emit(ctx, CPU_PER_GB, point, point->cpu_per_gb, at);
    emit(ctx, CACHED, point, point->cached, at);
    if (point->cache != CACHE_WARM)
        emit_latency(ctx, LATENCY, point, at);
}

static void emit_shared(struct bench_ctx *ctx, const struct read_point *point)
{
    int how = point->way == READ_DIRECT ? HOW_DIRECT : how_of(point);
    const struct dims at =
        DIMS({BY_HOW, how - 1}, {BY_READERS, point->readers}, {BY_LOAD, point->busy});
    if (bench_emit_absent(ctx, SHARED_SPEED, &point->absent, at))
        return;
    emit(ctx, SHARED_SPEED, point, point->speed, at);
    emit(ctx, LOAD_SHARE, point, point->load_share, at);
}

static void emit_write(struct bench_ctx *ctx, const struct read_point *point)
{
    const struct dims at = DIMS({BY_HOW, how_of(point) - 1});
    if (bench_emit_absent(ctx, WRITE_SPEED, &point->absent, at))
        return;
    emit(ctx, WRITE_SPEED, point, point->speed, at);
    emit(ctx, FSYNC_SHARE, point, point->fsync_share, at);
    emit(ctx, WRITE_CPU, point, point->cpu_per_gb, at);
}

/* A way that is not supported becomes a row with the reason; other points still run. */
static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct read_path *s = ctx->state;
    struct read_point *point = &s->points[s->first + which];
    static void (*const emit_part[])(struct bench_ctx * ctx, const struct read_point *point) = {
        [PART_SEQUENTIAL] = emit_read,
        [PART_RANDOM] = emit_read,
        [PART_FILES] = emit_read,
        [PART_SHARED] = emit_shared,
        [PART_WRITE] = emit_write};
    struct err *absent = &point->absent;
    point->cached = point->load_share = (double)NAN;
    absent->code = point->part == PART_WRITE ? write_point(s, ctx, point, absent)
                                             : read_point(s, ctx, point, absent);
    emit_part[point->part](ctx, point);
    return absent->code == -EBADMSG ? err_set(ctx->err, -EBADMSG, "%s", absent->msg) : 0;
}

/*
 * Warm points come last, so that the data set is read into the page cache once. For each warm point
 * in between, a slow disk would take all of the time.
 */
int read_points_run(struct bench_ctx *ctx)
{
    struct read_path *s = ctx->state;
    size_t ncold = s->first, nwarm = s->npoints - s->first;
    s->first = 0;
    int rc = points_run(ctx, ncold, measure_point, NULL);
    s->first = ncold;
    return rc ? rc : points_run(ctx, nwarm, measure_point, NULL);
}
