#include "harness/verdict/odd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/collect.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/gpu_watch.h"
#include "harness/machine/topo_gpu.h"
#include "harness/plan/check.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"

enum { ROUNDS_LEAST = 3, MASKS_REPORTED = 6 };

/* Other arms may have the same plan, or the same command. */
static bool is_reported(const struct findings *findings, const struct finding *of)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, of->id) && !strcmp(findings->all[i].subject, of->subject))
            return true;
    return false;
}

/* How far a dose may be from its level; for latency as a share of the level. */
static const double most_off[DOSE_KINDS] = {
    [DOSE_CPU] = 0.02,   [DOSE_BANDWIDTH] = 0.03, [DOSE_LATENCY] = 0.05,
    [DOSE_CACHE] = 0.05, [DOSE_H2D] = 0.03,       [DOSE_THROTTLE] = 0.02};

static double allowed_off(const struct dose *dose)
{
    return most_off[dose->kind] * (dose->kind == DOSE_LATENCY ? dose->level : 1);
}

double doses_off(const struct analysis *analysis, const struct arm *arm)
{
    double held = rows_median(&analysis->rows, arm, METRIC_DOSE);
    return arm->plan.has_dose && !isnan(held)
               ? fabs(held - arm->dose.level) / allowed_off(&arm->dose)
               : 0;
}

/* Adds the reason why the contention is less than asked for, if the plan shows one. */
static void add_reason(const struct arm *arm, double held, struct finding *finding)
{
    const unsigned cpus = bitset_count(&arm->plan.workers[arm->plan.nworkers - 1].cpus);
    const bool is_less = (held < arm->dose.level) != dose_is_remainder(arm->dose.kind);
    if (!is_less)
        return;
    if (arm->dose.kind == DOSE_THROTTLE)
        text_add(finding->sentence, " A quota hardly stops workers that wait.");
    else if (arm->dose.kind == DOSE_H2D)
        text_add(finding->sentence, " The workers' own copies take the rest of the link.");
    else if (arm->dose.kind != DOSE_CPU)
        text_add(finding->sentence,
                 " The %u CPUs beside the workers may be too few: leave it more "
                 "(--cpus).",
                 cpus);
    else if (plan_is_oversubscribed(&arm->plan))
        text_add(finding->sentence, " The workers have more threads than CPUs, which compete with "
                                    "it.");
}

void doses_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    const struct arm *worst = NULL;
    unsigned n = 0;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (!(doses_off(analysis, arm) > 1))
            continue;
        if (!worst || doses_off(analysis, arm) > doses_off(analysis, worst))
            worst = arm;
        n++;
    }
    if (!worst)
        return;
    struct finding finding = {.id = "dose_not_held", .severity = FINDING_DOUBT};
    const struct row *row = rows_find(&analysis->rows, worst, METRIC_DOSE);
    const struct dose held = {worst->dose.kind, round(100 * row->median) / 100};
    /* The name of a curve's arm has the dose in it. */
    const char *under =
        result->purpose == PURPOSE_DOSE ? placement_infos[worst->placement].name : arm_name(worst);
    text_set(finding.sentence, "The dose of %s was not held under %s: %s.",
             dose_format(&worst->dose), under, dose_format_level(&held));
    add_reason(worst, row->median, &finding);
    text_set(finding.evidence,
             "%u of the configurations with a dose; range of its rounds %.3g to %.3g", n, row->min,
             row->max);
    findings_put(findings, &finding);
}

/* The rows of one metric of an arm: all, those below 1, and the lowest of those. */
struct metric_rows {
    size_t rows, below_one;
    const struct row *row;
};

static bool is_below_one(const struct row *row)
{
    return row->rounds >= ROUNDS_LEAST && row->ci_high < SCANS_BELOW_ONE;
}

static struct metric_rows find(const struct rows *rows, const struct arm *arm, const char *metric)
{
    struct metric_rows metric_rows = {.rows = 0};
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (row->arm != arm || strcmp(row->metric, metric) != 0)
            continue;
        metric_rows.rows++;
        if (!is_below_one(row))
            continue;
        metric_rows.below_one++;
        if (!metric_rows.row || row->median < metric_rows.row->median)
            metric_rows.row = row;
    }
    return metric_rows;
}

