/* Figures of runs that have steps: efficiency, step time, loss. */
#include <math.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/units.h"
#include "harness/plot/dat.h"
#include "harness/plot/lines.h"

enum { POINTS_PER_ARM = 400, STYLES = 3 };

/* The arm's row of that metric, or NULL when it has no value. */
static const struct row *find_row(const struct report *report, const struct arm *arm,
                                  const char *metric)
{
    const struct row *row = rows_find(report->rows, arm, metric);
    return row && !isnan(row->median) ? row : NULL;
}

static double find_value(const struct report *report, const struct arm *arm, const char *metric)
{
    const struct row *row = find_row(report, arm, metric);
    return row ? row->median : (double)NAN;
}

/* `"skipped: no P/E cores"`, for arms that have no value of `metric`. */
static void put_why(const struct report *report, size_t arm, const char *metric, FILE *out)
{
    const struct arm_rounds *rounds = &report->rounds->arms[arm];
    const struct row *row = rows_find(report->rows, &report->result->arms[arm], metric);
    bool from_row = rounds->n && row;
    (void)fprintf(out, " \"%s: ", status_name(from_row ? row->status : rounds->status));
    report_put_clean(out, from_row ? row->reason : rounds->reason, REPORT_REASON_MOST);
    (void)fputc('"', out);
}

/* The last block of a figure: lines without a value, and why. */
static void put_missing(const struct report *report, const struct report_lines *lines,
                        const char *metric, FILE *out)
{
    report_start_block(out, "1 \"\" \"\"");
    for (size_t i = 0; i < lines->n; i++) {
        if (find_row(report, report_lines_arm(report, lines, i), metric))
            continue;
        (void)fprintf(out, "%d", -1 - (int)i);
        report_lines_put_label(report, lines, i, out);
        put_why(report, lines->arm[i], metric, out);
        (void)fputc('\n', out);
    }
}

/* 0, 1, 2 ... for the first, second, third number of workers among the lines. */
static unsigned style_of(const struct report *report, const struct report_lines *lines,
                         unsigned slots)
{
    unsigned smaller = 0;
    for (size_t i = 0; i < lines->n; i++) {
        unsigned other = report_lines_arm(report, lines, i)->slots;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && report_lines_arm(report, lines, k)->slots != other;
        smaller += first && other < slots;
    }
    return smaller % STYLES;
}

static const char *noisy_mark(enum status status)
{
    return status == STATUS_NOISY ? ", noisy" : "";
}

/* 0.0012, 0.059 and 0.97 all have to be read. */
static void put_efficiency_text(const struct row *row, FILE *out)
{
    int digits = row->median < 0.01 ? 4 : row->median < 0.1 ? 3 : 2;
    bool censored = row->status == STATUS_CENSORED;
    (void)fprintf(out, " \"%s%.*f", censored ? "at most " : "", digits, row->median);
    if (!isnan(row->ci_low) && !censored)
        (void)fprintf(out, " (%.*f to %.*f)", digits, row->ci_low, digits, row->ci_high);
    (void)fprintf(out, "%s\"", censored ? ": step cut off" : noisy_mark(row->status));
}

int report_write_efficiency(const struct report *report, FILE *out, struct err *err)
{
    struct report_lines lines;
    int rc = report_lines_make(report, &lines, err);
    if (rc)
        return rc;
    double end = 1.05;
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *row = find_row(report, report_lines_arm(report, &lines, i), "efficiency");
        if (row)
            end = fmax(end, 1.03 * fmax(row->median, isnan(row->ci_high) ? 0 : row->ci_high));
    }
    char how[80] = "One round, so no interval";
    if (report->result->rounds_done > 1)
        (void)snprintf(how, sizeof(how), "Median and 95%% interval over %u rounds",
                       report->result->rounds_done);
    report_put_heading(report, "parallel efficiency", lines.workers, how, out);
    (void)fprintf(out, " %zu %.4g\n", lines.n, end);
    report_end_block(out);
    report_start_block(out, "1 \"\" NaN NaN NaN 0 \"\"");
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *row = find_row(report, report_lines_arm(report, &lines, i), "efficiency");
        if (!row)
            continue;
        (void)fprintf(out, "%d", -1 - (int)i);
        report_lines_put_label(report, &lines, i, out);
        (void)fprintf(out, " %.9g %.9g %.9g %u", row->median, row->ci_low, row->ci_high,
                      style_of(report, &lines, row->slots));
        put_efficiency_text(row, out);
        (void)fputc('\n', out);
    }
    report_end_block(out);
    put_missing(report, &lines, "efficiency", out);
    report_lines_free(&lines);
    return 0;
}

