#include "bench/loader/feeding.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/points.h"
#include "harness/lib/sys/clock.h"

/* One call of feeding_run. */
struct run {
    const struct bench_ctx *ctx;
    struct feeding *feeding;
    struct err *err;
    enum load_mode mode;
    unsigned loaders, prefetch;
    unsigned free_slots[FEEDING_SLOTS_MOST], nfree;    /* unused slots */
    unsigned in_flight[FEEDING_IN_FLIGHT], nin_flight; /* slots of the device, oldest first */
    uint32_t asked, taken;                             /* batches of the epoch so far */
    bool has_first;
    struct token first;
    double first_s;
    unsigned starts;
};

static unsigned prefetch_of(unsigned prefetch, unsigned loaders)
{
    return prefetch ? prefetch : 2 * loaders;
}

unsigned feeding_slots(unsigned prefetch, unsigned loaders)
{
    return prefetch_of(prefetch, loaders) + FEEDING_IN_FLIGHT;
}

static int ask(struct run *run, unsigned slot)
{
    int rc = queue_ask(&run->feeding->queue, slot);
    run->asked++;
    return rc ? err_sys(run->err, rc, "cannot ask for a batch") : 0;
}

/* Waits for the device's oldest batch, then frees its slot. */
static int retire(struct run *run)
{
    struct device_took took = {0};
    unsigned slot = run->in_flight[0];
    int rc = device_wait(&run->feeding->device, slot, &took, run->err);
    run->nin_flight--;
    memmove(run->in_flight, run->in_flight + 1, run->nin_flight * sizeof(run->in_flight[0]));
    run->free_slots[run->nfree++] = slot;
    run->feeding->gpu_s += (double)took.work_ns / 1e9;
    run->feeding->gpu_batches++;
    return rc;
}

static int retire_all(struct run *run)
{
    int rc = 0;
    while (!rc && run->nin_flight)
        rc = retire(run);
    return rc;
}

/* PyTorch has its own queue, so one batch is asked for at a time. */
static unsigned asked_at_once(const struct run *run)
{
    unsigned n = run->mode == LOAD_PYTORCH ? 1 : run->prefetch;
    uint32_t epoch = run->feeding->epoch;
    return epoch && epoch < n ? epoch : n;
}

/* Starts the loaders and waits for their first batch. The device has no batch meanwhile. */
static int start_loaders(struct run *run)
{
    struct feeding *feeding = run->feeding;
    uint64_t since_ns = 0;
    unsigned slots = feeding_slots(run->prefetch, run->loaders), n = asked_at_once(run);
    int rc = 0;
    run->asked = run->taken = run->nfree = 0;
    for (unsigned slot = 0; slot < n && !rc; slot++)
        rc = ask(run, slot);
    for (unsigned i = 0; i < FEEDING_IN_FLIGHT; i++)
        run->free_slots[run->nfree++] = slots - 1 - i;
    if (!rc)
        rc = loader_pool_start(&feeding->loader_pool, run->mode, run->loaders, run->prefetch,
                               &since_ns, run->err);
    if (!rc)
        rc = loader_pool_await(&feeding->loader_pool, &run->first, run->err);
    if (rc)
        return rc;
    run->has_first = true;
    run->first_s += 1e-9 * (double)(clock_now_ns() - since_ns);
    run->starts++;
    return 0;
}

static bool asks_more(const struct run *run)
{
    return !run->feeding->epoch || run->asked < run->feeding->epoch;
}

/* Counts a taken batch, and asks for another batch instead if the epoch has more. */
static int replace(struct run *run)
{
    run->taken++;
    bench_progress(run->ctx, 1);
    return asks_more(run) ? ask(run, run->free_slots[--run->nfree]) : 0;
}

static int check_slot(const struct run *run, const struct token *token)
{
    return token->slot < run->feeding->queue.slots
               ? 0
               : err_set(run->err, -EBADMSG, "a loader names slot %u", token->slot);
}

