#include "harness/table/placements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/judge/advice.h"
#include "harness/rows/key.h"
#include "harness/say/log.h"
#include "harness/table/number.h"
#include "harness/table/retention.h"
#include "harness/table/scan.h"

enum {
    CELL = 32,
    NAME = 11, /* width of a line's name, and of the columns beside steps */
    COLUMN = 22,
    COLUMNS = (TEXT_WIDTH - NAME) / COLUMN
};

struct table {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis, as the next two */
    const struct rows *rows;
    const struct rounds *rounds;
    FILE *out;
    bool color;
    unsigned slots; /* of the block being printed */
};

enum paint { PLAIN, BOLD, RED, GREEN, DIM };

static void paint(const struct table *table, enum paint color)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[2m"};
    if (table->color)
        (void)fputs(codes[color], table->out);
}

static const struct arm *arm_at(const struct table *table, size_t arm)
{
    return &table->result->arms[arm];
}

static const char *name_at(const struct table *table, size_t arm)
{
    return placement_infos[arm_at(table, arm)->placement].name;
}

/* The median of an arm's metric; NaN without the row. */
static double median_of(const struct table *table, size_t arm, const char *metric)
{
    const struct row *row = rows_find(table->rows, arm_at(table, arm), metric);
    return row ? row->median : NAN;
}

static void print_title(const struct table *table)
{
    const struct result *result = table->result;
    unsigned cpus = 0;
    bool only_scans = result->narms > 0;
    for (size_t i = 0; i < result->narms; i++) {
        unsigned n = rounds_cpus(result, result->arms[i].slots);
        cpus = n > cpus ? n : cpus;
        only_scans = only_scans && result->arms[i].bench->scan;
    }
    char rounds[48];
    if (result->rounds_done == result->rounds_planned)
        (void)snprintf(rounds, sizeof(rounds), "%u", result->rounds_done);
    else
        (void)snprintf(rounds, sizeof(rounds), "%u of %u", result->rounds_done,
                       result->rounds_planned);
    paint(table, BOLD);
    (void)fprintf(table->out, "%s%s%s, %u CPU%s, %s round%s\n", result->scenario,
                  only_scans ? "" : ", ", only_scans ? "" : device_infos[result->device].title,
                  cpus, cpus == 1 ? "" : "s", rounds, result->rounds_planned == 1 ? "" : "s");
    paint(table, PLAIN);
}

static char *format_share(double part, double whole, char *buf)
{
    if (isnan(part) || !(whole > 0))
        (void)snprintf(buf, CELL, "-");
    else
        (void)snprintf(buf, CELL, "%.0f%%", fabs(100 * part / whole));
    return buf;
}

/* An open end in front of a censored value: ">" for times, "<" for rates. */
static const char *bound(const struct table *table, size_t arm, const char *sign)
{
    return table->rounds->arms[arm].status == STATUS_CENSORED ? sign : "";
}

/* Paired by round. */
static void format_ratio_to_best(const struct table *table, size_t arm, size_t best, char *buf)
{
    struct paired_ratio ratio;
    char text[CELL - 8];
    if (arm == best) {
        (void)snprintf(buf, CELL, "best");
        return;
    }
    if (values_ratio(&table->analysis->values, arm, best, table->result->seed, &ratio, NULL) ||
        isnan(ratio.median)) {
        (void)snprintf(buf, CELL, "-");
        return;
    }
    /* The best by its median can be the slower one of most rounds. */
    bool faster = ratio.median < 1;
    if (ratio.median < ADVICE_CLEAR && ratio.median > 1 / ADVICE_CLEAR) {
        (void)snprintf(buf, CELL, "~best");
        return;
    }
    (void)snprintf(
        buf, CELL, "%s%s %s", bound(table, arm, ">"),
        advice_format_ratio(faster ? 1 / ratio.median : ratio.median, text, sizeof(text)),
        faster ? "faster" : "slower");
}

/* What stands behind a placement's name, explained below the block. */
static const char *mark_of(const struct table *table, size_t arm)
{
    static const char *const marks[STATUSES] = {"", "~", "", "!", "!", "!"};
    return marks[table->rounds->arms[arm].status];
}

