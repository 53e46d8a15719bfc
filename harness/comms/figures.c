#include "harness/comms/show.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/files.h"
#include "harness/show/figures/gnuplot.h"
#include "harness/show/figures/scripts.h"

enum {
    LINE = 150,
    PRINTED_MOST = 10, /* with more GPUs, cells have no room for numbers */
    TICKS_MOST = 17,
    BINS = 60,
    BARS = 6,         /* distinguishable colours; the last may stand for all other collectives */
    NUMBERS_MOST = 14 /* with more bars, there is no room for their numbers */
};

static uint64_t most_of(const struct comms_matrix *matrix)
{
    uint64_t most = 0;
    for (size_t i = 0; i < (size_t)matrix->n * matrix->n; i++)
        most = matrix->bytes[i] > most ? matrix->bytes[i] : most;
    return most;
}

/* ---- between GPUs ---- */

static const char *format_how(const struct comms_matrix *matrix)
{
    static const char *const sources[] = {
        [COMMS_EXACT] = "exact: pairs as NCCL reports them",
        [COMMS_FROM_NCCL] = "order from NCCL",
        [COMMS_MODELLED] = "modelled: rings in the order of ranks",
    };
    return str_fmt("%s%s. %u GPUs, all communicators together", sources[matrix->how],
                   matrix->trees ? ", trees as NCCL builds them" : "", matrix->n);
}

static const char *format_rest(const struct comms_total *total)
{
    if (total->matrix.unknown_calls)
        return str_fmt("Not shown, as their pairs are unknown: %s calls of %sB",
                       units_si((double)total->matrix.unknown_calls),
                       units_si((double)total->matrix.unknown_bytes));
    if (total->assumed)
        return "Several GPUs of one process: numbered by the order of its ranks";
    return "";
}

static const char *name_gpu(const void *arg, unsigned axis, unsigned place)
{
    (void)arg;
    (void)axis;
    return str_fmt("%u", place);
}

static const char *format_bytes(const void *arg, size_t cell)
{
    const struct comms_matrix *matrix = arg;
    return str_fmt("%sB", units_si((double)matrix->bytes[cell]));
}

static void put_values(const struct comms_view *view, double *value, FILE *out)
{
    const struct comms_matrix *matrix = &view->total.matrix;
    struct heat heat = {.n = {matrix->n, matrix->n},
                        .value = value,
                        .low = INFINITY,
                        .colours = "bytes sent",
                        .labels = {"to GPU", "from GPU"},
                        .ticks = FIGURE_TICKS_BYTES,
                        .printed_most = PRINTED_MOST,
                        .arg = matrix,
                        .name = name_gpu,
                        .format_cell = format_bytes};
    for (size_t i = 0; i < (size_t)matrix->n * matrix->n; i++) {
        value[i] = matrix->bytes[i] ? (double)matrix->bytes[i] : NAN; /* 0 bytes: no colour */
        heat.low = fmin(heat.low, value[i]);
        heat.high = fmax(heat.high, value[i]);
    }
    if (heat.low > heat.high / 2) /* else small differences would span all colours */
        heat.low = 0;
    const char *how = format_how(matrix);
    const char *rest = format_rest(&view->total);
    found_put_kind(FIGURE_HEAT, out);
    dat_begin("Bytes between GPUs", how, rest, HEAT_COLUMNS, out);
    heat_put(&heat, out);
}

static int put_map(const void *arg, FILE *out, struct err *err)
{
    const struct comms_view *view = arg;
    const struct comms_matrix *matrix = &view->total.matrix;
    if (!most_of(matrix) || matrix->n > COMMS_DRAWN_GPUS)
        return err_set(err, -ENODATA, "%s",
                       matrix->n > COMMS_DRAWN_GPUS ? "too many GPUs" : "no pair is known");
    double *value = calloc((size_t)matrix->n * matrix->n, sizeof(*value));
    if (!value)
        return err_set(err, -ENOMEM, "no memory for a map of GPUs");
    put_values(view, value, out);
    free(value);
    return 0;
}

/* ---- over time ---- */

struct bins {
    double gbps[COMMS_FUNCS][BINS];
    bool has[COMMS_FUNCS];
    double width_s, least, most; /* least: above 0 */
};