static void judge_metric(const struct analysis *analysis, const struct arm *arm,
                         const struct bench_metric *metric, struct findings *findings)
{
    struct finding finding = {.id = "below_one"};
    struct metric_rows metric_rows = find(&analysis->rows, arm, metric->name);
    bool many = (double)metric_rows.below_one >= SCANS_BELOW_SHARE * (double)metric_rows.rows;
    if (!metric->below_one || !metric_rows.below_one || !many)
        return;
    const char *part = format_part(analysis->result, arm, NULL);
    const char *where = format_in_part(analysis->result, arm, NULL);
    const char *what = format_dims(arm->bench, &metric_rows.row->dims);
    text_set(finding.subject, "%s, %s%s%s%s%s", arm->bench->name, metric->name, part[0] ? ", " : "",
             part, where[0] ? ", " : "", where);
    text_set(finding.evidence, "%zu of %zu values, such as %s", metric_rows.below_one,
             metric_rows.rows, what);
    findings_putf(findings, &finding, "%.3f: %s", metric_rows.row->median, metric->below_one);
}

void scans_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    for (size_t i = 0; i < result->narms; i++) {
        const struct bench *bench = result->arms[i].bench;
        bool scanned = bench->scan && analysis->rounds.arms[i].n;
        for (const struct bench_metric *metric = scanned ? bench->metrics : NULL;
             metric && metric->name; metric++)
            judge_metric(analysis, &result->arms[i], metric, findings);
    }
}

/* Effects that make workers of one plan differ; `contend place` reports the others too. */
static bool matters(const struct finding *finding)
{
    static const char *const ids[] = {"workers_unlike", "worker_no_memory",
                                      "worker_some_no_memory"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

void plans_find(const struct topo *topo, const struct result *result, struct findings *findings)
{
    for (size_t a = 0; topo && a < result->narms; a++) {
        const struct arm *arm = &result->arms[a];
        struct findings all = {0};
        if (arm->is_baseline || arm->plan.status != PLAN_OK)
            continue;
        plan_check(topo, &arm->plan, &all);
        for (size_t i = 0; i < all.n; i++) {
            struct finding finding = all.all[i];
            text_set(finding.subject, "%s: %.90s", statuses_name_arm(result, arm),
                     all.all[i].subject);
            if (matters(&finding) && !is_reported(findings, &finding))
                findings_put(findings, &finding);
        }
        findings->failed = findings->failed || all.failed;
        findings_free(&all);
    }
}

static void add_mask(const struct arm *arm, const struct tree_mask *mask,
                     const struct plan_worker *planned, struct findings *findings)
{
    struct finding finding = {.id = "mask_changed",
                              .severity = mask->outside_plan ? FINDING_DOUBT : FINDING_NOTE,
                              .evidence = "read back while it ran"};
    text_set(finding.subject, "'%s' under %s%s%s", mask->name,
             arm->variant ? arm->variant->name : "", arm->variant ? ", " : "",
             placement_infos[arm->placement].name);
    if (!is_reported(findings, &finding))
        findings_putf(
            findings, &finding, "%s: it was bound to CPUs %s, and its placement gave it %s",
            mask->outside_plan ? "it sets its own CPUs: the placement does not apply to it"
                               : "it uses only some CPUs of its placement, by its own choice",
            bitset_format(&mask->cpus), bitset_format(&planned->cpus));
}

void commands_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    uint64_t cut_bytes = 0;
    unsigned killed = 0;
    size_t before = findings->n;
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++) {
            const struct observation *of = &result->arms[a].observations[o];
            for (unsigned i = 0; i < of->nworkers; i++) {
                const struct worker_result *worker = &of->workers[i];
                const struct plan_worker *planned = observation_planned(&result->arms[a], of, i);
                for (unsigned m = 0; planned && m < worker->nmasks; m++)
                    if (findings->n < before + MASKS_REPORTED && worker->masks[m].persists)
                        add_mask(&result->arms[a], &worker->masks[m], planned, findings);
                cut_bytes += worker->cut_bytes;
                killed += worker->killed;
            }
        }
    if (cut_bytes)
        findings_putf(findings, &(struct finding){.id = "output_cut"},
                      "%s of the command's output were dropped: each file holds 1 MiB.",
                      units_bytes(cut_bytes));
    if (killed)
        findings_putf(findings, &(struct finding){.id = "ignored_sigterm"},
                      "%u run%s of the command did not end at SIGTERM and %s killed; --grace gives "
                      "more time.",
                      killed, killed == 1 ? "" : "s", killed == 1 ? "was" : "were");
}