static void print_arm(const struct table *table, size_t arm, size_t best)
{
    char name[CELL], step[CELL], ratio[CELL], efficiency[CELL], rate[CELL], alone[CELL];
    char value[CELL - 2], oncpu[CELL], queue[CELL], blocked[CELL];
    (void)snprintf(name, sizeof(name), "%s%s", name_at(table, arm), mark_of(table, arm));
    (void)snprintf(step, sizeof(step), "%s%s", bound(table, arm, ">"),
                   units_format_seconds(median_of(table, arm, "step_time"), value, sizeof(value)));
    format_ratio_to_best(table, arm, best, ratio);
    (void)snprintf(rate, sizeof(rate), "%s%s", bound(table, arm, "<"),
                   units_format_si(median_of(table, arm, "throughput"), value, sizeof(value)));
    advice_format_ratio(median_of(table, arm, "slowdown_vs_alone"), alone, sizeof(alone));
    /* Shares of the three medians' sum: medians need not come from the same round. */
    double ran = median_of(table, arm, "oncpu_per_step");
    double queued = median_of(table, arm, "runqueue_wait_per_step");
    double slept = median_of(table, arm, "blocked_per_step");
    double wall = ran + slept + (isnan(queued) ? 0 : queued);
    paint(table, arm == best ? GREEN : PLAIN);
    (void)fprintf(table->out, "%-11s%9s%14s%11s%8s%9s%5s%6s%6s", name, step, ratio,
                  text_percent(median_of(table, arm, "efficiency"), efficiency, CELL), rate, alone,
                  format_share(ran, wall, oncpu), format_share(queued, wall, queue),
                  format_share(slept, wall, blocked));
    paint(table, PLAIN);
    (void)fputc('\n', table->out);
}

/* A measured arm of this block. */
static bool in_block(const struct table *table, size_t arm)
{
    return arm_at(table, arm)->slots == table->slots && !arm_at(table, arm)->alone &&
           !arm_at(table, arm)->bench->scan;
}

