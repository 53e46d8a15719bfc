/* Bars of the work that placements do, and of where the time of a step goes. Widths are shares of
 * the page's, so that text keeps its size on a phone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/judge/advice.h"
#include "harness/report/escape.h"
#include "harness/report/html_parts.h"
#include "harness/rows/metric.h"
#include "harness/search/tune.h"

enum { LINE = 46, BAR_AT = 22, BAR = 14, TEXT_AT = 14 };

/* "19x less (17x to 27x)", "best"; "" where nobody knows. */
static void say_behind(const struct block *block, size_t i, char *buf, size_t size)
{
    char ratio[16], low[16], high[16];
    const struct row *row = block_behind(block, i);
    (void)snprintf(buf, size, "%s", block_is_best(block, i) && block->n > 1 ? "best" : "");
    if (block_is_best(block, i) || !row)
        return;
    size_t used =
        (size_t)snprintf(buf, size, "%s%s less", row->status == STATUS_CENSORED ? "more than " : "",
                         advice_format_ratio(row->median, ratio, sizeof(ratio)));
    if (!isnan(row->ci_low) && row->status != STATUS_CENSORED && used < size)
        (void)snprintf(buf + used, size - used, " (%s to %s)",
                       advice_format_ratio(row->ci_low, low, sizeof(low)),
                       advice_format_ratio(row->ci_high, high, sizeof(high)));
}

static double largest(const struct html_side *side, const char *unit)
{
    const struct rows *rows = &side->recorded->analysis.rows;
    double most = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (!row->arm->alone && !strcmp(row->metric, METRIC_RATE) && !strcmp(row->unit, unit))
            most = fmax(most, fmax(row->median, row->ci_high)); /* which may be NaN */
    }
    return most;
}

static void begin_chart(const char *title, const char *desc, size_t lines, FILE *out)
{
    (void)fprintf(out, "<svg class=\"chart\" role=\"img\" width=\"100%%\" height=\"%zu\"><title>",
                  lines * LINE);
    html_say(out, "%s", title);
    (void)fputs("</title><desc>", out);
    html_say(out, "%s", desc);
    (void)fputs("</desc>\n", out);
}

static void print_labels(size_t line, const char *name, const char *value, FILE *out)
{
    size_t y = line * LINE + TEXT_AT;
    (void)fprintf(out, "<text class=\"name\" x=\"0\" y=\"%zu\">", y);
    escape_markup(name, out);
    (void)fprintf(out, "</text><text class=\"value\" x=\"100%%\" y=\"%zu\">", y);
    escape_markup(value, out);
    (void)fputs("</text>", out);
}

static void print_bar(size_t line, double from, double to, const char *class, FILE *out)
{
    (void)fprintf(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%zu\" width=\"%.2f%%\" height=\"%d\"/>",
                  class, 100 * from, line * LINE + BAR_AT, 100 * fmax(to - from, 0), BAR);
}

static void print_interval(size_t line, double low, double high, FILE *out)
{
    size_t y = line * LINE + BAR_AT;
    if (isnan(low) || isnan(high))
        return;
    (void)fprintf(out, "<line class=\"ci\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%zu\" y2=\"%zu\"/>",
                  100 * low, 100 * high, y + BAR / 2, y + BAR / 2);
    for (int end = 0; end < 2; end++)
        (void)fprintf(out, "<line class=\"ci\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%zu\" y2=\"%zu\"/>",
                      100 * (end ? high : low), 100 * (end ? high : low), y + 2, y + BAR - 2);
}

static void print_rate(const struct block *block, size_t i, double most, FILE *out)
{
    char rate[32], less[64], value[160];
    const struct row *row = block_row(block, i, METRIC_RATE);
    if (!row || isnan(row->median))
        return;
    say_behind(block, i, less, sizeof(less));
    (void)snprintf(value, sizeof(value), "%s %s%s%s",
                   units_format_si(row->median, rate, sizeof(rate)), row->unit, less[0] ? ", " : "",
                   less);
    print_labels(i, block_arm_name(block, i), value, out);
    print_bar(i, 0, 1, "track", out);
    print_bar(i, 0, row->median / most, block_is_best(block, i) ? "bar best" : "bar", out);
    print_interval(i, row->ci_low / most, row->ci_high / most, out);
    (void)fputc('\n', out);
}

/* All numbers of the bars, for who cannot see them. */
static void describe_rates(const struct block *block, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < block->n && used < size; i++) {
        char rate[32], less[64];
        say_behind(block, i, less, sizeof(less));
        used += (size_t)snprintf(
            buf + used, size - used, "%s%s %s%s%s", used ? "; " : "", block_arm_name(block, i),
            units_format_si(block_median(block, i, METRIC_RATE), rate, sizeof(rate)),
            less[0] ? ", " : "", less);
    }
}