static const char id[] = "busy";

static double foreign_of(const struct observation *of)
{
    return of->foreign_cpu;
}

static double steal_of(const struct observation *of)
{
    return of->steal;
}

/* The median over launches that ended with values; NaN if no launch has the share. */
static double median_of(const struct result *result, double (*share)(const struct observation *),
                        double *shares, size_t *launches)
{
    *launches = 0;
    for (size_t i = 0; i < result->narms; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (result->arms[i].observations[o].status <= STATUS_CENSORED)
                shares[(*launches)++] = share(&result->arms[i].observations[o]);
    return stats_sort_median(shares, *launches);
}

/* " Most CPU time: sh (pid 4711) 24%, sh (pid 4712) 23%." */
static void add_others(const struct result *result, struct finding *finding)
{
    for (unsigned i = 0; i < result->nothers; i++) {
        struct other_process of = result->others[i];
        text_add(finding->sentence, "%s%s (pid %lld) %.0f%%",
                 i ? ", " : " Most CPU time: ", text_one_line(of.command), (long long)of.pid,
                 100 * of.share);
    }
    text_add(finding->sentence, result->nothers ? "." : "");
}

void busy_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    size_t launches = 0;
    for (size_t i = 0; i < result->narms; i++)
        launches += result->arms[i].nobservations;
    double *shares = calloc(launches + 1, sizeof(*shares));
    findings->failed = findings->failed || !shares;
    double foreign = shares ? median_of(result, foreign_of, shares, &launches) : NAN;
    double steal = shares ? median_of(result, steal_of, shares, &launches) : NAN;
    bool others = foreign > COLLECT_NOISY_FOREIGN, stolen = steal > COLLECT_NOISY_STEAL;
    struct finding finding = {.severity = FINDING_DOUBT};
    free(shares);
    if (!others && !stolen)
        return;
    memcpy(finding.id, id, sizeof(id));
    if (others)
        text_add(finding.sentence, "other programs used %.0f%% of the CPUs", 100 * foreign);
    if (stolen)
        text_add(finding.sentence, "%sthe hypervisor took %.0f%% of the CPUs",
                 others ? ", and " : "", 100 * steal);
    text_add(finding.sentence, ": rates and times hold beside such load only.");
    add_others(result, &finding);
    text_set(finding.evidence,
             "medians over %zu launches; disturbed is above %.0f%% used or %.0f%% taken", launches,
             100 * COLLECT_NOISY_FOREIGN, 100 * COLLECT_NOISY_STEAL);
    findings_put(findings, &finding);
}

const struct finding *busy_among(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, id))
            return &findings->all[i];
    return NULL;
}

bool busy_explains(const struct findings *findings, const struct arm *arm)
{
    for (size_t o = 0; o < arm->nobservations; o++)
        if (collect_gpu_held_back(&arm->observations[o]))
            return false;
    return busy_among(findings) != NULL;
}

static bool uses_gpus(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (device_infos[arm_device(result, arm)].on_gpus && arm->plan.status == PLAN_OK)
            return true;
    }
    return false;
}

