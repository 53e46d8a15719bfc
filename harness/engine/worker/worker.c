#include "harness/engine/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/worker/binding.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/perf.h"
#include "harness/engine/worker/shared.h"
#include "harness/lib/say/log.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"

struct worker {
    struct command_orders command_orders;
    struct shared *shared;
    struct shared_worker *slot;
    const struct bench *bench;
    struct bench_ctx ctx;
    struct bench_machine machine; /* only the CPUs that this worker is bound to */
    struct barrier_rank barrier_rank;
    struct peers peers;
    const struct mpi_ops *mpi; /* not NULL: a thread of the MPI process */
    struct perf perf;
    struct stage_clock stages;
    double stage_ns;  /* shortest mean time between clock reads in an uncounted step */
    uint64_t iters;   /* per sample, so that the cost of the clock stays small */
    uint64_t step_ns; /* time of the latest sample */
};

/* True if ranks meet in every step. All must then do the same number of steps, or they hang. */
static bool is_coupled(const struct worker *w)
{
    return w->bench->gang && !w->bench->scan && w->peers.size > 1;
}

static struct step_limit *step_limit_of(const struct worker *w)
{
    return &w->shared->step_limit[w->slot->plan.background];
}

static int run_once(struct worker *w, struct sample *sample)
{
    w->stages = (struct stage_clock){.on = w->stages.on};
    *sample = (struct sample){.iters = w->iters, .start_ns = clock_now_ns()};
    int rc = w->bench->scan ? w->bench->scan(&w->ctx) : w->bench->step(&w->ctx, w->iters, sample);
    sample->elapsed_ns = clock_now_ns() - sample->start_ns;
    if (w->stages.reads && !w->ctx.measuring)
        w->stage_ns = fmin(w->stage_ns, (double)sample->elapsed_ns / (double)w->stages.reads);
    w->slot->step_ops = sample->ops;
    if (!w->bench->scan)
        bench_progress(&w->ctx, w->iters);
    return rc;
}

/*
 * The result of a warm-up step. Of coupled ranks, a result that is true for one rank holds for all.
 */
struct warmup_check {
    bool too_short; /* the interval, for the clock */
    bool too_early;
};

static int join_warmup_checks(struct worker *w, struct warmup_check *warmup_check)
{
    struct warmup_check *all = calloc(w->peers.size, sizeof(*all));
    if (!all)
        return err_set(&w->slot->err, -ENOMEM, "no memory for %u ranks", w->peers.size);
    int rc = peers_gather(&w->peers, warmup_check, all, sizeof(*all), &w->slot->err);
    for (unsigned r = 0; !rc && r < w->peers.size; r++) {
        warmup_check->too_short |= all[r].too_short;
        warmup_check->too_early |= all[r].too_early;
    }
    free(all);
    return rc;
}

/* Whole runs are warmed up only if the user asks for it, and are long enough for any clock. */
static int warm_up_one_shot(struct worker *w)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)(w->shared->warmup_s * 1e9);
    struct sample sample = {0};
    int rc = 0;
    while (!rc && clock_now_ns() < end_ns) {
        rc = run_once(w, &sample);
        w->step_ns = sample.elapsed_ns;
    }
    return rc;
}

/* Times of the latest steps, to see whether steps have become steady. */
enum { STEADY_STEPS = 3 };
struct steadiness {
    double step_ns[STEADY_STEPS];
    unsigned n;
};

/* Adds a step. True if the latest steps took at most 10% longer than the shortest of them. */
static bool is_steady(struct steadiness *of, double step_ns)
{
    static const double alike = 1.1;
    double least = step_ns, most = step_ns;
    of->step_ns[of->n++ % STEADY_STEPS] = step_ns;
    for (unsigned i = 0; i < STEADY_STEPS; i++) {
        least = fmin(least, of->step_ns[i]);
        most = fmax(most, of->step_ns[i]);
    }
    return of->n >= STEADY_STEPS && most <= alike * least;
}

/*
 * Uncounted steps, for thread teams, page faults, lazy loading and clock frequencies. Also finds
 * how many iterations make an interval long enough for the clock and for the sample buffer.
 */
