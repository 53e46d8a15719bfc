/*
 * Takes a share of the time of each GPU's host-to-device link: one thread per GPU copies pieces of
 * page-locked memory whenever its bytes fall behind that share of the link's own rate, which it
 * measures alone before.
 *
 * The driver serves the copies of all processes by turns, so one piece at a time gets at most a
 * quarter of a link that another process keeps busy (H100: 22%), several in flight get a half. So
 * the further the account is behind, the more pieces are in flight. The sizes of the pieces are
 * random, so that they do not synchronize with the workers. As a copy process of its own, it meets
 * other processes as a second trainer on the GPU would.
 */
#include "bench/dose/dose.h"
#include "bench/gpu/gpu.h"

#ifdef CONTEND_HAVE_CUDA

#include <errno.h>
#include <math.h>

#include "bench/dose/dose.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/gpu/copy/gpu_upload.h"

/* Mean bytes of a piece: 0.3 ms at 55 GB/s, so that starts of copies cost little. */
enum { PIECE = 16 << 20 };

static const uint64_t solo_ns = 100000000;
static const uint64_t poll_ns = 1000000;
static const double longest_sleep_ns = 20e6;
/* Limit of the debt: after a share was out of reach, the thread does not catch up on more. */
static const double most_behind_bytes = (GPU_UPLOAD_DEPTH + 2) * (double)PIECE;

/* One per GPU; used by its thread, except where atomic. */
struct link {
    _Alignas(128) _Atomic uint64_t copied; /* bytes */
    double solo_rate;                      /* bytes per ns */
    double claimed;                        /* bytes queued or waived */
    uint64_t random_state;
    size_t next_bytes; /* bytes of the next piece */
    int rc;
    struct err err;
};

struct h2d_dose {
    struct dose_team team;
    const struct bench_machine *machine;
    double share; /* of each link's time */
    struct link *links;
    _Atomic unsigned opened;                 /* links with buffers, or an error */
    _Atomic unsigned ready;                  /* links with a known rate, or an error */
    _Alignas(128) _Atomic uint64_t begin_ns; /* of the account; 0: not yet */
    uint64_t copied[64], since_ns;           /* at the last call of hold */
};

static void draw_next(struct link *link)
{
    link->next_bytes = (size_t)(PIECE * (0.5 + random_share(&link->random_state))) & ~(size_t)7;
}

/* Waits for the oldest piece. took_ms: as gpu_upload_wait. */
static int wait_for_oldest(struct link *link, struct gpu_upload *upload, float *took_ms)
{
    size_t bytes = 0;
    int rc = gpu_upload_wait(upload, &bytes, took_ms, &link->err);
    if (!rc)
        (void)atomic_fetch_add(&link->copied, bytes);
    return rc;
}

/*
 * The fastest two pieces in a row of some hundred: a link wakes up first, and serves other
 * processes that copy between most pieces in flight, but not between all. One piece alone can look
 * 3% faster, as the GPU notes ends of copies a little early or late.
 */
static int measure_solo(struct link *link, struct gpu_upload *upload)
{
    const uint64_t end_ns = clock_now_ns() + solo_ns;
    float last_ms = INFINITY, took_ms = INFINITY;
    unsigned pieces = 0;
    int rc = 0;
    while (!rc) {
        const unsigned queued = gpu_upload_queued(upload);
        const bool is_over = pieces > 1 && clock_now_ns() >= end_ns;
        if (is_over && !queued)
            break;
        if (!is_over && queued < GPU_UPLOAD_DEPTH) {
            rc = gpu_upload_queue(upload, PIECE, &link->err);
            continue;
        }
        rc = wait_for_oldest(link, upload, &took_ms);
        link->solo_rate = fmax(link->solo_rate, 2 * PIECE / ((last_ms + took_ms) * 1e6));
        last_ms = took_ms;
        pieces++;
    }
    return rc;
}

static int copy_or_wait(struct h2d_dose *dose, struct link *link, struct gpu_upload *upload)
{
    const double rate = dose->share * link->solo_rate;
    double due = rate * (double)(clock_now_ns() - atomic_load(&dose->begin_ns));
    link->claimed = fmax(link->claimed, due - most_behind_bytes);
    double behind = due - link->claimed;
    if (behind >= (double)link->next_bytes && gpu_upload_queued(upload) < GPU_UPLOAD_DEPTH) {
        int rc = gpu_upload_queue(upload, link->next_bytes, &link->err);
        link->claimed += (double)link->next_bytes;
        draw_next(link);
        return rc;
    }
    float took_ms;
    if (gpu_upload_queued(upload))
        return wait_for_oldest(link, upload, &took_ms);
    double sleep_ns = fmin(longest_sleep_ns, ((double)link->next_bytes - behind) / rate);
    clock_sleep_until(clock_timer_ns() + (uint64_t)sleep_ns);
    return 0;
}

