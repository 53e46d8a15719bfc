#include "harness/show/table/placements.h"
#include "harness/show/table/baselines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/lib/say/log.h"
#include "harness/rows/metric.h"
#include "harness/rows/number.h"
#include "harness/rows/say.h"
#include "harness/show/table/retention.h"
#include "harness/show/table/scaling.h"
#include "harness/show/table/scan.h"
#include "harness/verdict/advice/advice.h"

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
    struct line {
        struct recommendation made; /* of those that the arm competes with */
        struct paired_ratio gain;   /* relative to its reference */
    } * lines;                      /* by arm */
};

/* Name, rate, speed-up, its interval, efficiency, step, p95, worst worker, CPU, queue. */
#define REST "%9s%10s%7s%9s%9s%6s%5s%6s"
#define LINE "%-11s%7s" REST

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
    bool feeds_none = result->narms > 0;
    for (size_t i = 0; i < result->narms; i++) {
        unsigned n = rounds_cpus(result, result->arms[i].slots);
        cpus = n > cpus ? n : cpus;
        feeds_none = feeds_none && bench_feeds_none(result->arms[i].bench);
    }
    char rounds[48];
    if (result->rounds_done == result->rounds_planned)
        (void)snprintf(rounds, sizeof(rounds), "%u", result->rounds_done);
    else
        (void)snprintf(rounds, sizeof(rounds), "%u of %u", result->rounds_done,
                       result->rounds_planned);
    paint(table, BOLD);
    (void)fprintf(table->out, "%s%s%s, %u CPU%s, %s round%s\n", result->scenario,
                  feeds_none ? "" : ", ", feeds_none ? "" : device_infos[result->device].title,
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

static bool is_recommended(const struct table *table, size_t arm)
{
    return table->lines[arm].made.arm == (int)arm;
}

/* Relative to the reference, as lines are sorted by it: the fastest comes last. */
static double speed_up(const struct table *table, size_t arm)
{
    double gain = table->lines[arm].gain.median;
    int reference = table->lines[arm].made.reference;
    if (!isnan(gain) || reference < 0)
        return gain;
    double rate = table->rounds->arms[reference].rate; /* where the two have no round in common */
    return table->rounds->arms[arm].rate / (isnan(rate) ? 1 : rate);
}

static void format_speed_up(const struct table *table, size_t arm, char *ratio, char *interval)
{
    char text[CELL - 8], low[CELL / 2], high[CELL / 2];
    const struct line *line = &table->lines[arm];
    bool is_reference = line->made.reference == (int)arm;
    bool more = line->made.reference >= 0 && !is_reference &&
                bound(table, (size_t)line->made.reference, ">")[0];
    interval[0] = '\0';
    (void)advice_format_ratio(line->gain.median, text, sizeof(text));
    (void)snprintf(ratio, CELL, "%s%s",
                   more           ? ">"
                   : is_reference ? ""
                                  : bound(table, arm, "<"),
                   is_reference ? "1x" : text);
    if (is_reference || isnan(line->gain.low))
        return;
    (void)advice_format_ratio(line->gain.low, low, sizeof(low));
    (void)advice_format_ratio(line->gain.high, high, sizeof(high));
    (void)snprintf(interval, CELL, "%.*s-%.*s", (int)strlen(low) - 1, low, (int)strlen(high) - 1,
                   high);
}

/* What stands behind a placement's name, explained below the block. */
static const char *mark_of(const struct table *table, size_t arm)
{
    static const char *const marks[STATUSES] = {"", "~", "", "!", "!", "!"};
    const char *mark = marks[table->rounds->arms[arm].status];
    if (!is_recommended(table, arm))
        return mark;
    return mark[0] ? "*~" : "*"; /* disturbed in some of its rounds, which do not count */
}

/* Of its sum of medians, which need not come from the same round. */
static void format_shares(const struct table *table, size_t arm, char *oncpu, char *queue)
{
    double ran = median_of(table, arm, "oncpu_per_step");
    double queued = median_of(table, arm, "runqueue_wait_per_step");
    double stopped = median_of(table, arm, "throttled_per_step");
    double wall = ran + median_of(table, arm, "blocked_per_step") + (isnan(queued) ? 0 : queued) +
                  (isnan(stopped) ? 0 : stopped);
    (void)format_share(ran, wall, oncpu);
    (void)format_share(queued, wall, queue);
}

static void print_arm(const struct table *table, size_t arm)
{
    char name[CELL], rate[CELL], ratio[CELL], interval[CELL], efficiency[CELL], step[CELL];
    char p95[CELL], value[CELL - 2], worst[CELL], oncpu[CELL], queue[CELL];
    const struct row *steps = rows_find(table->rows, arm_at(table, arm), "step_time");
    (void)snprintf(name, sizeof(name), "%s%s", name_at(table, arm), mark_of(table, arm));
    (void)snprintf(rate, sizeof(rate), "%s%s", bound(table, arm, "<"),
                   units_format_si(median_of(table, arm, METRIC_RATE), value, sizeof(value)));
    format_speed_up(table, arm, ratio, interval);
    (void)snprintf(step, sizeof(step), "%s%s", bound(table, arm, ">"),
                   units_format_seconds(steps->median, value, sizeof(value)));
    (void)snprintf(p95, sizeof(p95), "%s%s", bound(table, arm, ">"),
                   units_format_seconds(steps->p95, value, sizeof(value)));
    format_shares(table, arm, oncpu, queue);
    paint(table, is_recommended(table, arm) ? GREEN : PLAIN);
    (void)fprintf(table->out, LINE, name, rate, ratio, interval,
                  text_percent(median_of(table, arm, "efficiency"), efficiency, CELL), step, p95,
                  format_share(median_of(table, arm, "worst_worker"), 1, worst), oncpu, queue);
    paint(table, PLAIN);
    (void)fputc('\n', table->out);
}

/* A measured arm of this block. */
static bool in_block(const struct table *table, size_t arm)
{
    return arm_at(table, arm)->slots == table->slots && !arm_at(table, arm)->alone &&
           !arm_at(table, arm)->bench->scan;
}

/* Indices of the block's arms that have steps, worst first; returns how many. */
static size_t sort_block(const struct table *table, size_t *order)
{
    size_t n = 0;
    for (size_t i = 0; i < table->result->narms; i++) {
        double gain = speed_up(table, i);
        if (!in_block(table, i) || isnan(median_of(table, i, "step_time")))
            continue;
        size_t at = n++;
        for (; at > 0 && speed_up(table, order[at - 1]) > gain; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
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
                   "%u workers share %s %s, which the baseline had alone: efficiency holds what "
                   "sharing costs",
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
    for (const struct row *row; (row = rows_next(table->rows, arm, metric->name, &at));)
        if (!most || row->median > most->median)
            most = row;
    return most;
}

/* "81% (rank 0)": a value and whose it is. */
static const char *format_whose(const struct row *row, char *buf, size_t size)
{
    char value[CELL], name[64];
    if (!row)
        return "-";
    if (strcmp(row->unit, "ratio") == 0)
        (void)snprintf(value, sizeof(value), "%.0f%%", 100 * row->median);
    else if (strcmp(row->unit, "s") == 0)
        (void)units_format_seconds(row->median, value, sizeof(value));
    else
        (void)snprintf(value, sizeof(value), "%.4g", row->median);
    (void)say_dims(row->arm->bench, &row->dims, name, sizeof(name));
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
                                    ? rows_next(table->rows, arm, metric, &at)
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
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++) {
        const struct row *row = metric->told ? least(table, bench, metric->name) : NULL;
        if (!row)
            continue;
        if (strcmp(row->unit, "count") == 0)
            (void)snprintf(value, sizeof(value), "%.4g", row->median);
        else if (strcmp(row->unit, "ratio") == 0)
            (void)text_percent(row->median, value, sizeof(value));
        else
            (void)number_format(row->median, row->unit, true, value, sizeof(value));
        text_append(line, sizeof(line), ", ", "%s %s", value, metric->told);
    }
    if (line[0])
        text_wrap(line, 0, 2, table->out);
}

static void print_block_head(const struct table *table, const size_t *order, size_t n)
{
    char title[CELL], rate[CELL];
    enum { TITLE = 11, RATE = 7 }; /* columns of LINE: a long unit takes what the title leaves */
    for (size_t i = 0; i < n && table->slots > 1; i++)
        if (print_shared_gpus(table, arm_at(table, order[i])))
            break; /* of the others it is the same, but where memory is remote */
    (void)snprintf(title, sizeof(title), "%u worker%s", table->slots, table->slots == 1 ? "" : "s");
    (void)bench_rate_unit(arm_at(table, order[0])->bench, rate, sizeof(rate));
    int room = TITLE + RATE - 1 - (int)strlen(title), length = (int)strlen(rate);
    length = length < room ? length : room;
    int column = length > RATE ? TITLE + RATE - length : TITLE;
    paint(table, DIM);
    (void)fprintf(table->out, "%-*s%*.*s" REST "\n", column, title, TITLE + RATE - column, length,
                  rate, "speed-up", advice_interval_name(table->result->rounds_done), "effic.",
                  bench_step_name(arm_at(table, order[0])->bench), "p95", "worst", "CPU", "queue");
    paint(table, PLAIN);
}

/* Returns whether any arm of it was measured. */
static bool print_block(const struct table *table, size_t *order)
{
    size_t n = sort_block(table, order);
    (void)fputc('\n', table->out);
    if (n)
        print_block_head(table, order, n);
    for (size_t i = 0; i < n; i++)
        print_arm(table, order[i]);
    baselines_print(table->analysis, table->slots, table->out);
    if (n)
        print_told(table, arm_at(table, order[0])->bench);
    print_beside_steps(table, order, n);
    return n > 0;
}

/* What the last columns are; a share is said that they could show. */
static void print_columns(const struct table *table)
{
    char share[CELL], line[400];
    double stolen = rows_stolen_share(table->result, table->rows);
    const char *step = bench_step_name(arm_at(table, 0)->bench);
    (void)snprintf(line, sizeof(line),
                   "worst: what the slowest worker gets of an even share; CPU, queue: shares of a "
                   "%s on a CPU and waiting for one, the rest it was blocked",
                   step);
    if (stolen >= 0.005)
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       " (of it up to %s of a %s stolen by the hypervisor)",
                       text_percent(stolen, share, sizeof(share)), step);
    double throttled = rows_largest_share(table->result, table->rows, "throttled_per_step");
    if (throttled >= 0.005)
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       "; besides, up to %s of a %s a quota of CPU time (cpu.max) stopped it",
                       text_percent(throttled, share, sizeof(share)), step);
    text_wrap(line, 0, 2, table->out);
}

