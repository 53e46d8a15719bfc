#include "harness/show/result.h"

#include <math.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/record/analysis.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"
#include "harness/show/blocks.h"
#include "harness/verdict/advice.h"

enum { OWN_MOST = 3 };

static void add_title(const struct result *result, struct doc *doc)
{
    unsigned cpus = 0;
    bool feeds_none = result->narms > 0;
    for (size_t i = 0; i < result->narms; i++) {
        unsigned n = rounds_cpus(result, result->arms[i].planned_workers);
        cpus = n > cpus ? n : cpus;
        feeds_none = feeds_none && bench_feeds_none(result->arms[i].bench);
    }
    const struct dose *dose = result_dose(result);
    const char *rounds = str_fmt(" of %u", result->rounds_planned);
    doc_heading(doc, "%s%s%s, %u CPU%s, %u%s round%s%s%s", result->scenario, feeds_none ? "" : ", ",
                feeds_none ? "" : device_infos[result->device].title, cpus, cpus == 1 ? "" : "s",
                result->rounds_done, result->rounds_done == result->rounds_planned ? "" : rounds,
                result->rounds_planned == 1 ? "" : "s", dose ? ", dose " : "",
                dose ? dose_format(dose) : "");
}

/* The dose that the aggressors held: the least and the most among arms. */
static void add_held(const struct analysis *analysis, struct doc *doc)
{
    double low = INFINITY, high = -INFINITY;
    const struct dose *dose = result_dose(analysis->result);
    for (size_t i = 0; dose && i < analysis->result->narms; i++) {
        double held = rows_median(&analysis->rows, &analysis->result->arms[i], METRIC_DOSE);
        low = fmin(low, held); /* `held` may be NaN */
        high = fmax(high, held);
    }
    if (low <= high)
        doc_text(doc, "dose held: %s to %s",
                 dose_format(&(struct dose){dose->kind, round(1e3 * low) / 1e3}),
                 dose_format_level(&(struct dose){dose->kind, round(1e3 * high) / 1e3}));
}

static const struct arm *arm_at(const struct block *block, size_t i)
{
    return &block->analysis->result->arms[block->arm[i]];
}

/* The sign before a censored value: ">" for times, "<" for rates. */
static const char *bound(const struct block *block, size_t arm, const char *sign)
{
    return block->analysis->rounds.arms[arm].status == STATUS_CENSORED ? sign : "";
}

/* The mark after a placement's name, explained below the block. */
static const char *mark_of(const struct block *block, size_t i)
{
    static const char *const marks[STATUSES] = {"", "~", "", "!", "!", "!"};
    const char *mark = marks[block->analysis->rounds.arms[block->arm[i]].status];
    if (!block_is_recommended(block, i))
        return mark;
    return mark[0] ? "*~" : "*";
}

/* Without a default there is no speed-up, without solo runs no efficiency. */
static bool has_speed_up(const struct block *block)
{
    return block->recommendation.reference >= 0;
}

static bool has_efficiency(const struct block *block)
{
    for (size_t i = 0; i < block->n; i++)
        if (!isnan(block_median(block, i, "efficiency")))
            return true;
    return false;
}

/* Adds "12x", and its interval "11-13". */
static void add_speed_up(const struct block *block, size_t i, struct doc_table *table)
{
    const struct evidence *gain = &block->gain[i];
    int reference = block->recommendation.reference;
    if (reference == (int)block->arm[i]) {
        doc_cell(table, "1x");
        doc_cell(table, "%s", "");
        return;
    }
    bool more = reference >= 0 && bound(block, (size_t)reference, ">")[0];
    doc_cell(table, "%s%s", more ? ">" : bound(block, block->arm[i], "<"),
             advice_format_ratio(gain->ratio));
    const char *low = advice_format_ratio(gain->low);
    const char *high = advice_format_ratio(gain->high);
    if (isnan(gain->low))
        doc_cell(table, "%s", "");
    else
        doc_cell(table, "%.*s-%.*s", (int)strlen(low) - 1, low, (int)strlen(high) - 1, high);
}

static void add_rounded(struct doc_table *table, double share)
{
    if (isnan(share))
        doc_cell(table, "-");
    else
        doc_cell(table, "%.0f%%", fabs(100 * share));
}