static int warm_up(struct worker *w)
{
    uint64_t clock_limit_ns = clock_cost_ns() * CLOCK_MIN_INTERVAL_CALLS;
    uint64_t sample_share_ns = (uint64_t)(w->shared->measure_s * 1e9) / (SHARED_SAMPLES / 2);
    uint64_t least_ns = clock_limit_ns > sample_share_ns ? clock_limit_ns : sample_share_ns;
    const uint64_t begin_ns = clock_now_ns();
    struct steadiness steadiness = {0};
    struct sample sample;
    struct warmup_check warmup_check;
    do {
        int rc = run_once(w, &sample);
        double gone_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
        bool steady = is_steady(&steadiness, (double)sample.elapsed_ns / (double)w->iters);
        warmup_check.too_short = sample.elapsed_ns < least_ns;
        warmup_check.too_early =
            gone_s < w->shared->least_warmup_s || (gone_s < w->shared->warmup_s && !steady);
        if (!rc && is_coupled(w))
            rc = join_warmup_checks(w, &warmup_check);
        if (rc)
            return rc;
        if (warmup_check.too_short)
            w->iters *= 2;
    } while (warmup_check.too_early || warmup_check.too_short);
    w->step_ns = sample.elapsed_ns;
    return 0;
}

static void take_snapshot(struct worker *w, struct usage_snapshot *snapshot)
{
    if (w->bench->runs_command)
        usage_read_tree(&w->slot->command.tree.used, snapshot);
    else
        usage_read(0, &w->slot->cpu_samples, snapshot);
    usage_read_quota(0, w->shared->nworkers, snapshot);
    perf_read(&w->perf, snapshot);
}

/*
 * Contention begins at go, and the first steps differ from later ones: sleeping teams wake up, and
 * workers that warmed up alone meet. So steps do not count until settle_s have passed, at least one
 * step. Coupled ranks do as many as rank 0.
 */
static int settle(struct worker *w)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)(w->shared->settle_s * 1e9);
    struct step_limit *step_limit = &w->shared->settled;
    struct sample ignored;
    bool last;
    uint64_t step = 0;
    do {
        step++;
        if (is_coupled(w) && w->peers.rank == 0 && clock_now_ns() + w->step_ns >= end_ns)
            step_limit_end_with(step_limit, step);
        atomic_store_explicit(&w->slot->step_started, clock_now_ns(), memory_order_relaxed);
        int rc = run_once(w, &ignored);
        if (rc)
            return rc;
        w->step_ns = ignored.elapsed_ns;
        last = is_coupled(w) ? step_limit_ends(step_limit, step) : clock_now_ns() >= end_ns;
    } while (!last);
    return 0;
}

/* When measuring ends: at end_ns, or, if steps are long, after the least number of steps. */
struct budget {
    uint64_t end_ns;
    uint64_t most_ns; /* a step that ends later is censored */
};

/* True if measuring ends after `n` steps, at `at_ns`. */
static bool is_spent(const struct worker *w, const struct budget *budget, uint64_t n,
                     uint64_t at_ns)
{
    uint64_t least = w->bench->one_shot ? 1 : BENCH_STEPS_LEAST;
    if (n == SHARED_SAMPLES || at_ns + w->step_ns >= budget->most_ns)
        return true;
    return n >= least && at_ns >= budget->end_ns;
}

/* Rank 0 decides a step ahead: the next step is the last if it spends the budget, assuming that it
 * takes as long as the latest. */
static void set_step_limit(struct worker *w, uint64_t next, const struct budget *budget)
{
    if (is_coupled(w) && w->peers.rank == 0 &&
        is_spent(w, budget, next, clock_now_ns() + w->step_ns))
        step_limit_end_with(step_limit_of(w), next);
}

static bool is_enough(const struct worker *w, uint64_t n, const struct budget *budget)
{
    if (w->bench->scan)
        return true;
    return is_coupled(w) ? step_limit_ends(step_limit_of(w), n)
                         : is_spent(w, budget, n, w->slot->end_ns);
}

