#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/format.h"
#include "harness/record/metric.h"
#include "harness/show/escape.h"
#include "harness/show/html.h"
#include "harness/verdict/advice.h"

/* gnuplot's figures as images: in an image a browser runs nothing, even if the file was edited. */

static void print_image(const char *bytes, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)fputs("data:image/svg+xml;base64,", out);
    for (size_t i = 0; i < size; i += 3) {
        unsigned long group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        for (unsigned k = 0; k < 4; k++)
            (void)fputc(i + k > size ? '=' : digits[group >> (18 - 6 * k) & 63], out);
    }
}

/* `name` NULL: figures not shown elsewhere. html_figures.c draws throughput and loss itself. */
static bool is_wanted(const struct html_figure *figure, const char *name)
{
    static const char *const elsewhere[] = {"occupancy", "throughput", "loss"};
    if (name)
        return !strcmp(figure->name, name);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (!strcmp(figure->name, elsewhere[i]))
            return false;
    return true;
}

bool html_has_figure(const struct html_side *side, const char *name)
{
    for (size_t i = 0; i < side->nfigures; i++)
        if (is_wanted(&side->figures[i], name))
            return true;
    return false;
}

void html_figure(const struct html_figure *figure, FILE *out)
{
    (void)fprintf(out, "<figure%s>", figure->narrow ? "" : " class=\"scrolls\"");
    if (!figure->narrow)
        html_element("figcaption", out, "%s", figure->title); /* shown if the picture scrolls */
    (void)fputs("<picture>", out);
    if (figure->narrow) {
        (void)fputs("<source media=\"screen and (max-width:40rem)\" srcset=\"", out);
        print_image(figure->narrow, figure->narrow_size, out);
        (void)fputs("\">", out);
    }
    (void)fputs("<img class=\"plot\" alt=\"", out);
    escape_markup(figure->title, out);
    (void)fputs("\" src=\"", out);
    print_image(figure->svg, figure->size, out);
    (void)fputs("\"></picture></figure>\n", out);
}

void html_figures(const struct html_side *side, const char *name, FILE *out)
{
    for (size_t i = 0; i < side->nfigures; i++)
        if (is_wanted(&side->figures[i], name))
            html_figure(&side->figures[i], out);
}

/* Bar charts of the throughput of placements and of where the time of a step goes. Widths are
 * percentages of the page, so that text keeps its size on a phone. */

enum { LINE = 46, BAR_AT = 22, BAR = 14, TEXT_AT = 14 };

static double largest(const struct html_side *side, const char *unit)
{
    const struct rows *rows = &side->recorded->analysis.rows;
    double most = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        if (!row->arm->is_baseline && !strcmp(row->metric, METRIC_RATE) && !strcmp(row->unit, unit))
            most = fmax(most, fmax(row->median, row->ci_high)); /* ci_high may be NaN */
    }
    return most;
}

/* The chart's numbers are also text in it, and in the table of placements. */
static void begin_chart(const char *title, size_t lines, FILE *out)
{
    (void)fprintf(out, "<svg class=\"chart\" role=\"img\" width=\"100%%\" height=\"%zu\">",
                  lines * LINE);
    html_element("title", out, "%s", title);
}

static void print_labels(size_t line, const char *name, const char *value, FILE *out)
{
    size_t y = line * LINE + TEXT_AT;
    const char *tag = str_fmt("text class=\"name\" x=\"0\" y=\"%zu\"", y);
    html_element(tag, out, "%s", name);
    tag = str_fmt("text class=\"value\" x=\"100%%\" y=\"%zu\"", y);
    html_element(tag, out, "%s", value);
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
    const struct row *row = block_row(block, i, METRIC_RATE);
    if (!row || isnan(row->median))
        return;
    const char *value = str_fmt("%s %s", units_si(row->median), row->unit);
    if (block->recommendation.reference == (int)block->arm[i])
        str_add(&value, "", ", 1x");
    else if (!isnan(block->gain[i].ratio))
        str_add(&value, "", ", %s", advice_format_ratio(block->gain[i].ratio));
    str_add(
        &value, "", "%s",
        format_fewer_rounds(block->analysis->result, &block->analysis->rounds.arms[block->arm[i]]));
    print_labels(i, block_arm_name(block, i), value, out);
    print_bar(i, 0, 1, "track", out);
    print_bar(i, 0, row->median / most, block_is_recommended(block, i) ? "bar recommended" : "bar",
              out);
    print_interval(i, row->ci_low / most, row->ci_high / most, out);
    (void)fputc('\n', out);
}

void html_throughput(const struct html_side *side, FILE *out)
{
    struct block block;
    for (size_t at = 0; block_next(&side->recorded->analysis, &at, &block);) {
        const struct row *row = block_row(&block, 0, METRIC_RATE);
        double most = row ? largest(side, row->unit) : 0;
        if (row && side->other_side)
            most = fmax(most, largest(side->other_side, row->unit));
        if (most > 0) {
            html_line("h4", out, "%s", block_name(&block));
            begin_chart("Work done per second by all workers under each placement", block.n, out);
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
    const char *value = "";
    double from = 0;
    const char *name = str_fmt("%s, %s", block_arm_name(block, i),
                               units_seconds(block_median(block, i, "step_time")));
    for (int part = 0; part < PARTS; part++) {
        double share = block_share(block, i, (enum part)part);
        if (isnan(share))
            continue;
        if (share >= 0.005) /* the text must fit beside the name on a phone */
            str_add(&value, ", ", "%.0f%% %s", 100 * share, parts[part].word);
        print_bar(i, from, from + share, parts[part].class, out);
        from += share;
    }
    print_labels(i, name, value[0] ? value : "not known", out);
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
        html_line("h4", out, "%s", block_name(&block));
        begin_chart("Where the time goes under each placement", block.n, out);
        for (size_t i = 0; i < block.n; i++)
            print_split(&block, i, out);
        (void)fputs("</svg>\n", out);
        quota = quota || block_has_quota(&block);
        block_free(&block);
    }
    print_legend(quota, out);
}
