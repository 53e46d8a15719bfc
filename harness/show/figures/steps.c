/* Figures of runs with steps: efficiency, time of a step, loss. */
#include <math.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/lines.h"

enum { POINTS_PER_ARM = 400, STYLES = 3 };

/* The arm's row of that metric, or NULL if it has no value. */
static const struct row *find_row(const struct figure_data *data, const struct arm *arm,
                                  const char *metric)
{
    const struct row *row = rows_find(&data->analysis->rows, arm, metric);
    return row && !isnan(row->median) ? row : NULL;
}

static double find_value(const struct figure_data *data, const struct arm *arm, const char *metric)
{
    const struct row *row = find_row(data, arm, metric);
    return row ? row->median : (double)NAN;
}

/* Writes the last block of a figure: lines without a value, and the reason. */
static void put_missing(const struct figure_data *data, const struct lines *lines,
                        const char *metric, FILE *out)
{
    dat_block("missing", "y label why", out);
    for (size_t i = 0; i < lines->n; i++) {
        if (!find_row(data, lines_arm(data, lines, i), metric))
            (void)fprintf(
                out, "-%zu %s %s\n", i + 1, lines_text(data, lines, i).quoted,
                dat_text(lines_format_why(data, lines, i, metric), DAT_REASON_MOST + 20).quoted);
    }
}

/* 0, 1, 2 ... by rank of the number of workers among the lines, modulo STYLES. */
static unsigned style_of(const struct figure_data *data, const struct lines *lines,
                         unsigned planned_workers)
{
    unsigned smaller = 0;
    for (size_t i = 0; i < lines->n; i++) {
        unsigned other = lines_arm(data, lines, i)->planned_workers;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && lines_arm(data, lines, k)->planned_workers != other;
        smaller += first && other < planned_workers;
    }
    return smaller % STYLES;
}

static const char *noisy_mark(enum status status)
{
    return status == STATUS_NOISY ? ", noisy" : "";
}

/* The digits keep 0.0012, 0.059 and 0.97 readable. */
static const char *format_efficiency(const struct row *row)
{
    int digits = row->median < 0.01 ? 4 : row->median < 0.1 ? 3 : 2;
    bool censored = row->status == STATUS_CENSORED;
    const char *text = str_fmt("%s%.*f", censored ? "at most " : "", digits, row->median);
    if (!isnan(row->ci_low) && !censored)
        str_add(&text, "", " (%.*f to %.*f)", digits, row->ci_low, digits, row->ci_high);
    str_add(&text, "", "%s", censored ? ": cut off" : noisy_mark(row->status));
    return text;
}

int figure_efficiency(const struct figure_data *data, FILE *out, struct err *err)
{
    struct lines lines;
    const char *text;
    int rc = lines_make(data, &lines, err);
    if (rc)
        return rc;
    double end = 1.05;
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *row = find_row(data, lines_arm(data, &lines, i), "efficiency");
        if (row)
            end = fmax(end, 1.03 * fmax(row->median, row->ci_high));
    }
    dat_put_heading(data, "parallel efficiency", lines.workers, dat_format_rounds(data, "", ""),
                    "lines x_end", out);
    (void)fprintf(out, " %zu %.4g\n", lines.n, end);
    dat_block("values", "y label value low high style text", out);
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *row = find_row(data, lines_arm(data, &lines, i), "efficiency");
        if (!row)
            continue;
        text = format_efficiency(row);
        (void)fprintf(out, "-%zu %s %.9g %.9g %.9g %u %s\n", i + 1,
                      lines_text(data, &lines, i).quoted, row->median, row->ci_low, row->ci_high,
                      style_of(data, &lines, row->planned_workers), dat_text(text, 80).quoted);
    }
    put_missing(data, &lines, "efficiency", out);
    lines_free(&lines);
    return 0;
}

/* The arm whose samples also count for this arm. */
static const struct arm *source_arm(const struct figure_data *data, size_t arm)
{
    return &data->result->arms[data->analysis->rounds.arms[arm].source];
}

/* The k-th number of a sequence that fills [0, 1) evenly: the bits of k mirrored at the point. */
static double spread_out(uint32_t k)
{
    double value = 0;
    for (double half = 0.5; k; k >>= 1, half /= 2)
        value += (k & 1) ? half : 0;
    return value;
}