static void add_arm(const struct block *block, size_t i, const char *name, struct doc_table *table)
{
    static const enum part parts[] = {PART_ONCPU, PART_QUEUE, PART_QUOTA, PART_BLOCKED};
    const struct row *steps = block_row(block, i, "step_time");
    size_t arm = block->arm[i];
    doc_row(table, block_is_recommended(block, i) ? DOC_GOOD : DOC_PLAIN);
    doc_cell(table, "%s%s", name, mark_of(block, i));
    doc_cell(table, "%s%s", bound(block, arm, "<"), units_si(block_median(block, i, METRIC_RATE)));
    if (has_speed_up(block))
        add_speed_up(block, i, table);
    if (has_efficiency(block))
        doc_share(table, block_median(block, i, "efficiency"));
    for (int part = 0; part < PARTS; part++)
        if (parts[part] != PART_QUOTA || block_has_quota(block))
            add_rounded(table, block_share(block, i, parts[part]));
    doc_cell(table, "%s%s", bound(block, arm, ">"), units_seconds(steps->median));
    doc_cell(table, "%s%s", bound(block, arm, ">"), units_seconds(steps->p95));
    add_rounded(table, block_median(block, i, "worst_worker"));
}

/* The number of the arm's workers that use that GPU. Background workers have no GPU. */
static unsigned count_sharing(const struct arm *arm, int gpu)
{
    unsigned n = 0;
    for (unsigned w = 0; w < arm->plan.nworkers && gpu >= 0; w++)
        n += arm->plan.workers[w].gpu == gpu;
    return n;
}

/* Adds a note if workers share GPUs: efficiency is relative to a worker with its own GPU. */
static bool add_shared_gpus(const struct block *block, size_t i, struct doc *doc)
{
    unsigned most = 1;
    struct bitset gpus = {0};
    const struct arm *arm = arm_at(block, i);
    for (unsigned w = 0; w < arm->plan.nworkers; w++) {
        int gpu = arm->plan.workers[w].gpu;
        unsigned n = count_sharing(arm, gpu);
        if (n > most)
            gpus = (struct bitset){0};
        if (n >= most && n > 1)
            bitset_set(&gpus, (unsigned)gpu);
        most = n > most ? n : most;
    }
    if (most < 2 || !device_infos[device_find(block_row(block, i, "step_time")->device)].on_gpus)
        return false;
    doc_note(doc, "efficiency includes what it costs that %u workers share %s %s", most,
             bitset_count(&gpus) > 1 ? "each of the GPUs" : "GPU", bitset_format(&gpus));
    return true;
}

static const struct row *largest(const struct block *block, size_t i,
                                 const struct bench_metric *metric)
{
    const struct row *most = NULL;
    size_t at = 0;
    for (const struct row *row;
         (row = rows_next(&block->analysis->rows, arm_at(block, i), metric->name, &at));)
        if (!most || row->median > most->median)
            most = row;
    return most;
}

/* Adds "81% (rank 0)": a value and its key. */
static void add_value_and_key(const struct row *row, struct doc_table *table)
{
    const char *value;
    if (!row) {
        doc_cell(table, "-");
        return;
    }
    if (strcmp(row->unit, "ratio") == 0)
        value = str_fmt("%.0f%%", 100 * row->median);
    else if (strcmp(row->unit, "s") == 0)
        value = units_seconds(row->median);
    else
        value = units_plain(row->median, 4);
    const char *name = format_dims(row->arm->bench, &row->dims);
    doc_cell(table, "%s%s%s%s", value, name[0] ? " (" : "", name, name[0] ? ")" : "");
}

/* Adds each arm's largest value of the benchmark's first metrics; rows.csv has all. */
static void add_bench_metrics(const struct block *block, struct doc *doc)
{
    const struct bench_metric *own[OWN_MOST], *metric = arm_at(block, 0)->bench->metrics;
    size_t nown = 0;
    bool any = false;
    for (; metric && metric->name && nown < OWN_MOST; metric++)
        if (!metric->hidden)
            own[nown++] = metric;
    for (size_t i = 0; i < block->n; i++)
        for (size_t m = 0; m < nown; m++)
            any = any || largest(block, i, own[m]);
    if (!any)
        return;
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "largest");
    for (size_t m = 0; m < nown; m++)
        doc_column(table, DOC_NUMBER, "%s", own[m]->name);
    for (size_t i = 0; i < block->n; i++) {
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", block_arm_name(block, i));
        for (size_t m = 0; m < nown; m++)
            add_value_and_key(largest(block, i, own[m]), table);
    }
}

