#include "harness/engine/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/steps.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/task.h"
#include "harness/machine/env.h"

/*
 * The binding of a worker, read back: its CPUs and memory policy at the start, the masks of its
 * threads at the end, the nodes of its pages. A difference from the plan is an error.
 */

static int compare_cpus(const struct bitset *planned, const struct bitset *actual, const char *when,
                        struct err *err)
{
    if (bitset_equal(planned, actual))
        return 0;
    return err_set(err, -EXDEV, "bound to CPUs %s %s, planned %s", bitset_format(actual), when,
                   bitset_format(planned));
}

static int read_back_memory(struct shared_worker *slot)
{
    static const enum mem_policy policies[] = {
        [MPOL_DEFAULT] = MEM_DEFAULT,
        [MPOL_PREFERRED] = MEM_PREFERRED,
        [MPOL_BIND] = MEM_BIND,
        [MPOL_INTERLEAVE] = MEM_INTERLEAVE,
    };
    int mode = 0;
    if (get_mempolicy(&mode, slot->mem_nodes_actual.word, BITSET_BITS, NULL, 0)) {
        if (slot->plan.mem_policy == MEM_DEFAULT)
            return 0; /* no policy was planned, so none is checked */
        return err_sys(&slot->err, -ENOTSUP, "the memory policy cannot be read back");
    }
    bool is_known = mode >= 0 && (size_t)mode < sizeof(policies) / sizeof(policies[0]);
    if (slot->plan.mem_policy == MEM_DEFAULT) { /* inherited: any policy is right */
        slot->mem_policy_actual = is_known ? policies[mode] : MEM_DEFAULT;
        return 0;
    }
    if (!is_known)
        return err_set(&slot->err, -EXDEV, "the kernel reports unknown memory policy %d", mode);
    slot->mem_policy_actual = policies[mode];
    if (slot->mem_policy_actual == slot->plan.mem_policy &&
        bitset_equal(&slot->mem_nodes_actual, &slot->plan.mem_nodes))
        return 0;
    return err_set(&slot->err, -EXDEV, "memory policy is %s on nodes '%s', planned %s on '%s'",
                   mem_policy_name(slot->mem_policy_actual), bitset_format(&slot->mem_nodes_actual),
                   mem_policy_name(slot->plan.mem_policy), bitset_format(&slot->plan.mem_nodes));
}

/*
 * Reads back CPUs and memory policy at the start. A thread in MPI (`is_thread`) has
 * just bound itself. A worker process was bound before its libraries were loaded: if the user's
 * environment makes libgomp bind threads, the mask at process start counts. -EXDEV: the binding is
 * not the planned one. Errors are in slot->err.
 */
static int binding_read_back(struct shared_worker *slot, bool is_thread)
{
    int rc = affinity_get(0, &slot->cpus_first);
    if (rc)
        return err_sys(&slot->err, rc, "the CPU binding cannot be read back");
    slot->cpus_actual =
        is_thread || !openmp_binds(getenv) ? slot->cpus_first : *affinity_at_start();
    rc = compare_cpus(&slot->plan.cpus, &slot->cpus_actual, "at start", &slot->err);
    return rc ? rc : read_back_memory(slot);
}

/*
 * Checks the masks again after the run, as libraries may shrink them: of `all` threads of the
 * process, or only of this thread if not all threads belong to the worker.
 */
static int binding_read_back_threads(struct shared_worker *slot, bool all)
{
    struct bitset mask;
    int rc = affinity_get(0, &mask);
    if (!rc)
        rc = compare_cpus(&slot->cpus_first, &mask, "at the end", &slot->err);
    DIR *tasks = all ? task_open(getpid()) : NULL;
    for (pid_t tid; (tid = task_next(&tasks));) {
        if (rc || affinity_get(tid, &mask))
            continue;
        bitset_or(&slot->cpus_actual, &mask);
        bitset_or(&slot->cpus_threads, &mask);
        if (!affinity_keeps(&mask, &slot->plan.cpus))
            rc = compare_cpus(&slot->plan.cpus, &mask, "in a thread", &slot->err);
    }
    return rc;
}