/* Stages too short for the clock are not measured: its cost would be a part of them. */
static void judge_stages(struct worker *w, double cost_ns)
{
    w->stages.on = w->stage_ns >= CLOCK_MIN_INTERVAL_CALLS * cost_ns;
    w->slot->stages.refused = w->bench->stages && !w->stages.on;
}

static void add_stages(struct worker *w, size_t index, double cost_ns)
{
    struct stage_sums *sums = &w->slot->stages;
    bool records = w->shared->record_stages && index < SHARED_STAGED;
    if (!w->bench->stages || !w->stages.on)
        return;
    for (unsigned i = 0; i < BENCH_STAGES; i++)
        sums->ns[i] += w->stages.ns[i];
    for (unsigned i = 0; records && i < BENCH_STAGES; i++)
        w->slot->staged[index].ns[i] = (float)w->stages.ns[i];
    w->slot->nstaged += records;
    sums->cost_ns += (double)w->stages.reads * cost_ns;
    sums->iters += w->slot->samples[index].iters;
}

/* Measured steps until the budget is spent. */
static int measure_steps(struct worker *w, const struct budget *budget, double clock_ns)
{
    struct shared_worker *slot = w->slot;
    uint64_t n = 0;
    do {
        set_step_limit(w, n + 1, budget);
        atomic_store_explicit(&slot->step_started, clock_now_ns(), memory_order_relaxed);
        int rc = run_once(w, &slot->samples[n]);
        if (rc)
            return rc;
        add_stages(w, n, clock_ns);
        atomic_store_explicit(&slot->nsamples, ++n, memory_order_release);
        slot->end_ns = slot->samples[n - 1].start_ns + slot->samples[n - 1].elapsed_ns;
        w->step_ns = slot->samples[n - 1].elapsed_ns;
    } while (!is_enough(w, n, budget));
    return 0;
}

static int worker_measure(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    double clock_ns = w->bench->stages ? (double)clock_cost_ns() : 0;
    judge_stages(w, clock_ns);
    take_snapshot(w, &slot->at_go);
    atomic_store(&slot->cpu_samples.recording, w->shared->record_cpu_samples);
    w->ctx.measuring = true;
    slot->go_ns = clock_now_ns();
    const struct budget budget = {slot->go_ns + (uint64_t)(w->shared->measure_s * 1e9),
                                  slot->go_ns + (uint64_t)(w->shared->limit_s * 1e9)};
    int rc = measure_steps(w, &budget, clock_ns);
    atomic_store(&slot->step_started, 0);
    w->ctx.measuring = false;
    if (!rc)
        take_snapshot(w, &slot->at_end);
    atomic_store(&slot->cpu_samples.recording, 0);
    return rc;
}

static bool is_stopped(const struct worker *w)
{
    return atomic_load_explicit(&w->shared->stop, memory_order_acquire);
}

/* Runs a step that is not measured; in the background its sample is kept, while there is room. */
static int load_once(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    struct sample ignored;
    uint64_t n = atomic_load_explicit(&slot->nsamples, memory_order_relaxed);
    if (!w->ctx.background || n == SHARED_SAMPLES)
        return run_once(w, &ignored);
    int rc = run_once(w, &slot->samples[n]);
    if (!rc)
        atomic_store_explicit(&slot->nsamples, n + 1, memory_order_release);
    return rc;
}

/* Load of coupled ranks in the background: all end with the same step, soon after the stop. */
static int keep_coupled_load(struct worker *w)
{
    int rc = 0;
    uint64_t step = 0;
    do {
        step++;
        if (w->peers.rank == 0 && is_stopped(w) && !atomic_load(&step_limit_of(w)->last))
            step_limit_end_with(step_limit_of(w), step);
        rc = load_once(w);
    } while (!rc && !step_limit_ends(step_limit_of(w), step));
    return rc;
}

/* Keeps up the load until all other workers have measured. */
static int keep_load(struct worker *w)
{
    int rc = 0;
    if (is_coupled(w) && w->ctx.background)
        return keep_coupled_load(w);
    /* A scan is no load for others, and coupled ranks all end measuring with the same step. */
    if (w->bench->scan || is_coupled(w))
        futex_wait_while(&w->shared->stop, 0);
    while (!rc && !is_stopped(w))
        rc = load_once(w);
    return rc;
}