/* `contend info` reports the other findings on GPU health. */
static bool gpus_matters(const struct finding *finding)
{
    static const char *const ids[] = {"gpu_processes", "gpu_compute_mode", "gpu_mig"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

void gpus_find(const struct topo *topo, const struct result *result, struct findings *findings)
{
    unsigned n = topo && uses_gpus(result) ? topo_visible_gpus(topo) : 0;
    struct findings all = {0};
    for (unsigned i = 0; i < n; i++)
        if (topo->gpus[i].health &&
            (!i || strcmp(topo->gpus[i].pci_bdf, topo->gpus[i - 1].pci_bdf) != 0))
            gpu_health_judge(topo->gpus[i].health, topo_gpu_name(&topo->gpus[i]), &all);
    for (size_t i = 0; i < all.n; i++)
        if (gpus_matters(&all.all[i]))
            findings_put(findings, &all.all[i]);
    findings->failed = findings->failed || all.failed;
    findings_free(&all);
}

/* "GPU 2 (0000:00:08.0)" for a GPU of this machine, else its address and host. */
static const char *name_gpu(const struct topo *topo, const struct gpu_change *change)
{
    const char *text =
        str_fmt("GPU %s%s%s", change->pci_bdf, change->host[0] ? " of " : "", change->host);
    for (unsigned i = 0; topo && !change->host[0] && i < topo->ngpus; i++)
        if (strcmp(topo->gpus[i].pci_bdf, change->pci_bdf) == 0)
            text = topo_gpu_name(&topo->gpus[i]);
    return text;
}

static bool is_same_gpu(const struct gpu_change *a, const struct gpu_change *b)
{
    return strcmp(a->pci_bdf, b->pci_bdf) == 0 && strcmp(a->host, b->host) == 0;
}

/* The findings of one kind about a GPU, over the rounds of all arms. */
struct gathered {
    struct gpu_change sum;
    unsigned rounds, most;
    char arms[200];
};

/* Adds the changes of this kind. False if there were none. */
static bool gather(struct gathered *all, const struct gpu_change *change, enum gpu_kind kind)
{
    struct findings found = {0};
    struct gpu_change part = gpu_change_only(change, kind);
    gpu_change_judge(&part, "", "", "", &found);
    bool any = found.n > 0;
    findings_free(&found);
    all->most++;
    all->rounds += any;
    if (any)
        gpu_change_add(&all->sum, &part);
    return any;
}

static void gather_arm(struct gathered *all, const struct result *result, const struct arm *arm,
                       const struct gpu_change *gpu, enum gpu_kind kind)
{
    bool any = false;
    for (size_t o = 0; o < arm->nobservations; o++)
        for (unsigned i = 0; i < arm->observations[o].ngpus; i++)
            if (is_same_gpu(&arm->observations[o].gpus[i], gpu))
                any |= gather(all, &arm->observations[o].gpus[i], kind);
    if (any)
        text_append(all->arms, sizeof(all->arms), "; ", "%s", statuses_name_arm(result, arm));
}

static void add_changes(const struct topo *topo, const struct result *result,
                        const struct gpu_change *gpu, struct findings *findings)
{
    const char *evidence;
    const char *subject = name_gpu(topo, gpu);
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        struct gathered all = {.sum = gpu_change_only(gpu, GPU_KINDS)};
        for (size_t a = 0; a < result->narms; a++)
            gather_arm(&all, result, &result->arms[a], gpu, (enum gpu_kind)kind);
        evidence = str_fmt("%u of %u launches", all.rounds, all.most);
        if (all.rounds)
            gpu_change_judge(&all.sum, subject, all.arms, evidence, findings);
    }
}

/* True if an earlier observation has the GPU. */
static bool is_met(const struct result *result, const struct gpu_change *gpu)
{
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned i = 0; i < result->arms[a].observations[o].ngpus; i++) {
                const struct gpu_change *other = &result->arms[a].observations[o].gpus[i];
                if (other == gpu)
                    return false;
                if (is_same_gpu(other, gpu))
                    return true;
            }
    return false;
}

void gpus_find_changes(const struct topo *topo, const struct result *result,
                       struct findings *findings)
{
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned i = 0; i < result->arms[a].observations[o].ngpus; i++)
                if (!is_met(result, &result->arms[a].observations[o].gpus[i]))
                    add_changes(topo, result, &result->arms[a].observations[o].gpus[i], findings);
}