/* Indices of the block's arms that have a step time, slowest first; returns how many. */
static size_t sort_block(const struct table *table, size_t *order)
{
    size_t n = 0;
    for (size_t i = 0; i < table->result->narms; i++) {
        double step = median_of(table, i, "step_time");
        if (!in_block(table, i) || isnan(step))
            continue;
        size_t at = n++;
        for (; at > 0 && median_of(table, order[at - 1], "step_time") < step; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

static void print_baselines(const struct table *table)
{
    char line[200], step[CELL];
    size_t used = 0;
    const struct arm_rounds *any = NULL;
    for (size_t i = 0; i < table->result->narms && !any; i++)
        if (in_block(table, i))
            any = &table->rounds->arms[i];
    if (!any)
        return;
    int slice = any->baseline[BASELINE_SLICE], single = any->baseline[BASELINE_SINGLE];
    if (table->slots == 1 && (single < 0 || !arm_at(table, (size_t)single)->alone))
        return; /* it is its own baseline */
    if (slice >= 0 && table->slots > 1)
        used += (size_t)snprintf(
            line, sizeof(line), "one worker alone with 1/%u of the CPUs: %s", table->slots,
            units_format_seconds(median_of(table, (size_t)slice, "step_time"), step, sizeof(step)));
    if (single >= 0)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s with all: %s",
                                 used ? "; alone" : "one worker alone",
                                 units_format_seconds(median_of(table, (size_t)single, "step_time"),
                                                      step, sizeof(step)));
    if (used)
        text_wrap(line, 0, 2, table->out);
}

/* Workers of the arm that have that GPU; those in the background have none. */
static unsigned count_sharing(const struct arm *arm, int gpu)
{
    unsigned n = 0;
    for (unsigned w = 0; w < arm->plan.nworkers && gpu >= 0; w++)
        n += arm->plan.workers[w].gpu == gpu;
    return n;
}

/* Efficiency is against a worker that had its GPU to itself: the arm's share theirs. */
static bool print_shared_gpus(const struct table *table, const struct arm *arm)
{
    unsigned most = 1;
    struct bitset gpus = {0};
    char list[40], line[200];
    for (unsigned w = 0; w < arm->plan.nworkers; w++) {
        int gpu = arm->plan.workers[w].gpu;
        unsigned n = count_sharing(arm, gpu);
        if (n > most)
            gpus = (struct bitset){0};
        if (n >= most && n > 1)
            bitset_set(&gpus, (unsigned)gpu);
        most = n > most ? n : most;
    }
    const struct row *row = rows_find(table->rows, arm, "step_time");
    if (most < 2 || !row || !device_infos[device_find(row->device)].on_gpus)
        return false;
    (void)snprintf(line, sizeof(line),
                   "%u workers share %s %s; the baseline had its GPU alone, so efficiency holds "
                   "what sharing costs",
                   most, bitset_count(&gpus) > 1 ? "each of the GPUs" : "GPU",
                   bitset_format(&gpus, list, sizeof(list)));
    text_wrap(line, 0, 2, table->out);
    return true;
}

static const struct row *largest(const struct table *table, const struct arm *arm,
                                 const struct bench_metric *metric)
{
    const struct row *most = NULL;
    size_t at = 0;
    for (const struct row *row; (row = key_next_row(table->rows, arm, metric->name, &at));)
        if (!most || row->median > most->median)
            most = row;
    return most;
}

/* "81% (rank 0)": a value and whose it is. */
static const char *format_whose(const struct row *row, char *buf, size_t size)
{
    char value[CELL], key[VALUE_KEY_MAX], name[64];
    if (!row)
        return "-";
    if (strcmp(row->unit, "ratio") == 0)
        (void)snprintf(value, sizeof(value), "%.0f%%", 100 * row->median);
    else if (strcmp(row->unit, "s") == 0)
        (void)units_format_seconds(row->median, value, sizeof(value));
    else
        (void)snprintf(value, sizeof(value), "%.4g", row->median);
    (void)key_say(row->arm->bench, key_copy(row, key), name, sizeof(name));
    (void)snprintf(buf, size, "%s%s%s%s", value, name[0] ? " (" : "", name, name[0] ? ")" : "");
    return buf;
}

/* What the arm emitted of its own, with the metrics' names above it where `head`. */
static void print_own(const struct table *table, const struct arm *arm,
                      const struct bench_metric *const *own, size_t nown, bool head)
{
    if (head)
        (void)fprintf(table->out, "\n%-*s", NAME, "largest");
    for (size_t i = 0; i < nown && head; i++)
        (void)fprintf(table->out, "%*.*s", COLUMN, COLUMN - 1, own[i]->name);
    (void)fprintf(table->out, "%s%-*s", head ? "\n" : "", NAME,
                  placement_infos[arm->placement].name);
    for (size_t i = 0; i < nown; i++) {
        char cell[128];
        (void)fprintf(table->out, "%*.*s", COLUMN, COLUMN - 1,
                      format_whose(largest(table, arm, own[i]), cell, sizeof(cell)));
    }
    (void)fputc('\n', table->out);
}

/*
 * A line for each arm that emitted anything beside its steps, and for each of the first metrics
 * that its benchmark has of its own a column: the largest value. rows.csv has all.
 */
static void print_beside_steps(const struct table *table, const size_t *order, size_t n)
{
    const struct bench *bench = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct arm *arm = arm_at(table, order[i]);
        const struct bench_metric *own[COLUMNS];
        size_t nown = 0;
        bool any = false;
        for (const struct bench_metric *metric = arm->bench->metrics;
             metric && metric->name && nown < COLUMNS; metric++)
            if (!metric->quiet) {
                any = any || largest(table, arm, metric);
                own[nown++] = metric;
            }
        if (any) {
            print_own(table, arm, own, nown, arm->bench != bench);
            bench = arm->bench;
        }
    }
}

/* The least of an arm's values of the block's number of workers, baselines too; NULL = none. */
static const struct row *least(const struct table *table, const struct bench *bench,
                               const char *metric)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < table->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = arm_at(table, i);
        const struct row *row = arm->bench == bench && arm->slots == table->slots
                                    ? key_next_row(table->rows, arm, metric, &at)
                                    : NULL;
        if (row && (!found || row->median < found->median))
            found = row;
    }
    return found;
}