static void fill_bins(const struct comms_timeline *timeline, struct bins *bins)
{
    bins->width_s = fmax((double)timeline->span_ns * 1e-9, 1e-6) / BINS;
    for (size_t i = 0; i < timeline->n; i++) {
        const struct comms_moment *moment = &timeline->moment[i];
        uint32_t func = comms_key_unpack(moment->key).func;
        size_t bin = (size_t)((double)moment->time_ns * 1e-9 / bins->width_s);
        bin = bin < BINS ? bin : BINS - 1;
        bins->has[func] = true;
        bins->gbps[func][bin] += (double)moment->bytes * 1e-9 / bins->width_s;
    }
    bins->least = INFINITY;
    for (size_t func = 0; func < COMMS_FUNCS; func++)
        for (size_t bin = 0; bin < BINS; bin++) {
            double gbps = bins->gbps[func][bin];
            bins->most = fmax(bins->most, gbps);
            bins->least = gbps > 0 ? fmin(bins->least, gbps) : bins->least;
        }
}

/* The unit of a time axis. */
struct prefix {
    double factor;
    const char *text;
};

static struct prefix time_unit(double seconds)
{
    return seconds >= 1      ? (struct prefix){1, "s"}
           : seconds >= 1e-3 ? (struct prefix){1e-3, "ms"}
                             : (struct prefix){1e-6, "us"};
}

/* Collectives may differ by powers of ten: a logarithmic axis, on which 0 is a gap. */
static void put_time_axes(const struct comms_view *view, const struct bins *bins,
                          const struct prefix *unit, FILE *out)
{
    char rest[LINE] = "";
    const char *label = str_fmt("%s since the first call in the log", unit->text);
    struct curves curves = {
        .x.label = label,
        .y = {.label = "enqueued a second (log scale)", .log = true, .ticks = FIGURE_TICKS_GBPS},
        .x_ends = {0, bins->width_s * BINS / unit->factor},
        .y_ends = {pow(10, floor(log10(bins->least))), pow(10, floor(log10(bins->most)) + 1)}};
    for (uint32_t func = 0; func < COMMS_FUNCS; func++)
        if (bins->has[func])
            (void)names_add(&curves.names, comms_func_name(func));
    if (view->timeline.dropped)
        text_set(rest, "Not shown: the first %s events, as each log keeps at most the last %d",
                 units_si((double)view->timeline.dropped), COMMS_EVENTS);
    dat_begin("Bytes over time, by collective",
              "As requested by the program, all ranks together, by the time of enqueueing", rest,
              CURVES_COLUMNS, out);
    curves_put_axes(&curves, out);
}

static int put_timeline(const void *arg, FILE *out, struct err *err)
{
    const struct comms_view *view = arg;
    struct bins bins = {0};
    size_t line = 0;
    if (!view->timeline.n)
        return err_set(err, -ENODATA, "the logs have no events");
    fill_bins(&view->timeline, &bins);
    if (bins.most <= 0)
        return err_set(err, -ENODATA, "no event has bytes");
    found_put_kind(FIGURE_LINES, out);
    const struct prefix unit = time_unit(bins.width_s * BINS);
    put_time_axes(view, &bins, &unit, out);
    for (uint32_t func = 0; func < COMMS_FUNCS; func++) {
        if (!bins.has[func])
            continue;
        curves_put_line(line++, out);
        for (int bin = 0; bin < BINS; bin++)
            curves_put_point((bin + 0.5) * bins.width_s / unit.factor,
                             bins.gbps[func][bin] > 0 ? bins.gbps[func][bin] : NAN, NAN, NAN, out);
    }
    return 0;
}

/* ---- by size ---- */

struct sizes {
    uint64_t calls[COMMS_FUNCS][COMMS_SIZES], any_size;
    uint64_t all[COMMS_FUNCS]; /* of each collective */
    uint64_t bar[BARS][COMMS_SIZES];
    char name[BARS][24];
    int bars, first, last; /* sizes from first to last */
    uint64_t most;
};

static void count_sizes(const struct comms_view *view, struct sizes *sizes)
{
    for (size_t c = 0; c < view->comms.n; c++)
        for (size_t i = 0; i < view->comms.communicator[c].work.n; i++) {
            const struct comms_line *line = &view->comms.communicator[c].work.line[i];
            sizes->any_size += line->any_size;
            for (int b = 0; b < COMMS_SIZES; b++) {
                sizes->calls[line->func][b] += line->sizes[b];
                sizes->all[line->func] += line->sizes[b];
            }
        }
}

/* A bar for each collective, those with the most calls first; the rest share the last bar. */
static void choose_bars(struct sizes *sizes)
{
    for (;;) {
        uint32_t best = 0;
        for (uint32_t func = 1; func < COMMS_FUNCS; func++)
            best = sizes->all[func] > sizes->all[best] ? func : best;
        if (!sizes->all[best])
            return;
        bool own = sizes->bars < BARS;
        int at = own ? sizes->bars++ : BARS - 1;
        text_set(sizes->name[at], "%s", own ? comms_func_name(best) : "others");
        for (int b = 0; b < COMMS_SIZES; b++)
            sizes->bar[at][b] += sizes->calls[best][b];
        sizes->all[best] = 0;
    }
}