/* Takes the next batch to drop. False: there is none, or an error in *rc. */
static bool take_ready(struct run *run, struct token *token, int *rc)
{
    bool has = run->has_first;
    run->has_first = false;
    if (has)
        *token = run->first;
    else if (run->mode == LOAD_PYTORCH)
        *rc = loader_pool_await(&run->feeding->loader_pool, token, run->err);
    else
        return queue_take(&run->feeding->queue, token);
    return !*rc;
}

/*
 * Drops batches that were made before the slice: they say nothing about the loaders' speed. PyTorch
 * keeps its batches in its own queue, which takes as long to empty as to fill; so that happens
 * before the slice, too.
 */
static int drop_ready(struct run *run)
{
    struct token token = {0};
    int rc = 0;
    for (unsigned n = 0; n < run->prefetch && !rc && take_ready(run, &token, &rc); n++) {
        rc = check_slot(run, &token);
        if (rc)
            break;
        run->free_slots[run->nfree++] = token.slot;
        rc = replace(run);
    }
    return rc;
}

static int start_epoch(struct run *run)
{
    int rc = loader_pool_stop(&run->feeding->loader_pool, run->err);
    return rc ? rc : start_loaders(run);
}

/*
 * Takes the next batch. If none is ready, first waits until the device has done its batches. From
 * then on the device waits for loaders, and that time adds to *starved_s.
 */
static int take(struct run *run, struct token *token, const struct slice *slice, double *starved_s)
{
    struct feeding *feeding = run->feeding;
    bool restarts = feeding->epoch && run->taken == feeding->epoch;
    bool ready = run->has_first || (!restarts && queue_take(&feeding->queue, token));
    if (!ready) {
        int rc = retire_all(run);
        uint64_t from_ns = clock_now_ns();
        if (!rc)
            rc = restarts ? start_epoch(run)
                          : loader_pool_await(&feeding->loader_pool, token, run->err);
        uint64_t to_ns = clock_now_ns();
        *starved_s += slice_part(slice, from_ns, to_ns) * 1e-9 * (double)(to_ns - from_ns);
        if (rc)
            return rc;
    }
    if (run->has_first)
        *token = run->first;
    run->has_first = false;
    return check_slot(run, token);
}

static int feed_batch(struct run *run, const struct slice *slice, struct feeding_result *result)
{
    struct token token = {0};
    uint64_t start_ns = clock_now_ns();
    int rc = take(run, &token, slice, &result->starved_s);
    if (rc)
        return rc;
    rc = device_submit(&run->feeding->device, token.slot, run->err);
    if (rc)
        return rc;
    run->in_flight[run->nin_flight++] = token.slot;
    run->feeding->last = token;
    rc = replace(run);
    while (!rc && run->nin_flight >= FEEDING_IN_FLIGHT)
        rc = retire(run);
    result->batches += slice_part(slice, start_ns, clock_now_ns());
    return rc;
}

/* Feeds the device until the slice ends. */
static int feed(struct run *run, const struct slice *slice, struct feeding_result *result)
{
    const struct queue *queue = &run->feeding->queue;
    uint64_t from_ns = 0, from_bytes = 0;
    int rc = 0;
    for (uint64_t now_ns; !rc && (now_ns = clock_now_ns()) < slice->end_ns;) {
        if (!from_ns && now_ns >= slice->begin_ns) {
            from_ns = now_ns;
            from_bytes = queue_read_bytes(queue);
        }
        rc = feed_batch(run, slice, result);
    }
    uint64_t bytes = queue_read_bytes(queue) - from_bytes;
    result->read_rate =
        from_ns ? 1e9 * (double)bytes / (double)(clock_now_ns() - from_ns) : (double)NAN;
    return rc;
}