/* The arm whose samples stand for this line's. */
static const struct arm *source_arm(const struct report *report, size_t arm)
{
    return &report->result->arms[report->rounds->arms[arm].source];
}

/* The k-th of a sequence that fills [0, 1) evenly: the bits of k mirrored at the point. */
static double spread_out(uint32_t k)
{
    double value = 0;
    for (double half = 0.5; k; k >>= 1, half /= 2)
        value += (k & 1) ? half : 0;
    return value;
}

/* Either the finished steps (thinned to what can be told apart) or those that did not end. */
static void put_samples(const struct report *report, size_t arm, int y, bool censored, FILE *out)
{
    const struct arm *from = source_arm(report, arm);
    size_t stride = 1 + report->rounds->arms[arm].nsteps / POINTS_PER_ARM;
    size_t at = 0;
    uint32_t shown = 0;
    for (size_t i = 0; i < from->nobservations; i++) {
        const struct observation *observation = &from->observations[i];
        if (observation->status > STATUS_CENSORED)
            continue;
        for (unsigned w = 0; w < observation->nworkers; w++) {
            const struct worker_result *worker = &observation->workers[w];
            for (size_t s = 0; s < worker->nsamples && !worker->background; s++) {
                const struct sample *sample = &worker->samples[s];
                bool is_censored = worker->censored && s + 1 == worker->nsamples;
                if (is_censored != censored || !sample->iters || (!censored && at++ % stride))
                    continue;
                (void)fprintf(out, "%.3f %.9g\n", y + 0.6 * (spread_out(++shown) - 0.5),
                              (double)sample->elapsed_ns * 1e-9 / (double)sample->iters);
            }
        }
    }
}

/* The row of the same placement with one worker alone, or NULL. */
static const struct row *alone_row(const struct report *report, size_t arm)
{
    int alone = report->rounds->arms[arm].baseline[BASELINE_ALONE];
    if (alone < 0 || (size_t)alone == arm)
        return NULL;
    return find_row(report, &report->result->arms[alone], "step_time");
}

static void step_axis(const struct report *report, const struct report_lines *lines, double *low,
                      double *high)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < lines->n; i++) {
        const struct arm_rounds *rounds = &report->rounds->arms[lines->arm[i]];
        const struct row *alone = alone_row(report, lines->arm[i]);
        if (rounds->nsteps) {
            least = fmin(least, rounds->steps[0]);
            /* Room for the arrow of a step that did not end. */
            most = fmax(most, 1.2 * rounds->steps[rounds->nsteps - 1]);
        }
        if (alone)
            least = fmin(least, alone->median);
    }
    bool any = least > 0 && least <= most;
    *low = any ? report_round_125(least / 1.04, false) : 1e-3;
    *high = any ? report_round_125(most, true) : 1;
}

static void put_step_boxes(const struct report *report, const struct report_lines *lines, FILE *out)
{
    report_start_block(out, "1 \"\" NaN NaN NaN \"\"");
    for (size_t i = 0; i < lines->n; i++) {
        const struct row *row = find_row(report, report_lines_arm(report, lines, i), "step_time");
        const struct arm_rounds *rounds = &report->rounds->arms[lines->arm[i]];
        char text[32];
        if (!row)
            continue;
        (void)fprintf(out, "%d", -1 - (int)i);
        report_lines_put_label(report, lines, i, out);
        (void)fprintf(out, " %.9g %.9g %.9g \"%s%s%s\"\n",
                      stats_percentile(rounds->steps, rounds->nsteps, 0.25), row->median,
                      stats_percentile(rounds->steps, rounds->nsteps, 0.75),
                      row->status == STATUS_CENSORED ? "more than " : "",
                      units_format_seconds(row->median, text, sizeof(text)),
                      noisy_mark(row->status));
    }
    report_end_block(out);
}

static bool any_cut_off(const struct report *report, const struct report_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (report->rounds->arms[lines->arm[i]].status == STATUS_CENSORED)
            return true;
    return false;
}