static void find_ends(struct sizes *sizes)
{
    sizes->first = COMMS_SIZES;
    for (int b = 0; b < COMMS_SIZES; b++)
        for (int bar = 0; bar < sizes->bars; bar++) {
            if (!sizes->bar[bar][b])
                continue;
            sizes->first = b < sizes->first ? b : sizes->first;
            sizes->last = b;
            sizes->most = sizes->bar[bar][b] > sizes->most ? sizes->bar[bar][b] : sizes->most;
        }
}

static void put_size_heading(const struct sizes *sizes, FILE *out)
{
    char rest[LINE] = "";
    if (sizes->any_size)
        text_set(rest, "Not shown: %s calls of unknown size", units_si((double)sizes->any_size));
    dat_begin("Sizes of calls, by collective",
              "Calls by size as requested by the program, in powers of two; collectives: those of "
              "one rank",
              rest, BARS_HEADING, out);
    (void)fprintf(out, " \"bytes of a call, from\" \"calls (log scale)\" %d %d %.9g 0.5\n",
                  sizes->last - sizes->first + 1, sizes->bars, (double)sizes->most * 1.5);
}

static void put_size_places(const struct sizes *sizes, FILE *out)
{
    int step = (sizes->last - sizes->first) / TICKS_MOST + 1;
    dat_block("places", "number name", out);
    for (int b = sizes->first; b <= sizes->last; b += step) {
        const char *text = units_bytes(b ? 1ull << (b - 1) : 0);
        (void)fprintf(out, "%d \"%s\"\n", b - sizes->first, text);
    }
    dat_block("names", "number name", out);
    for (int bar = 0; bar < sizes->bars; bar++)
        (void)fprintf(out, "%d \"%s\"\n", bar, sizes->name[bar]);
}

static int put_sizes(const void *arg, FILE *out, struct err *err)
{
    struct sizes sizes = {0};
    count_sizes(arg, &sizes);
    choose_bars(&sizes);
    find_ends(&sizes);
    if (!sizes.most)
        return err_set(err, -ENODATA, "the logs have no sizes of calls");
    found_put_kind(FIGURE_BARS, out);
    put_size_heading(&sizes, out);
    put_size_places(&sizes, out);
    bool numbers = (sizes.last - sizes.first + 1) * sizes.bars <= NUMBERS_MOST;
    dat_block("bars", BARS_COLUMNS, out);
    for (int b = sizes.first; b <= sizes.last; b++)
        for (int bar = 0; bar < sizes.bars; bar++) {
            uint64_t calls = sizes.bar[bar][b];
            const char *text = calls && numbers ? str_fmt("%" PRIu64, calls) : "";
            if (calls)
                (void)fprintf(out, "%d %d %" PRIu64 " NaN NaN \"%s\"\n", b - sizes.first, bar,
                              calls, text);
        }
    return 0;
}

/* ---- all of them ---- */

static int draw_in(const struct comms_view *view, int plots_fd, struct signals *signals,
                   struct err *err)
{
    static const struct {
        const char *name, *script;
        plot_writer *write;
    } figures[] = {
        {"comms_bytes", plot_heat_map_gp, put_map},
        {"comms_timeline", plot_line_chart_gp, put_timeline},
        {"comms_sizes", plot_bar_chart_gp, put_sizes},
    };
    struct gnuplot_job jobs[sizeof(figures) / sizeof(figures[0])];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        plot_files_remove_all(plots_fd, figures[i].name);
        int rc = plot_files_write_data(plots_fd, figures[i].name, figures[i].write, view, err);
        if (!rc)
            jobs[n++] = (struct gnuplot_job){.name = figures[i].name,
                                             .scripts = {plot_common_gp, figures[i].script}};
        else if (rc != -ENODATA)
            return rc;
    }
    return n ? gnuplot_run(plots_fd, jobs, n, GNUPLOT_LIMIT_S, signals, err) : 0;
}

int comms_figures_draw(const struct comms_view *view, int dir_fd, struct signals *signals,
                       struct err *err)
{
    int plots_fd = plot_files_open(dir_fd, true, err);
    if (plots_fd < 0)
        return plots_fd;
    int rc = draw_in(view, plots_fd, signals, err);
    if (rc == -ENOENT) {
        log_info("gnuplot is not installed: no plots");
        rc = 0;
    }
    (void)close(plots_fd);
    return rc;
}