/* Writes either the finished steps, thinned to about POINTS_PER_ARM, or those that did not end. */
static void put_samples(const struct figure_data *data, size_t arm, int y, bool censored, FILE *out)
{
    const struct arm *from = source_arm(data, arm);
    size_t stride = 1 + data->analysis->rounds.arms[arm].nsteps / POINTS_PER_ARM;
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

/* The row of one worker alone under the same placement, or NULL. */
static const struct row *solo_row(const struct figure_data *data, size_t arm)
{
    int solo = data->analysis->rounds.arms[arm].baseline[BASELINE_SAME_PLACEMENT];
    if (solo < 0 || (size_t)solo == arm)
        return NULL;
    return find_row(data, &data->result->arms[solo], "step_time");
}

static void step_axis(const struct figure_data *data, const struct lines *lines, double *low,
                      double *high)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < lines->n; i++) {
        const struct arm_rounds *rounds = &data->analysis->rounds.arms[lines->arm[i]];
        const struct row *solo = solo_row(data, lines->arm[i]);
        if (rounds->nsteps) {
            least = fmin(least, rounds->steps[0]);
            /* Room for the arrow of a step that did not end. */
            most = fmax(most, 1.2 * rounds->steps[rounds->nsteps - 1]);
        }
        if (solo)
            least = fmin(least, solo->median);
    }
    bool any = least > 0 && least <= most;
    *low = any ? dat_round_125(least / 1.04, false) : 1e-3;
    *high = any ? dat_round_125(most, true) : 1;
}

static void put_step_boxes(const struct figure_data *data, const struct lines *lines, FILE *out)
{
    dat_block("values", "y label low median high text", out);
    for (size_t i = 0; i < lines->n; i++) {
        const struct row *row = find_row(data, lines_arm(data, lines, i), "step_time");
        const struct arm_rounds *rounds = &data->analysis->rounds.arms[lines->arm[i]];
        if (!row)
            continue;
        (void)fprintf(out, "-%zu %s %.9g %.9g %.9g \"%s%s%s\"\n", i + 1,
                      lines_text(data, lines, i).quoted,
                      stats_percentile(rounds->steps, rounds->nsteps, 0.25), row->median,
                      stats_percentile(rounds->steps, rounds->nsteps, 0.75),
                      row->status == STATUS_CENSORED ? "more than " : "",
                      units_seconds(row->median), noisy_mark(row->status));
    }
}

static bool any_cut_off(const struct figure_data *data, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (data->analysis->rounds.arms[lines->arm[i]].status == STATUS_CENSORED)
            return true;
    return false;
}

int figure_step_time(const struct figure_data *data, FILE *out, struct err *err)
{
    struct lines lines;
    int rc = lines_make(data, &lines, err);
    if (rc)
        return rc;
    double low, high;
    const char *step = lines_step_name(data, &lines);
    step_axis(data, &lines, &low, &high);
    const char *what = str_fmt("time of each %s", step);
    const char *how =
        str_fmt("Dots: %ss of all rounds, at most %d a line. Numbers and diamonds: medians", step,
                POINTS_PER_ARM);
    dat_put_heading(data, what, lines.workers, how, "lines x_low x_high cut_off", out);
    (void)fprintf(out, " %zu %.9g %.9g %d\n", lines.n, low, high, any_cut_off(data, &lines));
    put_step_boxes(data, &lines, out);
    for (int censored = 0; censored < 2; censored++) {
        dat_block(censored ? "cut_off" : "steps", "y time", out);
        for (size_t i = 0; i < lines.n; i++)
            put_samples(data, lines.arm[i], -1 - (int)i, censored, out);
    }
    dat_block("alone", "y time", out);
    for (size_t i = 0; i < lines.n; i++) {
        const struct row *solo = solo_row(data, lines.arm[i]);
        if (solo)
            (void)fprintf(out, "-%zu %.9g\n", i + 1, solo->median);
    }
    put_missing(data, &lines, "step_time", out);
    lines_free(&lines);
    return 0;
}

/* Where the wall time of a step went, as shares of it; the same numbers as in the table. */
struct split {
    double oncpu, wait, quota, step; /* step: s */
    enum status status;
};

static double above_zero(double value)
{
    return fmax(value, 0); /* NaN becomes 0 */
}