static void run_link(void *arg, unsigned rank, unsigned n)
{
    struct h2d_dose *dose = arg;
    struct link *link = &dose->links[rank];
    struct gpu_upload *upload = NULL;
    const size_t most = (size_t)PIECE / 2 * 3;
    int rc = gpu_upload_open(dose->machine->gpus[rank].pci_bdf, most, &upload, &link->err);
    (void)atomic_fetch_add(&dose->opened, 1);
    /* One after the other: links may share a way to the memory. */
    while (atomic_load(&dose->opened) < n || atomic_load(&dose->ready) < rank)
        clock_sleep_until(clock_timer_ns() + poll_ns);
    if (!rc)
        rc = measure_solo(link, upload);
    link->rc = rc;
    (void)atomic_fetch_add(&dose->ready, 1);
    link->random_state = rank;
    draw_next(link);
    while (!atomic_load(&dose->begin_ns) && dose_team_runs(&dose->team))
        clock_sleep_until(clock_timer_ns() + poll_ns);
    while (!rc && dose_team_runs(&dose->team))
        rc = copy_or_wait(dose, link, upload);
    if (!rc)
        rc = gpu_upload_check(upload, &link->err);
    link->rc = rc;
    gpu_upload_close(upload);
}

/* A CPU of the GPU's node, or of all if it has none here; not the same one for the next GPU. */
static unsigned find_cpu(const struct bench_machine *machine, unsigned gpu)
{
    const int os_node = machine->gpus[gpu].os_node;
    unsigned near = 0, n = 0;
    for (unsigned i = 0; i < machine->ncpus; i++)
        near += machine->cpus[i].os_node == os_node;
    for (unsigned i = 0; i < machine->ncpus; i++)
        if (!near || machine->cpus[i].os_node == os_node)
            if (n++ == gpu % (near ? near : machine->ncpus))
                return machine->cpus[i].os_cpu;
    return 0;
}

/* The first link's error, with its GPU's name; only while no thread writes it. */
static int check_links(const struct h2d_dose *dose, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < dose->machine->ngpus && !rc; i++) {
        rc = dose->links[i].rc;
        *err = dose->links[i].err;
        (void)gpu_error_of(rc, gpu_name(dose->machine, dose->machine->gpus[i].pci_bdf), err);
    }
    return rc;
}

/* The mean share of the links' time left since the last call. */
static double h2d_hold(struct bench_ctx *ctx)
{
    struct h2d_dose *dose = ctx->state;
    const uint64_t now_ns = clock_now_ns();
    double taken = 0;
    for (unsigned i = 0; i < dose->machine->ngpus; i++) {
        const uint64_t copied = atomic_load(&dose->links[i].copied);
        taken += (double)(copied - dose->copied[i]) / dose->links[i].solo_rate;
        dose->copied[i] = copied;
    }
    taken /= (double)(now_ns - dose->since_ns) * dose->machine->ngpus;
    dose->since_ns = now_ns;
    return 1 - taken;
}

static int h2d_start(struct bench_ctx *ctx, double level)
{
    struct h2d_dose *dose = ctx->state;
    const struct bench_machine *machine = ctx->machine;
    int rc = gpu_probe(ctx);
    if (rc)
        return rc;
    unsigned *os_cpus = bench_array(ctx, machine->ngpus, sizeof(*os_cpus));
    dose->links = bench_array(ctx, machine->ngpus, sizeof(*dose->links));
    if (!os_cpus || !dose->links)
        return -ENOMEM;
    dose->machine = machine;
    dose->share = 1 - level;
    for (unsigned i = 0; i < machine->ngpus; i++)
        os_cpus[i] = find_cpu(machine, i);
    rc = dose_team_start(&dose->team, ctx, os_cpus, machine->ngpus, run_link, dose);
    while (!rc && atomic_load(&dose->ready) < machine->ngpus)
        clock_sleep_until(clock_timer_ns() + poll_ns);
    if (!rc)
        rc = check_links(dose, ctx->err);
    if (rc)
        return rc;
    atomic_store(&dose->begin_ns, clock_now_ns());
    (void)h2d_hold(ctx);
    return 0;
}

static int h2d_check(struct bench_ctx *ctx)
{
    struct h2d_dose *dose = ctx->state;
    dose_team_stop(&dose->team);
    return check_links(dose, ctx->err);
}

const struct dose_ops dose_h2d = {h2d_start, h2d_hold, h2d_check, sizeof(struct h2d_dose)};

#else

static int h2d_start(struct bench_ctx *ctx, double level)
{
    (void)level;
    return gpu_probe(ctx); /* an error without CUDA */
}

const struct dose_ops dose_h2d = {.start = h2d_start, .state_size = sizeof(int)};

#endif
