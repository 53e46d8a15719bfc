#include "bench/gpu/gpu_set.h"

#include <math.h>
#include <string.h>

#include "bench/gpu/gpu.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"

unsigned gpu_set_left(const struct gpu_set *set)
{
    unsigned left = 0;
    for (unsigned gpu = 0; gpu < set->n; gpu++)
        left += gpu_set_has(set, gpu);
    return left;
}

bool gpu_set_runs(const struct gpu_set *set, const struct gpu_group *group)
{
    return group->all ? gpu_set_left(set) > 1 : gpu_set_has(set, group->first);
}

int gpu_set_drop(struct gpu_set *set, unsigned gpu, int rc)
{
    if (!rc || !gpu_set_has(set, gpu))
        return rc;
    set->dropped[gpu] = set->why;
    (void)gpu_error_of(rc, gpu_name(set->machine, set->machine->gpus[gpu].pci_bdf),
                       &set->dropped[gpu]);
    log_warn("left out: %s", set->dropped[gpu].msg);
    return rc;
}

int gpu_set_check(const struct gpu_set *set, struct err *err)
{
    if (gpu_set_left(set) > 0 || set->n == 0)
        return 0;
    return err_set(err, set->dropped[0].code, "%s", set->dropped[0].msg);
}

void gpu_set_emit(struct bench_ctx *ctx, const struct gpu_set *set, unsigned metric,
                  unsigned by_gpu)
{
    for (unsigned gpu = 0; gpu < set->n; gpu++)
        if (!gpu_set_has(set, gpu))
            (void)bench_emit_absent(ctx, metric, &set->dropped[gpu], DIMS({by_gpu, gpu}));
}

#ifdef CONTEND_HAVE_CUDA

#include "kernels/gpu/gpu_common.h"

/* Makes a set of all GPUs of the machine. */
static void gpu_set_init(struct gpu_set *set, const struct bench_machine *machine)
{
    memset(set, 0, sizeof(*set));
    set->machine = machine;
    set->n = machine->ngpus < GPU_SET_MAX ? machine->ngpus : GPU_SET_MAX;
}

void gpu_set_open(struct gpu_set *set, const struct bench_machine *machine)
{
    gpu_set_init(set, machine);
    for (unsigned gpu = 0; gpu < set->n; gpu++) {
        int rc = gpu_check(machine->gpus[gpu].pci_bdf, &set->why);
        (void)gpu_set_drop(set, gpu, rc);
    }
}

#endif

struct lane {
    unsigned oldest, queued; /* slot of the oldest batch, and number of queued batches */
    uint64_t began_ns;       /* when the oldest batch began: when the previous batch was done */
    bool counted;
    int rc; /* error of the last call */
};

struct window {
    uint64_t begin_ns, end_ns;
};

unsigned gpu_groups(unsigned ngpus)
{
    return ngpus > 1 ? ngpus + 1 : ngpus;
}

struct gpu_group gpu_group_at(unsigned ngpus, unsigned group)
{
    if (group == ngpus)
        return (struct gpu_group){.first = 0, .end = ngpus, .all = true};
    return (struct gpu_group){.first = group, .end = group + 1};
}

double gpu_settle_s(double slice_s)
{
    const double least_s = 0.1;
    return fmax(slice_s / 3, least_s);
}

static uint64_t now(const struct gpu_overlap *o)
{
    return o->ops->now_ns ? o->ops->now_ns(o->arg) : clock_now_ns();
}

static void queue_next(const struct gpu_overlap *o, struct lane *lane, unsigned gpu)
{
    unsigned slot = (lane->oldest + lane->queued++) % o->depth;
    lane->rc = o->ops->queue(o->arg, gpu, slot);
}

static int first_error(const struct gpu_overlap *o, const struct lane *lanes)
{
    int rc = 0;
    for (unsigned i = 0; i < o->ngpus && !rc; i++)
        rc = lanes[i].rc;
    return rc;
}

/* Queues one batch on each GPU first, so that no GPU starts late. */
static void fill_queues(const struct gpu_overlap *o, struct lane *lanes)
{
    for (unsigned n = 0; n < o->depth; n++)
        for (unsigned i = 0; i < o->ngpus && !first_error(o, lanes); i++)
            queue_next(o, &lanes[i], o->gpu[i]);
}

/* Takes the oldest batch of a lane, which is done, and queues the next batch. */
static void take_and_queue(const struct gpu_overlap *o, struct lane *lane, unsigned gpu,
                           const struct window *window)
{
    uint64_t now_ns = now(o);
    bool last = now_ns >= window->end_ns && lane->queued == 1;
    bool counts = (lane->began_ns >= window->begin_ns && now_ns <= window->end_ns) ||
                  (last && !lane->counted);
    unsigned slot = lane->oldest;
    lane->oldest = (slot + 1) % o->depth;
    lane->queued--;
    lane->began_ns = now_ns;
    lane->counted = lane->counted || counts;
    lane->rc = o->ops->take(o->arg, gpu, slot, counts);
    if (!lane->rc && now_ns < window->end_ns)
        queue_next(o, lane, gpu);
}

/* Polls each GPU once. *busy: some GPU has work; *finished: some batch was done. */
static void poll_gpus(const struct gpu_overlap *o, struct lane *lanes, const struct window *window,
                      bool *busy, bool *finished)
{
    *busy = *finished = false;
    for (unsigned i = 0; i < o->ngpus; i++) {
        struct lane *lane = &lanes[i];
        bool done = false;
        if (lane->queued == 0 || lane->rc)
            continue;
        *busy = true;
        lane->rc = o->ops->done(o->arg, o->gpu[i], lane->oldest, &done);
        if (lane->rc || !done)
            continue;
        *finished = true;
        take_and_queue(o, lane, o->gpu[i], window);
    }
}

/* True also while the last batch of a GPU without a counted batch runs. */
static bool counts_now(const struct gpu_overlap *o, const struct lane *lanes,
                       const struct window *window, uint64_t now_ns)
{
    bool counts = now_ns < window->end_ns;
    for (unsigned i = 0; i < o->ngpus; i++)
        counts = counts || (lanes[i].queued > 0 && !lanes[i].rc && !lanes[i].counted);
    return counts && now_ns >= window->begin_ns;
}

int gpu_overlap_run(const struct gpu_overlap *o)
{
    struct lane lanes[GPU_OVERLAP_GPUS] = {0};
    bool busy = true, finished;
    fill_queues(o, lanes);
    uint64_t now_ns = now(o);
    struct window window = {.begin_ns = now_ns + (uint64_t)(o->settle_s * 1e9)};
    window.end_ns = window.begin_ns + (uint64_t)(fmax(o->count_s, 0) * 1e9);
    while (busy) {
        poll_gpus(o, lanes, &window, &busy, &finished);
        if (first_error(o, lanes))
            window.end_ns = 0;
        if (busy && !finished)
            o->ops->idle(o->arg, counts_now(o, lanes, &window, now(o)));
    }
    return first_error(o, lanes);
}