/* False if the kernel's accounting is missing. Medians of parts need not add up to the step, so the
 * shares are relative to their sum. */
static bool read_split(const struct figure_data *data, const struct arm *arm, bool wait_known,
                       struct split *split)
{
    const struct row *oncpu = find_row(data, arm, "oncpu_per_step");
    double wait = above_zero(find_value(data, arm, "runqueue_wait_per_step"));
    double quota = above_zero(find_value(data, arm, "throttled_per_step"));
    double blocked = above_zero(find_value(data, arm, "blocked_per_step"));
    double all = (oncpu ? oncpu->median : 0) + wait + quota + blocked;
    *split = (struct split){.oncpu = (oncpu ? oncpu->median : 0) / all,
                            .wait = wait_known ? wait / all : 0,
                            .quota = quota / all,
                            .step = find_value(data, arm, "step_time"),
                            .status = oncpu ? oncpu->status : STATUS_SKIPPED};
    return oncpu && all > 0 && split->step > 0;
}

/* "40.0 ms, 95% lost". */
static const char *format_step(const struct figure_data *data, const struct lines *lines,
                               size_t line, const struct split *split)
{
    const char *lost =
        lines_arm(data, lines, line)->is_baseline ? "" : lines_format_lost(data, lines, line);
    const char *text = str_fmt("%s%s", split->status == STATUS_CENSORED ? "more than " : "",
                               units_seconds(split->step));
    if (lost[0])
        str_add(&text, ", ", "%s", lost);
    str_add(&text, "", "%s", noisy_mark(split->status));
    return text;
}

/* "50% on CPU, 50% run queue": short bars are too small to read. */
static const char *format_shares(const struct split *split, bool wait_known)
{
    const char *text = str_fmt("%.0f%% on CPU", 100 * split->oncpu);
    if (wait_known)
        str_add(&text, ", ", "%.0f%% run queue", 100 * split->wait);
    if (split->quota > 0)
        str_add(&text, ", ", "%.0f%% quota", 100 * split->quota);
    return text;
}

static bool all_waits_known(const struct figure_data *data, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        const struct arm *arm = lines_arm(data, lines, i);
        if (find_row(data, arm, "oncpu_per_step") && !find_row(data, arm, "runqueue_wait_per_step"))
            return false;
    }
    return true;
}

int figure_loss(const struct figure_data *data, FILE *out, struct err *err)
{
    struct lines lines;
    int rc = lines_make(data, &lines, err);
    if (rc)
        return rc;
    bool wait_known = all_waits_known(data, &lines);
    const char *step = lines_step_name(data, &lines);
    lines_add_baselines(data, &lines);
    const char *what = str_fmt("where the time of a %s goes", step);
    const char *how =
        str_fmt("A bar is the median %s of all workers. %s", step, lines_lost_to(data, &lines));
    double stolen = rows_stolen_share(data->result, &data->analysis->rows), longest = 0;
    if (stolen >= 0.005)
        str_add(&how, "", ". Blocked holds stolen time: up to %.1f%%", 100 * stolen);
    bool quota = rows_largest_share(data->result, &data->analysis->rows, "throttled_per_step") > 0;
    for (size_t i = 0; i < lines.n; i++)
        longest = fmax(longest, find_value(data, lines_arm(data, &lines, i), "step_time"));
    dat_put_heading(data, what, lines.workers, how, "lines wait_known quota x_end", out);
    (void)fprintf(out, " %zu %d %d %.9g\n", lines.n, wait_known, quota, longest);
    dat_block("values", "y label oncpu wait quota step text shares", out);
    for (size_t i = 0; i < lines.n; i++) {
        const struct arm *arm = lines_arm(data, &lines, i);
        struct split split;
        if (!read_split(data, arm, wait_known, &split))
            continue;
        const char *text = format_step(data, &lines, i, &split);
        const char *shares = format_shares(&split, wait_known);
        (void)fprintf(out, "-%zu %s %.9g %.9g %.9g %.9g %s %s\n", i + 1,
                      lines_text(data, &lines, i).quoted, split.oncpu * split.step,
                      split.wait * split.step, split.quota * split.step, split.step,
                      dat_text(text, 80).quoted, dat_text(shares, 80).quoted);
    }
    put_missing(data, &lines, "oncpu_per_step", out);
    lines_free(&lines);
    return 0;
}