/*
 * A scan leaves out what it could not measure well. A scan that left out everything must not
 * succeed without a row.
 */
static int require_values(const struct worker *w)
{
    const struct shared_worker *slot = w->slot;
    if (slot->values.lost)
        return err_set(w->ctx.err, -ENOSPC, "more than %d values in one scan", VALUES_MAX);
    if (!w->bench->scan || w->ctx.background || w->ctx.worker != 0 || slot->values.n)
        return 0;
    return err_set(w->ctx.err, -ENOTSUP,
                   "the scan kept no value: too little time or too busy a machine");
}

static int run_phases(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    shared_set_state(w->shared, slot, WORKER_PRIMED);
    futex_wait_while(&slot->warm, 0);
    shared_set_state(w->shared, slot, WORKER_WARMING);
    w->iters = 1;
    int rc = w->bench->scan ? 0 : w->bench->one_shot ? warm_up_one_shot(w) : warm_up(w);
    if (rc)
        return rc;
    shared_set_state(w->shared, slot, WORKER_READY);
    futex_wait_while(&w->shared->go, 0);
    if (!w->ctx.background && w->shared->settle_s > 0) {
        shared_set_state(w->shared, slot, WORKER_SETTLING);
        rc = settle(w);
        if (rc)
            return rc;
    }
    shared_set_state(w->shared, slot, WORKER_RUNNING);
    if (!w->ctx.background) {
        rc = worker_measure(w);
        if (rc)
            return rc;
        shared_set_state(w->shared, slot, WORKER_DONE);
    }
    rc = keep_load(w);
    if (rc)
        return rc;
    shared_set_state(w->shared, slot, WORKER_CHECKING);
    if (w->bench->check)
        rc = w->bench->check(&w->ctx);
    if (!rc)
        rc = binding_read_back_threads(slot, !w->mpi);
    if (!rc)
        rc = require_values(w);
    binding_count_pages(&w->ctx, slot);
    return rc;
}

static void report_end(struct worker *w, int rc)
{
    struct err *err = &w->slot->err;
    if (shared_state(w->slot) >= WORKER_FINISHED)
        return; /* already reported, or the parent has given up */
    if (rc && !err->code)
        (void)err_sys(err, rc, "%s failed without saying why", w->bench->name);
    if (rc == -ENOTSUP || rc == -EPERM || rc == -ENOSYS)
        shared_set_state(w->shared, w->slot, WORKER_SKIPPED);
    else
        shared_set_state(w->shared, w->slot, rc ? WORKER_FAILED : WORKER_FINISHED);
}

static int run_bench(struct worker *w)
{
    int rc = w->bench->probe ? w->bench->probe(&w->ctx) : 0;
    if (rc)
        return rc;
    rc = bench_open(w->bench, &w->ctx);
    if (!rc)
        rc = run_phases(w);
    if (rc) /* before bench_close: a communicator that lost a rank can hang there */
        report_end(w, rc);
    bench_close(w->bench, &w->ctx);
    return rc;
}

static void wake_parent(void *arg)
{
    shared_wake(arg);
}

/* The worker's counter in the file that LAUNCH_PROGRESS names; NULL: there is no such file. */
static _Atomic uint64_t *map_progress(unsigned index)
{
    const char *path = getenv(LAUNCH_PROGRESS);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat file;
    void *map = MAP_FAILED;
    if (fd < 0)
        return NULL;
    if (!fstat(fd, &file) && (size_t)file.st_size >= (index + 1) * sizeof(uint64_t))
        map = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return map == MAP_FAILED ? NULL : (_Atomic uint64_t *)map + index;
}

