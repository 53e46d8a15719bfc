#include "harness/engine/collect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"

static enum status worker_status(enum worker_state state, bool censored)
{
    switch (state) {
    case WORKER_FINISHED:
        return STATUS_OK;
    case WORKER_SKIPPED:
        return STATUS_SKIPPED;
    case WORKER_HUNG:
        return STATUS_HUNG;
    default:
        return censored ? STATUS_CENSORED : STATUS_FAILED;
    }
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static int compare_cpu_samples(const void *a, const void *b)
{
    const struct cpu_sample_point *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int copy_values(const struct value_log *log, struct worker_result *out)
{
    const size_t n = at_most(log->n, VALUES_MAX);
    const size_t nreasons = at_most(log->nreasons, VALUE_REASONS_MAX);
    if (!n)
        return 0;
    out->values = calloc(n, sizeof(*out->values));
    out->reasons = calloc(nreasons + 1, sizeof(*out->reasons));
    if (!out->values || !out->reasons)
        return -ENOMEM;
    memcpy(out->values, log->value, n * sizeof(*out->values));
    memcpy(out->reasons, log->reason, nreasons * sizeof(*out->reasons));
    for (size_t i = 0; i < n; i++)
        out->values[i].reason = (uint32_t)at_most(out->values[i].reason, nreasons);
    for (size_t i = 0; i < nreasons; i++)
        out->reasons[i].msg[sizeof(out->reasons[i].msg) - 1] = '\0';
    out->nvalues = n;
    out->nreasons = nreasons;
    return 0;
}

/* There are none unless a trace was requested and steps have stages. */
static int copy_staged(const struct shared_worker *worker, struct worker_result *out)
{
    size_t n = at_most(at_most(worker->nstaged, SHARED_STAGED), out->nsamples);
    if (!n)
        return 0;
    out->staged = malloc(n * sizeof(*out->staged));
    if (!out->staged)
        return -ENOMEM;
    memcpy(out->staged, worker->staged, n * sizeof(*out->staged));
    out->nstaged = n;
    return 0;
}

static int copy_cpu_samples(const struct cpu_samples *log, struct worker_result *out)
{
    unsigned threads = (unsigned)at_most(atomic_load(&log->threads), CPU_SAMPLE_THREADS);
    size_t total = 0;
    for (unsigned t = 0; t < threads; t++)
        total += cpu_samples_marks(&log->thread[t]);
    if (!total)
        return 0;
    out->cpu_samples = calloc(total, sizeof(*out->cpu_samples));
    if (!out->cpu_samples)
        return -ENOMEM;
    for (unsigned t = 0; t < threads; t++)
        for (uint32_t m = 0; m < cpu_samples_marks(&log->thread[t]) && out->ncpu_samples < total;
             m++)
            out->cpu_samples[out->ncpu_samples++] = (struct cpu_sample_point){
                .at_ns = log->thread[t].mark[m].at_ns,
                .thread = t,
                .os_cpu = log->thread[t].mark[m].os_cpu,
            };
    qsort(out->cpu_samples, out->ncpu_samples, sizeof(*out->cpu_samples), compare_cpu_samples);
    return 0;
}

/*
 * The step that the limit ended counts as done at the limit: a lower bound of its time. Workers run
 * on until they are killed: if the last step ended or began after killed_ns, there is no censored
 * sample.
 */
static void add_censored(const struct shared_worker *worker, uint64_t go_ns, uint64_t killed_ns,
                         struct worker_result *out)
{
    uint64_t started_ns = atomic_load(&worker->step_started);
    if (!out->go_ns)
        out->go_ns = go_ns;
    if (!started_ns)
        started_ns = out->nsamples ? out->end_ns : out->go_ns;
    out->censored = true;
    if (started_ns >= killed_ns) {
        (void)err_set(&out->err, -ETIME, "it was still at work at its limit");
        return;
    }
    out->samples[out->nsamples++] = (struct sample){
        .start_ns = started_ns,
        .elapsed_ns = killed_ns - started_ns,
        .ops = worker->step_ops,
        .iters = 1,
    };
    out->end_ns = killed_ns;
    (void)err_set(&out->err, -ETIME, "it was still at work after %s s",
                  units_plain((double)(killed_ns - started_ns) * 1e-9, 3));
}

/* The worker's samples, and what it used meanwhile. */
static int copy_samples(const struct shared_worker *worker, uint64_t go_ns,
                        const struct worker_end *end, struct worker_result *out)
{
    size_t n = at_most(atomic_load(&worker->nsamples), SHARED_SAMPLES);
    const struct usage_snapshot *at_end = end->killed_ns ? &end->at_end : &worker->at_end;
    out->go_ns = worker->go_ns;
    out->end_ns = worker->end_ns;
    out->samples = calloc(n + 1, sizeof(*out->samples));
    if (!out->samples)
        return -ENOMEM;
    memcpy(out->samples, worker->samples, n * sizeof(*out->samples));
    out->nsamples = n;
    if (end->killed_ns)
        add_censored(worker, go_ns, end->killed_ns, out);
    if (out->nsamples && !worker->at_go.at_ns)
        usage_forget(&out->usage); /* no reading at go to subtract: its usage is unknown */
    else if (out->nsamples && at_end->at_ns)
        usage_diff(&worker->at_go, at_end, out->go_ns, out->end_ns, &worker->cpu_samples,
                   &out->usage);
    return 0;
}

static void copy_command(const struct command_report *report, struct worker_result *out)
{
    struct command_seen seen;
    command_read_seen(report, &seen);
    out->nmasks = seen.nmasks;
    memcpy(out->masks, seen.mask, sizeof(out->masks));
    for (unsigned m = 0; m < out->nmasks; m++)
        out->masks[m].name[sizeof(out->masks[m].name) - 1] = '\0';
    out->cut_bytes = report->cut_bytes;
    out->killed = report->killed;
}

int collect_worker(const struct shared_worker *worker, uint64_t go_ns, const struct worker_end *end,
                   struct worker_result *out)
{
    const enum worker_state state = end->state ? end->state : shared_state(worker);
    out->status = worker_status(state, end->killed_ns != 0);
    if (state >= WORKER_FINISHED) /* its reason is complete by then */
        out->err = end->state ? end->err : worker->err;
    out->err.msg[sizeof(out->err.msg) - 1] = '\0';
    out->background = worker->plan.background;
    memcpy(out->library, worker->library, sizeof(out->library));
    out->library[sizeof(out->library) - 1] = '\0';
    out->pid = worker->pid;
    out->cpus_actual = worker->cpus_actual;
    if (!bitset_equal(&worker->cpus_first, &worker->cpus_actual))
        out->cpus_threads = worker->cpus_threads;
    out->least_team = worker->least_team;
    copy_command(&worker->command, out);
    out->mem_nodes_actual = worker->mem_nodes_actual;
    out->mem_policy_actual = worker->mem_policy_actual;
    memcpy(out->pages_on_node, worker->pages_on_node, sizeof(out->pages_on_node));
    out->pages_elsewhere = worker->pages_elsewhere;
    out->stages = worker->stages;
    int rc = copy_samples(worker, go_ns, end, out);
    if (!rc)
        rc = copy_values(&worker->values, out);
    if (!rc)
        rc = copy_staged(worker, out);
    return rc ? rc : copy_cpu_samples(&worker->cpu_samples, out);
}

/* When the last of the first n workers reached the state; 0 = none did. */
static uint64_t last_reached_ns(const struct shared *shared, unsigned n, enum worker_state state)
{
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < n; i++)
        if (shared->worker[i].since_ns[state] > last_ns)
            last_ns = shared->worker[i].since_ns[state];
    return last_ns;
}

void collect_phases(const struct shared *shared, unsigned foreground, uint64_t begin_ns,
                    struct observation *out)
{
    static const enum worker_state ends[PHASE_END] = {
        [PHASE_START] = WORKER_SETUP,   [PHASE_SETUP] = WORKER_PRIMED,
        [PHASE_WARM_UP] = WORKER_READY, [PHASE_SETTLE] = WORKER_RUNNING,
        [PHASE_MEASURE] = WORKER_DONE,  [PHASE_CHECK] = WORKER_FINISHED,
    };
    for (int p = 0; p < PHASE_END; p++) {
        bool joint = p != PHASE_SETTLE && p != PHASE_MEASURE;
        uint64_t end_ns = last_reached_ns(shared, joint ? shared->nworkers : foreground, ends[p]);
        if (end_ns <= begin_ns)
            continue; /* its time goes to the next phase that was reached */
        out->phase_s[p] = (double)(end_ns - begin_ns) * 1e-9;
        begin_ns = end_ns;
    }
}

void collect_machine(const struct usage_machine *go, const struct usage_machine *end, double ours_s,
                     struct observation *out)
{
    double cpu_s = end->cpu_s - go->cpu_s;
    double wall_s = (double)(end->at_ns - go->at_ns) * 1e-9;
    out->steal = cpu_s > 0 ? (end->steal_s - go->steal_s) / cpu_s : (double)NAN;
    double foreign_s = fmax(end->busy_s - go->busy_s - ours_s, 0);
    out->foreign_cpu = cpu_s > 0 ? foreign_s / cpu_s : (double)NAN;
    out->psi_cpu_some =
        wall_s > 0 ? fmin((end->psi_cpu_some_s - go->psi_cpu_some_s) / wall_s, 1) : (double)NAN;
}

/* The worker that decides the status: the worst of those that were not only ended because another
 * worker was lost (-ECANCELED). */
static const struct worker_result *worst_worker(const struct observation *o)
{
    const struct worker_result *worst = NULL;
    for (unsigned i = 0; i < o->nworkers; i++) {
        const struct worker_result *w = &o->workers[i];
        bool casualty = w->err.code == -ECANCELED;
        if (!worst || (!casualty && worst->err.code == -ECANCELED) ||
            (w->status > worst->status && !casualty))
            worst = w;
    }
    return worst;
}

/* "worker 1", "rank 1 (host b)". */
static void name_worker(const struct observation *out, const struct worker_result *worker,
                        char name[static 100])
{
    unsigned index = out->slot + (unsigned)(worker - out->workers);
    const char *kind = worker->background ? "background worker"
                       : worker->host[0]  ? "rank"
                                          : "worker";
    int used = snprintf(name, 100, "%s %u", kind, index);
    if (worker->host[0])
        (void)snprintf(name + used, 100 - (size_t)used, " (host %.63s)", worker->host);
}

/* The GPU that heat held back the longest; NULL: none beyond COLLECT_NOISY_HEAT. */
static const struct gpu_change *hottest(const struct observation *o)
{
    const struct gpu_change *hottest = NULL;
    for (unsigned i = 0; i < o->ngpus; i++)
        if (o->gpus[i].thermal_share > (hottest ? hottest->thermal_share : COLLECT_NOISY_HEAT))
            hottest = &o->gpus[i];
    return hottest;
}

bool collect_gpu_held_back(const struct observation *of)
{
    return hottest(of) || gpu_throttle_is_noise(of->gpu_throttle_reasons);
}

void collect_verdict(struct observation *out)
{
    const struct worker_result *worst = worst_worker(out);
    out->status = worst ? worst->status : STATUS_FAILED;
    char name[100];
    if (worst && worst->status != STATUS_OK) {
        name_worker(out, worst, name);
        int room = (int)(sizeof(out->reason) - strlen(name) - sizeof(": "));
        text_set(out->reason, "%s: %.*s", name, room, worst->err.msg);
    }
    if (out->status != STATUS_OK)
        return;
    if (out->steal > COLLECT_NOISY_STEAL) {
        out->status = STATUS_NOISY;
        text_set(out->reason, "%.0f%% of the CPU time was stolen by the hypervisor",
                 out->steal * 100);
    } else if (out->foreign_cpu > COLLECT_NOISY_FOREIGN) {
        out->status = STATUS_NOISY;
        text_set(out->reason, "%.0f%% of the CPU time went to other processes",
                 out->foreign_cpu * 100);
    } else if (hottest(out)) {
        out->status = STATUS_NOISY;
        text_set(out->reason, "heat held back the clock of GPU %s for %.0f%% of the time",
                 hottest(out)->pci_bdf, hottest(out)->thermal_share * 100);
    } else if (gpu_throttle_is_noise(out->gpu_throttle_reasons)) {
        out->status = STATUS_NOISY;
        text_set(out->reason, "a GPU was throttled (reasons 0x%llx)",
                 (unsigned long long)out->gpu_throttle_reasons);
    }
}

void collect_masks(struct observation *out)
{
    for (unsigned i = 0; i < out->nworkers && out->status == STATUS_OK; i++) {
        const struct worker_result *worker = &out->workers[i];
        for (unsigned m = 0; m < worker->nmasks; m++) {
            char name[100];
            if (!worker->masks[m].outside_plan)
                continue;
            out->status = STATUS_NOISY;
            name_worker(out, worker, name);
            text_set(out->reason, "%s: '%s' was bound to CPUs %s, beyond its placement", name,
                     worker->masks[m].name, bitset_format(&worker->masks[m].cpus));
            break;
        }
    }
}

void collect_waits(const struct arm *arm, struct observation *out)
{
    const struct placement_info *info = &placement_infos[arm->placement];
    const bool asked_for = arm->dose.kind == DOSE_CPU && !dose_is_idle(&arm->dose);
    for (unsigned i = 0; i < out->nworkers && !asked_for; i++) {
        const struct plan_worker *planned = observation_planned(arm, out, i);
        const struct usage *usage = &out->workers[i].usage;
        bool owns = planned && info->disjoint && info->pinned && !out->workers[i].background &&
                    planned->threads <= bitset_count(&planned->cpus);
        double share = usage->wall_s > 0 ? usage->runqueue_s / usage->wall_s : (double)NAN;
        char name[100];
        if (out->status != STATUS_OK || !owns || !(share > COLLECT_NOISY_WAIT))
            continue;
        out->status = STATUS_NOISY;
        name_worker(out, &out->workers[i], name);
        text_set(out->reason, "%s waited %.0f%% of its time for CPUs that are its own", name,
                 share * 100);
    }
}