/* Asks the kernel for the nodes of the published buffer's pages; of at most 4096, evenly spaced. */
static void binding_count_pages(const struct bench_ctx *ctx, struct shared_worker *slot)
{
    enum { MAX_PAGES = 4096 };
    static void *page[MAX_PAGES];
    static int node[MAX_PAGES];
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = ctx->buffer_bytes / page_bytes;
    size_t n = pages < MAX_PAGES ? pages : MAX_PAGES;
    if (!n)
        return;
    uintptr_t first = ((uintptr_t)ctx->buffer + page_bytes - 1) & ~(uintptr_t)(page_bytes - 1);
    for (size_t i = 0; i < n; i++) {
        page[i] = (void *)(first + i * (pages - 1) / n * page_bytes);
        /* NUMA balancing unmaps pages to see who uses them; move_pages then calls them absent. */
        (void)*(const volatile char *)page[i];
    }
    bool known = !move_pages(0, n, page, NULL, node, 0);
    for (size_t i = 0; i < n; i++)
        if (known && node[i] >= 0 && node[i] < BENCH_NODES)
            slot->pages_on_node[node[i]]++;
        else
            slot->pages_elsewhere++;
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
    int rc = w->bench->scan ? 0 : w->bench->one_shot ? steps_warm_up_one_shot(w) : steps_warm_up(w);
    if (rc)
        return rc;
    shared_set_state(w->shared, slot, WORKER_READY);
    futex_wait_while(&w->shared->go, 0);
    if (!w->ctx.background && w->shared->settle_s > 0) {
        shared_set_state(w->shared, slot, WORKER_SETTLING);
        rc = steps_settle(w);
        if (rc)
            return rc;
    }
    shared_set_state(w->shared, slot, WORKER_RUNNING);
    if (!w->ctx.background) {
        rc = steps_measure(w);
        if (rc)
            return rc;
        shared_set_state(w->shared, slot, WORKER_DONE);
    }
    rc = steps_keep_load(w);
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
        return; /* already reported */
    if (rc && !err->code)
        (void)err_sys(err, rc, "%s failed without saying why", w->bench->name);
    if (rc == -ENOTSUP || rc == -EPERM || rc == -ENOSYS)
        shared_set_state(w->shared, w->slot, WORKER_SKIPPED);
    else
        shared_set_state(w->shared, w->slot, rc ? WORKER_FAILED : WORKER_FINISHED);
}

static bool keeps(const struct worker *w)
{
    return w->command_orders.command.options.keep;
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
    if (rc || !keeps(w))
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
        .state = w->ctx.state,
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
    w->command_orders.start_cpus = slot->start_cpus;
    w->is_cold = keeps(w) && !w->ctx.state;
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
static void serve_once(struct worker *w)
{
    w->slot->pid = getpid();
    shared_set_state(w->shared, w->slot, WORKER_SETUP);
    if (!w->bench) {
        (void)err_set(&w->slot->err, -ENOENT, "no benchmark '%s' in the worker", w->slot->bench);
        shared_set_state(w->shared, w->slot, WORKER_FAILED);
        return;
    }
    w->stages.on = true;
    w->stage_ns = INFINITY;
    fill_context(w);
    int rc = binding_read_back(w->slot, w->mpi || w->ctx.state);
    if (!rc)
        rc = run_bench(w);
    report_end(w, rc);
}

/* False: it is done, and so is a server that was kept. */
static bool take_orders(struct worker *w)
{
    if (!w->ctx.state)
        return false;
    command_bench_rest(&w->ctx, &w->slot->orders);
    if (atomic_exchange(&w->slot->orders, ORDERS_NONE) == ORDERS_END) {
        bench_close(w->bench, &w->ctx);
        return false;
    }
    w->barrier_rank.next = 0;
    (void)launch_bind(&w->slot->plan, &w->slot->err); /* is read back */
    return true;
}

static void serve(struct worker *w)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "contend-w%u", (unsigned)(w->slot - w->shared->worker));
    (void)prctl(PR_SET_NAME, name);
    perf_open(&w->perf);
    do
        serve_once(w);
    while (take_orders(w));
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