void html_throughput(const struct html_side *side, FILE *out)
{
    struct block block;
    for (size_t at = 0; block_next(&side->recorded->analysis, &at, &block);) {
        char name[160], desc[900];
        const struct row *row = block_row(&block, 0, METRIC_RATE);
        double most = row ? largest(side, row->unit) : 0;
        if (row && side->beside)
            most = fmax(most, largest(side->beside, row->unit));
        if (most > 0) {
            (void)fputs("<h4>", out);
            html_say(out, "%s", block_name(&block, name, sizeof(name)));
            (void)fputs("</h4>\n", out);
            describe_rates(&block, desc, sizeof(desc));
            begin_chart("Work done per second by all workers under each placement", desc, block.n,
                        out);
            for (size_t i = 0; i < block.n; i++)
                print_rate(&block, i, most, out);
            (void)fputs("</svg>\n", out);
        }
        block_free(&block);
    }
}

static const struct {
    const char *class, *name, *word;
} parts[PARTS] = {
    [PART_ONCPU] = {"oncpu", "on a CPU", "CPU"},
    [PART_QUEUE] = {"queue", "waiting for a CPU (run queue)", "queue"},
    [PART_QUOTA] = {"quota", "stopped by a quota of CPU time", "quota"},
    [PART_BLOCKED] = {"blocked", "blocked (GPU, memory, other threads)", "blocked"},
};

static void print_split(const struct block *block, size_t i, FILE *out)
{
    char name[96], value[128] = "", step[32];
    double from = 0;
    size_t used = 0;
    (void)snprintf(name, sizeof(name), "%s, %s", block_arm_name(block, i),
                   units_format_seconds(block_median(block, i, "step_time"), step, sizeof(step)));
    for (int part = 0; part < PARTS; part++) {
        double share = block_share(block, i, (enum part)part);
        if (isnan(share))
            continue;
        used += (size_t)snprintf(value + used, sizeof(value) - used, "%s%.0f%% %s",
                                 part ? ", " : "", 100 * share, parts[part].word);
        print_bar(i, from, from + share, parts[part].class, out);
        from += share;
    }
    print_labels(i, name, used ? value : "not known", out);
    (void)fputc('\n', out);
}

static void print_legend(bool quota, FILE *out)
{
    (void)fputs("<p class=\"legend\">", out);
    for (int part = 0; part < PARTS; part++)
        if (part != PART_QUOTA || quota)
            (void)fprintf(
                out,
                "<span><svg class=\"key\" width=\"12\" height=\"12\" aria-hidden=\"true\">"
                "<rect class=\"%s\" width=\"12\" height=\"12\"/></svg> %s</span> ",
                parts[part].class, parts[part].name);
    (void)fputs("</p>\n", out);
}

void html_loss(const struct html_side *side, FILE *out)
{
    struct block block;
    bool quota = false;
    for (size_t at = 0; block_next(&side->recorded->analysis, &at, &block);) {
        char name[160];
        (void)fputs("<h4>", out);
        html_say(out, "%s", block_name(&block, name, sizeof(name)));
        (void)fputs("</h4>\n", out);
        begin_chart("Where the time of a step goes under each placement",
                    "A bar is all of one step; its parts stand in the table of placements too.",
                    block.n, out);
        for (size_t i = 0; i < block.n; i++)
            print_split(&block, i, out);
        (void)fputs("</svg>\n", out);
        quota = quota || block_has_quota(&block);
        block_free(&block);
    }
    print_legend(quota, out);
}

static void print_tile(const char *value, const char *label, const char *what, FILE *out)
{
    (void)fputs("<div class=\"tile\"><b>", out);
    html_say(out, "%s", value);
    (void)fputs("</b><span>", out);
    html_say(out, "%s%s%s", label, what[0] ? " " : "", what);
    (void)fputs("</span></div>\n", out);
}

static void print_rate_tile(const struct block *block, size_t i, const char *name, FILE *out)
{
    char rate[32];
    const struct row *row = block_row(block, i, METRIC_RATE);
    if (row && !isnan(row->median))
        print_tile(units_format_si(row->median, rate, sizeof(rate)), row->unit, name, out);
}

static const struct arm *block_arm(const struct block *block, size_t i)
{
    return &block->analysis->result->arms[block->arm[i]];
}

/* What is advised stands on the fresh rounds; a search's best is too good. */
static bool print_fresh_tiles(const struct block *block, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < block->n; i++)
        if (tune_is_fresh(block_arm(block, i))) {
            print_rate_tile(block, i, tune_name(block_arm(block, i)), out);
            any = true;
        }
    return any;
}

/* Of the first block: the ratio that the verdict is about, and the two rates that it is made of. */
void html_tiles(const struct html_side *side, FILE *out)
{
    struct block block;
    size_t at = 0;
    if (!block_next(&side->recorded->analysis, &at, &block))
        return;
    size_t best = block.n - 1;
    char text[64];
    double ratio = block_median(&block, 0, METRIC_VS_BEST);
    (void)fputs("<div class=\"tiles\">\n", out);
    if (block.n > 1 && block_is_best(&block, best) && !isnan(ratio)) {
        char what[96];
        (void)snprintf(what, sizeof(what), "%s over %s", block_arm_name(&block, best),
                       block_arm_name(&block, 0));
        print_tile(advice_format_ratio(ratio, text, sizeof(text)), "the work per second:", what,
                   out);
    }
    bool fresh = print_fresh_tiles(&block, out);
    for (size_t i = 0; i < block.n && !fresh; i += best ? best : 1)
        print_rate_tile(&block, i, block_arm_name(&block, i), out);
    (void)fputs("</div>\n", out);
    block_free(&block);
}