/* The row with the least value among all arms, also baselines, of the block's number of workers. */
static const struct row *least(const struct block *block, const char *metric)
{
    const struct row *found = NULL;
    const struct result *result = block->analysis->result;
    for (size_t i = 0; i < result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &result->arms[i], *of = arm_at(block, 0);
        const struct row *row =
            arm->bench == of->bench && arm->planned_workers == of->planned_workers
                ? rows_next(&block->analysis->rows, arm, metric, &at)
                : NULL;
        if (row && (!found || row->median < found->median))
            found = row;
    }
    return found;
}

/* Adds "5 parallel regions a step, 2.10 ms of work in each", equal under all placements. */
static void add_footnotes(const struct block *block, struct doc *doc)
{
    const char *line = "", *value;
    const struct bench_metric *metric = arm_at(block, 0)->bench->metrics;
    for (; metric && metric->name; metric++) {
        const struct row *row = metric->footnote ? least(block, metric->name) : NULL;
        if (!row)
            continue;
        if (strcmp(row->unit, "count") == 0)
            value = units_plain(row->median, 4);
        else if (strcmp(row->unit, "ratio") == 0)
            value = text_percent(row->median);
        else
            value = number_format(row->median, row->unit, true);
        str_add(&line, ", ", "%s %s", value, metric->footnote);
    }
    if (line[0])
        doc_note(doc, "%s", line);
}

/* "rounds: same 3, passive 4, others 6", if not all have all rounds. */
static void add_rounds(const struct block *block, struct doc *doc)
{
    const char *line = "";
    unsigned all = block->analysis->result->rounds_done;
    size_t fewer = 0, least = STATS_RANGE_BELOW;
    for (size_t i = 0; i < block->n; i++) {
        size_t n = block->analysis->rounds.arms[block->arm[i]].n;
        if (n == all)
            continue;
        str_add(&line, ", ", "%s %zu", block_arm_name(block, i), n);
        least = n < least ? n : least;
        fewer++;
    }
    if (fewer && fewer < block->n)
        str_add(&line, ", ", "others %u", all);
    if (fewer)
        doc_note(doc, "rounds: %s%s", line,
                 least < STATS_RANGE_BELOW && all >= STATS_RANGE_BELOW
                     ? "; of fewer than 6 the interval is the range"
                     : "");
}

static struct doc_table *begin_table(const struct block *block, struct doc *doc)
{
    const struct arm *arm = arm_at(block, 0);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%u worker%s", arm->planned_workers,
               arm->planned_workers == 1 ? "" : "s");
    doc_column(table, DOC_NUMBER, "%s", bench_rate_unit(arm->bench));
    if (has_speed_up(block))
        doc_columns(table, DOC_NUMBER, "speed-up",
                    block->analysis->result->rounds_done < STATS_RANGE_BELOW ? "range" : "95%",
                    NULL);
    if (has_efficiency(block))
        doc_column(table, DOC_NUMBER, "efficiency");
    doc_columns(table, DOC_NUMBER, "CPU time", "run queue", NULL);
    if (block_has_quota(block))
        doc_column(table, DOC_NUMBER, "throttled");
    doc_column(table, DOC_OPTIONAL, "blocked");
    doc_column(table, DOC_DETAIL, "%s", bench_step_name(arm->bench));
    doc_columns(table, DOC_DETAIL, "p95", "fairness", NULL);
    return table;
}

static void add_block(const struct block *block, bool named, struct doc *doc)
{
    doc_gap(doc);
    if (named)
        doc_heading(doc, "%s", block_name(block));
    for (size_t i = 0; i < block->n && arm_at(block, i)->planned_workers > 1; i++)
        if (add_shared_gpus(block, i, doc))
            break; /* the other arms share GPUs alike, except where memory is remote */
    struct doc_table *table = begin_table(block, doc);
    for (size_t i = 0; i < block->n; i++)
        add_arm(block, i, block_arm_name(block, i), table);
    const char *name = str_fmt("solo 1/%u", arm_at(block, 0)->planned_workers);
    if (block->solo[BASELINE_SLICE] >= 0)
        add_arm(block, (size_t)block->solo[BASELINE_SLICE], name, table);
    if (block->solo[BASELINE_SINGLE] >= 0)
        add_arm(block, (size_t)block->solo[BASELINE_SINGLE], "solo", table);
    add_rounds(block, doc);
    add_footnotes(block, doc);
    add_bench_metrics(block, doc);
}