int report_write_step_time(const struct report *report, FILE *out, struct err *err)
{
    struct report_lines lines;
    int rc = report_lines_make(report, &lines, err);
    if (rc)
        return rc;
    double low, high;
    step_axis(report, &lines, &low, &high);
    report_put_heading(report, "step time", lines.workers,
                       "Steps of all rounds, at most 400 a line. Numbers and diamonds: medians",
                       out);
    (void)fprintf(out, " %zu %.9g %.9g %d\n", lines.n, low, high, any_cut_off(report, &lines));
    report_end_block(out);
    put_step_boxes(report, &lines, out);
    for (int censored = 0; censored < 2; censored++) {
        report_start_block(out, "NaN NaN");
        for (size_t i = 0; i < lines.n; i++)
            put_samples(report, lines.arm[i], -1 - (int)i, censored, out);
        report_end_block(out);
    }
    report_start_block(out, "NaN NaN");
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *alone = alone_row(report, lines.arm[i]);
        if (alone)
            (void)fprintf(out, "%d %.9g\n", -1 - (int)i, alone->median);
    }
    report_end_block(out);
    put_missing(report, &lines, "step_time", out);
    report_lines_free(&lines);
    return 0;
}

/* Where the wall time of a step went, in seconds. */
struct split {
    double oncpu, wait, blocked, whole;
    double lost; /* whole - that of the baseline; NaN = unknown */
    enum status status;
};

/* False when the kernel's accounting is missing. Medians of parts need not add up: whole is theirs.
 */
static bool read_split(const struct report *report, const struct arm *arm, bool wait_known,
                       struct split *split)
{
    const struct row *oncpu = find_row(report, arm, "oncpu_per_step");
    split->status = oncpu ? oncpu->status : STATUS_SKIPPED;
    split->oncpu = oncpu ? oncpu->median : (double)NAN;
    split->wait = find_value(report, arm, "runqueue_wait_per_step");
    split->blocked = find_value(report, arm, "blocked_per_step");
    split->lost = find_value(report, arm, "loss_per_step");
    if (isnan(split->wait))
        split->wait = 0;
    if (!wait_known) {
        split->blocked += split->wait;
        split->wait = 0;
    }
    split->whole = split->oncpu + split->wait + split->blocked;
    return split->whole > 0;
}

static void put_split(const struct split *split, bool is_baseline, FILE *out)
{
    char text[32];
    double percent = 100 / split->whole;
    /* The loss is that of its median round, which may be longer than the medians of the parts. */
    double lost = is_baseline ? 0 : 100 * split->lost / fmax(split->whole, split->lost);
    (void)fprintf(out, " %.4f %.4f %.4f %.4f \"%s a step", split->oncpu * percent,
                  split->wait * percent, split->blocked * percent,
                  is_baseline || lost < 0 ? (double)NAN : 100 - lost,
                  units_format_seconds(split->whole, text, sizeof(text)));
    if (is_baseline)
        (void)fputs(", baseline", out);
    else if (lost < 0)
        (void)fputs(", no loss", out);
    else if (lost > 99.9)
        (void)fputs(", over 99.9% lost", out);
    else if (!isnan(lost))
        (void)fprintf(out, ", %.*f%% lost", lost > 99 || lost < 10 ? 1 : 0, lost);
    (void)fprintf(out, "%s\"\n", noisy_mark(split->status));
}

static bool all_waits_known(const struct report *report, const struct report_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        const struct arm *arm = report_lines_arm(report, lines, i);
        if (find_row(report, arm, "oncpu_per_step") &&
            !find_row(report, arm, "runqueue_wait_per_step"))
            return false;
    }
    return true;
}

int report_write_loss(const struct report *report, FILE *out, struct err *err)
{
    struct report_lines lines;
    int rc = report_lines_make(report, &lines, err);
    if (rc)
        return rc;
    bool wait_known = all_waits_known(report, &lines);
    report_lines_add_baselines(report, &lines);
    report_put_heading(report, "where the time of a step goes", lines.workers,
                       "Each bar is one step of its own length, written at its right", out);
    (void)fprintf(out, " %zu %d\n", lines.n, wait_known);
    report_end_block(out);
    report_start_block(out, "1 \"\" NaN NaN NaN NaN \"\"");
    for (size_t i = 0; i < lines.n; i++) {
        const struct arm *arm = report_lines_arm(report, &lines, i);
        struct split split;
        if (!read_split(report, arm, wait_known, &split))
            continue;
        (void)fprintf(out, "%d", -1 - (int)i);
        report_lines_put_label(report, &lines, i, out);
        put_split(&split, arm->alone, out);
    }
    report_end_block(out);
    put_missing(report, &lines, "oncpu_per_step", out);
    report_lines_free(&lines);
    return 0;
}