static void fill_context(struct worker *w)
{
    struct shared_worker *slot = w->slot;
    w->ctx = (struct bench_ctx){
        .params = slot->params,
        .worker = slot->index,
        .workers = slot->team,
        .planned_workers = slot->planned_workers,
        .background = slot->plan.background,
        .threads = slot->plan.threads,
        .seed = slot->seed,
        .round_seed = slot->round_seed,
        .device = slot->device,
        .cpu_samples = &slot->cpu_samples,
        .err = &slot->err,
        .machine = &w->machine,
        .groups = w->shared->groups,
        .peers = &w->peers,
        .budget_s = w->shared->measure_s,
        .values = &slot->values,
        .library = slot->library,
        .progress = map_progress((unsigned)(slot - w->shared->worker)),
        .stages = w->bench->stages ? &w->stages : NULL,
        .least_team = &slot->least_team,
    };
    w->command_orders.report = &slot->command;
    w->command_orders.cpus = slot->plan.cpus;
    w->command_orders.stop = &w->shared->stop;
    if (w->command_orders.command.argv && w->bench->runs_command)
        w->ctx.command = &w->command_orders;
    w->barrier_rank.wake = wake_parent;
    w->barrier_rank.wake_arg = w->shared;
    barrier_join(&w->shared->barrier[slot->plan.background], &w->barrier_rank, slot->index,
                 slot->team, &w->peers);
    w->peers.mpi = w->mpi;
    w->machine = w->shared->machine;
    w->machine.ncpus = 0;
    for (unsigned i = 0; i < w->shared->machine.ncpus; i++)
        if (bitset_test(&slot->plan.cpus, w->shared->machine.cpus[i].os_cpu))
            w->machine.cpus[w->machine.ncpus++] = w->shared->machine.cpus[i];
    memcpy(w->ctx.pci_bdf, slot->pci_bdf, sizeof(w->ctx.pci_bdf));
}

/* Runs a bound worker until its last report. */
static void serve(struct worker *w)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "contend-w%u", (unsigned)(w->slot - w->shared->worker));
    (void)prctl(PR_SET_NAME, name);

    w->slot->pid = getpid();
    shared_set_state(w->shared, w->slot, WORKER_SETUP);
    if (!w->bench) {
        (void)err_set(&w->slot->err, -ENOENT, "no benchmark '%s' in the worker", w->slot->bench);
        shared_set_state(w->shared, w->slot, WORKER_FAILED);
        return;
    }
    perf_open(&w->perf);
    w->stages.on = true;
    w->stage_ns = INFINITY;
    fill_context(w);
    int rc = binding_read_back(w->slot, w->mpi);
    if (!rc)
        rc = run_bench(w);
    report_end(w, rc);
    perf_close(&w->perf);
}

int worker_main(const struct bench *const *benches, int argc, char **argv)
{
    struct err err = {0};
    static struct worker w; /* its machine is too large for a stack */
    if (argc < 4) {
        log_error("'%s' is internal: contend starts its workers by it", LAUNCH_WORKER_COMMAND);
        return 2;
    }
    unsigned long index = strtoul(argv[3], NULL, 10);
    int shared_fd = (int)strtol(argv[2], NULL, 10);
    w.shared = shared_attach(shared_fd, &err);
    if (!w.shared || index >= w.shared->nworkers) {
        log_error("worker cannot start: %s", err.msg);
        return 2;
    }
    /* Programs that a benchmark or the user's command starts must not inherit these. */
    (void)fcntl(shared_fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(atomic_load(&w.shared->event_fd), F_SETFD, FD_CLOEXEC);
    w.slot = &w.shared->worker[index];
    w.bench = command_bench_find(w.slot->bench);
    if (!w.bench)
        w.bench = bench_find(benches, w.slot->bench);
    if (argc > 4 && command_read(argc - 4, argv + 4, &w.command_orders.command, &err)) {
        log_error("worker cannot start: %s", err.msg);
        return 2;
    }
    serve(&w);
    return 0;
}

void worker_serve(const struct bench *bench, struct shared *shared, unsigned index,
                  const struct mpi_ops *mpi)
{
    static struct worker w; /* as in worker_main */
    w = (struct worker){
        .shared = shared, .slot = &shared->worker[index], .bench = bench, .mpi = mpi};
    cpu_samples_mark(&w.slot->cpu_samples); /* the worker is this thread, not the first */
    serve(&w);
}