static bool has_steps(const struct table *table)
{
    for (size_t i = 0; i < table->result->narms; i++)
        if (!isnan(median_of(table, i, "step_time")))
            return true;
    return false;
}

/* What the first columns are. */
static void print_first(const struct table *table)
{
    const char *reference = "none", *star = "";
    char line[200];
    for (size_t i = 0; i < table->result->narms; i++) {
        const struct recommendation *made = &table->lines[i].made;
        if (made->reference >= 0 && !made->is_default)
            reference = name_at(table, (size_t)made->reference);
        if (made->arm >= 0)
            star = "; *: recommended";
    }
    (void)snprintf(line, sizeof(line),
                   "throughput of all workers; speed-up: relative to %s, by round%s", reference,
                   star);
    text_wrap(line, 0, 2, table->out);
}

static void make_lines(const struct table *table)
{
    for (size_t i = 0; i < table->result->narms; i++) {
        struct line *line = &table->lines[i];
        line->made = recommend_make(table->analysis, &table->result->arms[i]);
        line->gain = analysis_ratio(table->analysis, line->made.reference, i);
    }
}

static int print_all(struct table *table)
{
    size_t *order = calloc(table->result->narms + 1, sizeof(*order));
    table->lines = calloc(table->result->narms + 1, sizeof(*table->lines));
    if (!order || !table->lines) {
        free(table->lines);
        free(order);
        return -1;
    }
    make_lines(table);
    print_title(table);
    if (has_steps(table))
        print_first(table);
    bool measured = false;
    for (unsigned slots = 0; (slots = result_next_slots(table->result, slots)) != 0;) {
        table->slots = slots;
        measured = print_block(table, order) || measured;
    }
    free(table->lines);
    free(order);
    if (measured)
        print_columns(table);
    scaling_print(table->analysis, table->out, table->color);
    int rc = scan_print(table->result, table->rows, table->rounds, table->out, table->color);
    if (!rc)
        rc = retention_print(table->analysis, table->out, table->color);
    return rc;
}

void placements_print(const struct analysis *analysis, FILE *out, bool color)
{
    struct result own;
    const struct analysis measured = analysis_measured(analysis, &own);
    struct table table = {.analysis = &measured,
                          .result = &own,
                          .rows = &measured.rows,
                          .rounds = &measured.rounds,
                          .out = out,
                          .color = color};
    if (print_all(&table))
        log_error("out of memory for the summary table; rows.csv has everything");
}