/* Otherwise a batch of an earlier run could pass for a batch of this run. */
static void poison(const struct feeding *feeding, unsigned slots)
{
    for (unsigned slot = 0; slot < slots; slot++)
        memset(queue_slot(&feeding->queue, slot), 0xff, feeding->queue.cells * sizeof(float));
}

int feeding_run(struct feeding *feeding, const struct bench_ctx *ctx, enum load_mode mode,
                unsigned loaders, double share_s, struct feeding_result *result)
{
    struct slice slice = {0};
    *result = (struct feeding_result){.first_s = NAN};
    struct run run = {.ctx = ctx,
                      .feeding = feeding,
                      .err = &result->err,
                      .mode = mode,
                      .loaders = loaders,
                      .prefetch = prefetch_of(feeding->prefetch, loaders)};
    feeding->last = (struct token){.slot = QUEUE_END};
    poison(feeding, feeding_slots(run.prefetch, loaders));
    int failed = start_loaders(&run);
    int rc = peers_barrier(ctx->peers, ctx->err); /* all workers have their first batch */
    if (!rc && !failed && !feeding->epoch)
        failed = drop_ready(&run);
    if (!rc)
        rc = slice_begin(&slice, ctx, share_s);
    result->seconds = slice_seconds(&slice);
    if (!rc && !failed)
        failed = feed(&run, &slice, result);
    int rest = retire_all(&run);
    int stopped = loader_pool_stop(&feeding->loader_pool, failed ? NULL : &result->err);
    if (!failed)
        failed = rest ? rest : stopped;
    result->err.code = failed;
    result->first_s = run.starts ? run.first_s / run.starts : NAN;
    return rc;
}

/* Loaders feed the device if its starvation is at most this share. */
static const double fed_below = 0.02;

unsigned sweep_counts(unsigned most, unsigned kinds, double share_s, double room_s,
                      unsigned counts[SWEEP_COUNTS_MOST])
{
    for (unsigned factor = 2;; factor *= 2) {
        unsigned n = 0;
        for (unsigned count = 1; count <= most && n < SWEEP_COUNTS_MOST; count *= factor)
            counts[n++] = count;
        if (n <= 2 || n * kinds * share_s <= room_s)
            return n;
    }
}

void sweep_join(struct point *point, const struct feeding_result *results, unsigned n)
{
    struct feeding_result *all = &point->result;
    *all = (struct feeding_result){.seconds = 0};
    for (unsigned r = 0; r < n; r++) {
        all->err = all->err.code ? all->err : results[r].err;
        all->seconds += results[r].seconds;
        all->batches += results[r].batches / results[r].seconds;
        all->starved_s += results[r].starved_s;
        all->read_rate += results[r].read_rate;
        all->cached = fmax(all->cached, results[r].cached);
        all->first_s += results[r].first_s / n;
        point->missed |= !(results[r].batches > 0 || results[r].starved_s > 0);
    }
}

bool sweep_has_values(const struct point *point)
{
    return !point->result.err.code && !point->missed;
}

double sweep_starvation(const struct point *point)
{
    return point->result.starved_s / point->result.seconds;
}

struct sweep_verdict sweep_judge(const struct point *points, size_t n)
{
    struct sweep_verdict verdict = {.scaling = NAN, .more = NAN};
    double best = 0, fewer = 0;
    while (verdict.n < n && sweep_has_values(&points[verdict.n]))
        verdict.n++;
    verdict.needed = verdict.n;
    for (size_t i = 0; i < verdict.n; i++) {
        best = fmax(best, points[i].result.batches);
        fewer = i + 1 < verdict.n ? best : fewer;
        if (verdict.needed == verdict.n && sweep_starvation(&points[i]) <= fed_below)
            verdict.needed = i;
    }
    if (verdict.n > 1 && points[0].result.batches > 0)
        verdict.scaling = best / points[0].result.batches;
    if (verdict.n > 1 && fewer > 0)
        verdict.more = points[verdict.n - 1].result.batches / fewer;
    return verdict;
}