/* "5 parallel regions a step, 2.10 ms of work in each": what is no matter of the placement. */
static void print_told(const struct table *table, const struct bench *bench)
{
    char line[300] = "", value[CELL];
    size_t used = 0;
    for (const struct bench_metric *metric = bench->metrics;
         metric && metric->name && used < sizeof(line); metric++) {
        const struct row *row = metric->told ? least(table, bench, metric->name) : NULL;
        if (!row)
            continue;
        if (strcmp(row->unit, "count") == 0)
            (void)snprintf(value, sizeof(value), "%.4g", row->median);
        else if (strcmp(row->unit, "ratio") == 0)
            (void)text_percent(row->median, value, sizeof(value));
        else
            (void)number_format(row->median, row->unit, true, value, sizeof(value));
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %s", used ? ", " : "",
                                 value, metric->told);
    }
    if (used)
        text_wrap(line, 0, 2, table->out);
}

/* Returns whether any arm of it was measured. */
static bool print_block(const struct table *table, size_t *order)
{
    size_t n = sort_block(table, order);
    (void)fputc('\n', table->out);
    if (n) {
        char title[CELL], rate[CELL];
        (void)snprintf(title, sizeof(title), "%u worker%s", table->slots,
                       table->slots == 1 ? "" : "s");
        (void)snprintf(rate, sizeof(rate), "%.20s/s", arm_at(table, order[0])->bench->ops_unit);
        paint(table, DIM);
        (void)fprintf(table->out, "%-11s%9s%14s%11s%8s%9s%5s%6s%6s\n", title, "step time",
                      "vs best", "efficiency", rate, "vs alone", "CPU", "queue", "block");
        paint(table, PLAIN);
    }
    for (size_t i = 0; i < n; i++)
        print_arm(table, order[i], order[n - 1]);
    print_baselines(table);
    for (size_t i = 0; i < n && table->slots > 1; i++)
        if (print_shared_gpus(table, arm_at(table, order[i])))
            break; /* of the others it is the same, but where memory is remote */
    if (n)
        print_told(table, arm_at(table, order[0])->bench);
    print_beside_steps(table, order, n);
    return n > 0;
}

/* What the last columns are; a share is said that they could show. */
static void print_columns(const struct table *table)
{
    char share[CELL], line[200];
    double stolen = rows_stolen_share(table->result, table->rows);
    (void)snprintf(line, sizeof(line),
                   "CPU, queue, block: shares of a step on a CPU, waiting for one, and blocked");
    if (stolen >= 0.005)
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       " (of it up to %s of a step stolen by the hypervisor)",
                       text_percent(stolen, share, sizeof(share)));
    text_wrap(line, 0, 2, table->out);
}

static int print_all(struct table *table)
{
    size_t *order = calloc(table->result->narms + 1, sizeof(*order));
    if (!order)
        return -1;
    print_title(table);
    bool measured = false;
    for (unsigned slots = 0; (slots = result_next_slots(table->result, slots)) != 0;) {
        table->slots = slots;
        measured = print_block(table, order) || measured;
    }
    free(order);
    if (measured)
        print_columns(table);
    int rc = scan_print(table->result, table->rows, table->rounds, table->out, table->color);
    if (!rc)
        rc = retention_print(table->analysis, table->out, table->color);
    return rc;
}

void placements_print(const struct analysis *analysis, FILE *out, bool color)
{
    struct table table = {.analysis = analysis,
                          .result = analysis->result,
                          .rows = &analysis->rows,
                          .rounds = &analysis->rounds,
                          .out = out,
                          .color = color};
    if (print_all(&table))
        log_error("out of memory for the summary table; rows.csv has everything");
}