/* Adds the largest share of a step that the hypervisor or a quota took, from 0.5% on. */
static void add_stolen_and_throttled(const struct analysis *analysis, struct doc *doc)
{
    const char *step = bench_step_name(analysis->result->arms[0].bench);
    double stolen = rows_stolen_share(analysis->result, &analysis->rows);
    double throttled = rows_largest_share(analysis->result, &analysis->rows, "throttled_per_step");
    if (stolen >= 0.005)
        doc_text(doc, "up to %s of a %s was stolen by the hypervisor", text_percent(stolen), step);
    if (throttled >= 0.005)
        doc_text(doc, "up to %s of a %s a quota of CPU time (cpu.max) stopped it",
                 text_percent(throttled), step);
}

/* Names the reference of the columns. */
static void add_legend(const struct block *block, bool starred, struct doc *doc)
{
    int reference = block->recommendation.reference;
    bool named = reference >= 0 && !block->recommendation.is_default;
    const struct arm *arms = block->analysis->result->arms;
    bool solo = block->solo[BASELINE_SLICE] >= 0 || block->solo[BASELINE_SINGLE] >= 0;
    doc_text(doc, "speed-up: throughput relative to %s, by round%s%s",
             named ? placement_infos[arms[reference].placement].name : "none",
             starred ? "; *: recommended" : "",
             solo ? "; solo: one worker alone, to which efficiency is relative" : "");
}

/* True if the run has several benchmarks or parameters, so that blocks need names. */
static bool is_mixed(const struct result *result)
{
    const struct arm *first = NULL;
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->bench->scan || arm->is_baseline)
            continue;
        if (first && (arm->bench != first->bench || arm->params != first->params))
            return true;
        first = first ? first : arm;
    }
    return false;
}

/* Adds the blocks in order of their number of workers. */
static void add_blocks(const struct analysis *analysis, struct doc *doc)
{
    struct block block;
    bool any = false, mixed = is_mixed(analysis->result), starred = false;
    for (size_t at = 0; block_next(analysis, &at, &block); block_free(&block))
        starred = starred || block.recommendation.arm >= 0;
    for (unsigned planned_workers = 0;
         (planned_workers = result_next_workers(analysis->result, planned_workers)) != 0;)
        for (size_t at = 0; block_next(analysis, &at, &block); block_free(&block)) {
            if (arm_at(&block, 0)->planned_workers != planned_workers)
                continue;
            if (!any && has_speed_up(&block))
                add_legend(&block, starred, doc);
            any = true;
            add_block(&block, mixed, doc);
        }
    if (any)
        add_stolen_and_throttled(analysis, doc);
}

static void add_count(const struct analysis *analysis, int arm, struct doc_table *table)
{
    const struct arm *arms = analysis->result->arms;
    const struct row *work = arm < 0 ? NULL : rows_find(&analysis->rows, &arms[arm], METRIC_RATE);
    const struct row *share = arm < 0 ? NULL : rows_find(&analysis->rows, &arms[arm], "efficiency");
    if (!work || isnan(work->median)) {
        doc_cell(table, "-");
        doc_cell(table, "-");
        return;
    }
    doc_cell(table, "%s%s%s", work->status == STATUS_CENSORED ? "<" : "", units_si(work->median),
             work->status == STATUS_NOISY ? "~" : "");
    doc_share(table, share ? share->median : (double)NAN);
}

/* Adds a table over numbers of workers, with columns for each placement. */
static void add_scaling(const struct analysis *analysis, struct doc *doc)
{
    struct scaling scaling;
    int arm = -1;
    if (!scaling_read(analysis->result, &scaling))
        return;
    for (size_t p = 0; p < scaling.nplacements && arm < 0; p++)
        arm = scaling.arm[0][p];
    doc_gap(doc);
    doc_text(doc, "%s of all workers, and efficiency, by their number",
             bench_rate_unit(analysis->result->arms[arm < 0 ? 0 : arm].bench));
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "workers");
    for (size_t p = 0; p < scaling.nplacements; p++) {
        doc_column(table, DOC_NUMBER, "%s", placement_infos[scaling.placements[p]].name);
        doc_column(table, DOC_NUMBER, "effic.");
    }
    for (size_t c = 0; c < scaling.ncounts; c++) {
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%u", scaling.counts[c]);
        for (size_t p = 0; p < scaling.nplacements; p++)
            add_count(analysis, scaling.arm[c][p], table);
    }
}

void run_add_to_doc(const struct analysis *whole, struct doc *doc)
{
    struct result result;
    const struct analysis analysis = analysis_measured(whole, &result);
    add_title(&result, doc);
    add_held(&analysis, doc);
    add_blocks(&analysis, doc);
    add_scaling(&analysis, doc);
    scans_add_to_doc(&analysis, doc);
    retention_add_to_doc(&analysis, doc);
}
