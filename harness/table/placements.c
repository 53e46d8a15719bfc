#include "harness/table/placements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/judge/advice.h"
#include "harness/rows/rounds.h"
#include "harness/sys/log.h"
#include "harness/table/beside_steps.h"
#include "harness/table/retention.h"
#include "harness/table/scan.h"

enum { CELL = 32 };

struct table {
    const struct result *result;
    const struct rows *rows;
    const struct rounds *rounds;
    FILE *out;
    bool color;
    unsigned slots; /* of the block being printed */
    bool noted;     /* a line below the tables has been printed */
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
    static const char *const devices[] = {", no device", ", device sim (modelled GPU)",
                                          ", device cuda"};
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
    (void)fprintf(table->out, "%s%s, %u CPU%s, %s round%s\n", result->scenario,
                  only_scans ? "" : devices[result->device], cpus, cpus == 1 ? "" : "s", rounds,
                  result->rounds_planned == 1 ? "" : "s");
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
    if (rounds_ratio(table->rounds, arm, best, table->result->seed, &ratio, NULL) ||
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

/* Below a blank line that stands before the first of them. */
static void print_note(struct table *table, const char *line)
{
    if (!table->noted)
        (void)fputc('\n', table->out);
    table->noted = true;
    text_wrap(line, 0, 2, table->out);
}

/* The placements that the machine cannot express: by name, or with the reason when they are few. */
static void print_skipped(struct table *table)
{
    enum { REASONS_MAX = 2 };
    char names[200] = "";
    size_t n = 0, used = 0;
    for (size_t i = 0; i < table->result->narms; i++) {
        if (!in_block(table, i) || arm_at(table, i)->plan.status != PLAN_SKIPPED)
            continue;
        n++;
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                 name_at(table, i));
        if (used >= sizeof(names))
            break;
    }
    char line[400];
    if (n > REASONS_MAX) {
        (void)snprintf(line, sizeof(line), "- not on this machine: %s ('contend list' says why)",
                       names);
        print_note(table, line);
    }
    for (size_t i = 0; n <= REASONS_MAX && i < table->result->narms; i++) {
        if (!in_block(table, i) || arm_at(table, i)->plan.status != PLAN_SKIPPED)
            continue;
        (void)snprintf(line, sizeof(line), "- %s: skipped: %s", name_at(table, i),
                       arm_at(table, i)->plan.reason);
        print_note(table, line);
    }
}

/* One line for every arm of the block, or its baseline, that is not simply ok. */
static void print_notes(struct table *table)
{
    for (size_t i = 0; i < table->result->narms; i++) {
        const struct arm_rounds *rounds = &table->rounds->arms[i];
        const struct arm *arm = arm_at(table, i);
        bool repeats = arm->alone && rounds->source != i;
        bool skipped = arm->plan.status == PLAN_SKIPPED;
        if (arm->slots != table->slots || rounds->status == STATUS_OK || repeats || skipped ||
            arm->bench->scan)
            continue;
        char line[400];
        const char *mark = rounds->n ? mark_of(table, i) : "-";
        (void)snprintf(line, sizeof(line), "%s%s%s%s: %s: %s", mark, mark[0] ? " " : "",
                       name_at(table, i), arm->alone ? " alone" : "", status_name(rounds->status),
                       rounds->reason);
        print_note(table, line);
    }
}

/* The worker that OpenMP gave the least of its threads; NULL where all have theirs. */
static const struct worker_result *smallest_team(const struct arm *arm, unsigned *index)
{
    const struct worker_result *smallest = NULL;
    for (size_t o = 0; o < arm->nobservations; o++)
        for (unsigned i = 0; i < arm->observations[o].nworkers && i < arm->plan.nworkers; i++) {
            const struct worker_result *worker = &arm->observations[o].workers[i];
            bool less = worker->least_team && worker->least_team < arm->plan.workers[i].threads;
            if (!less || (smallest && worker->least_team >= smallest->least_team))
                continue;
            smallest = worker;
            *index = i;
        }
    return smallest;
}

/* What OMP_THREAD_LIMIT and OMP_DYNAMIC made of the plans. */
static void print_small_teams(struct table *table)
{
    for (size_t a = 0; a < table->result->narms; a++) {
        unsigned i = 0;
        const struct arm *arm = arm_at(table, a);
        const struct worker_result *worker = smallest_team(arm, &i);
        if (!worker)
            continue;
        char line[200];
        (void)snprintf(line, sizeof(line),
                       "- %s%s: OpenMP gave worker %u a team of %u of the %u threads planned",
                       name_at(table, a), arm->alone ? " alone" : "", i, worker->least_team,
                       arm->plan.workers[i].threads);
        print_note(table, line);
    }
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
    beside_steps_print(table->result, table->rows, order, n, table->out);
    return n > 0;
}

static unsigned next_slots(const struct result *result, unsigned after)
{
    unsigned next = 0;
    for (size_t i = 0; i < result->narms; i++) {
        unsigned slots = result->arms[i].bench->scan ? 0 : result->arms[i].slots;
        if (slots > after && (!next || slots < next))
            next = slots;
    }
    return next;
}

/* About the largest number of workers: that is where they fight the most. */
static int print_advice(const struct table *table, unsigned blocks)
{
    struct advice advice;
    int rc = advice_make(table->result, table->rounds, table->rows, table->slots, &advice, NULL);
    if (rc || !advice.sentence[0])
        return rc;
    char with[32] = "", line[600];
    if (blocks > 1)
        (void)snprintf(with, sizeof(with), "with %u workers, ", table->slots);
    (void)snprintf(line, sizeof(line), "%s%s", with, advice.sentence);
    (void)fputc('\n', table->out);
    paint(table, BOLD);
    text_wrap(line, 0, 0, table->out);
    paint(table, PLAIN);
    if (advice.command[0])
        (void)fprintf(table->out, "to apply it: %s\n", advice.command);
    return 0;
}

static int print_all(struct table *table)
{
    size_t *order = calloc(table->result->narms + 1, sizeof(*order));
    if (!order)
        return -1;
    print_title(table);
    unsigned blocks = 0, measured = 0;
    for (unsigned slots = 0; (slots = next_slots(table->result, slots)) != 0; blocks++) {
        table->slots = slots;
        if (print_block(table, order))
            measured++;
    }
    free(order);
    int rc = 0;
    if (measured) {
        (void)fputs("CPU, queue, block: shares of a step on a CPU, waiting for one, and blocked\n",
                    table->out);
        rc = print_advice(table, blocks);
    }
    if (!rc)
        rc = scan_print(table->result, table->rows, table->rounds, table->out, table->color);
    if (!rc)
        (void)retention_print(table->result, table->rows, table->out, table->color);
    for (unsigned slots = 0; (slots = next_slots(table->result, slots)) != 0;) {
        table->slots = slots;
        print_notes(table);
        print_skipped(table);
    }
    print_small_teams(table);
    return rc;
}

void placements_print(const struct result *result, const struct rows *rows, FILE *out, bool color)
{
    struct rounds rounds;
    struct table table = {
        .result = result, .rows = rows, .rounds = &rounds, .out = out, .color = color};
    if (rounds_make(result, &rounds, NULL) || print_all(&table))
        log_error("out of memory for the summary table; rows.csv has everything");
    rounds_free(&rounds);
}
