/* The table of placements, as on the terminal, and that of comparisons. */
#include <math.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/metric.h"
#include "harness/rows/number.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"
#include "harness/verdict/advice/advice.h"

enum { CELL = 40 };

static void print_cell(const char *text, FILE *out)
{
    html_element("td", out, "%s", text);
}

static void print_gain(const struct block *block, size_t i, FILE *out)
{
    char ratio[16], low[16], high[16], range[CELL] = "";
    const struct paired_ratio *gain = &block->gain[i];
    bool is_reference = block->made.reference == (int)block->arm[i];
    if (!is_reference && !isnan(gain->low))
        (void)snprintf(range, sizeof(range), "%s to %s",
                       advice_format_ratio(gain->low, low, sizeof(low)),
                       advice_format_ratio(gain->high, high, sizeof(high)));
    print_cell(is_reference ? "1x" : advice_format_ratio(gain->median, ratio, sizeof(ratio)), out);
    print_cell(range, out);
}

static void print_shares(const struct block *block, size_t i, FILE *out)
{
    bool quota = block_has_quota(block);
    for (int part = 0; part < PARTS; part++) {
        char text[CELL];
        if (part == PART_QUOTA && !quota)
            continue;
        double share = block_share(block, i, (enum part)part);
        (void)snprintf(text, sizeof(text), isnan(share) ? "-" : "%.0f%%", 100 * share);
        print_cell(text, out);
    }
}

static void print_arm(const struct block *block, size_t i, FILE *out)
{
    char text[CELL];
    const struct row *steps = block_row(block, i, "step_time");
    bool recommended = block_is_recommended(block, i);
    (void)fputs(recommended ? "<tr class=\"recommended\">" : "<tr>", out);
    html_element(HTML_NAME, out, "%s%s", block_arm_name(block, i),
                 recommended ? " (recommended)" : "");
    print_cell(units_format_si(block_median(block, i, METRIC_RATE), text, CELL), out);
    print_gain(block, i, out);
    print_cell(text_percent(block_median(block, i, "efficiency"), text, CELL), out);
    print_cell(units_format_seconds(steps->median, text, CELL), out);
    print_cell(units_format_seconds(steps->p95, text, CELL), out);
    print_cell(text_percent(block_median(block, i, "worst_worker"), text, CELL), out);
    print_shares(block, i, out);
    print_cell(steps->status == STATUS_OK ? "" : status_name(steps->status), out);
    (void)fputs("</tr>\n", out);
}

/* NULL: a column that is not there. */
static void print_heads(const char *const *heads, size_t n, FILE *out)
{
    (void)fputs("<tr>", out);
    for (size_t i = 0; i < n; i++)
        if (heads[i])
            html_element(HTML_HEAD, out, "%s", heads[i]);
    (void)fputs("</tr>\n", out);
}

void html_tables(const struct html_side *side, FILE *out)
{
    struct block block;
    for (size_t at = 0; block_next(&side->recorded->analysis, &at, &block);) {
        char name[160];
        const struct row *rate = block_row(&block, 0, METRIC_RATE);
        (void)fputs("<div class=\"scroll\"><table>", out);
        html_line("caption", out, "%s", block_name(&block, name, sizeof(name)));
        const char *const heads[] = {"placement",
                                     rate ? rate->unit : "per second",
                                     "speed-up",
                                     "range",
                                     "efficiency",
                                     rate ? bench_step_name(rate->arm->bench) : "step",
                                     "p95",
                                     "worst worker",
                                     "on CPU",
                                     "run queue",
                                     block_has_quota(&block) ? "quota" : NULL,
                                     "blocked",
                                     ""};
        print_heads(heads, sizeof(heads) / sizeof(heads[0]), out);
        for (size_t i = 0; i < block.n; i++)
            print_arm(&block, i, out);
        (void)fputs("</table></div>\n", out);
        block_free(&block);
    }
}

static const char *class_of(enum finding_outcome outcome)
{
    switch (outcome) {
    case OUTCOME_SLOWER:
    case OUTCOME_FAIL:
    case OUTCOME_ERROR:
        return "bad";
    case OUTCOME_FASTER:
    case OUTCOME_PASS:
        return "good";
    default:
        return "";
    }
}

static void print_median(double value, const char *unit, FILE *out)
{
    char text[CELL] = "-";
    if (!isnan(value))
        (void)number_format(value, unit, true, text, sizeof(text));
    print_cell(text, out);
}

static void print_comparison(const struct comparisons *comparisons, const struct comparison *one,
                             FILE *out)
{
    char text[80], where[sizeof(one->other) + sizeof(one->arm) + 2];
    (void)fprintf(out, "<tr><th scope=\"row\"><span class=\"%s\">%s</span></th>",
                  class_of(one->outcome), finding_outcome_name(one->outcome));
    print_cell(one->metric, out);
    print_cell(comparison_say_where(comparisons, one, where, sizeof(where)), out);
    print_median(one->base_median, one->unit, out);
    print_median(one->other_median, one->unit, out);
    print_cell(comparison_format_change(one, text, sizeof(text)), out);
    print_cell(comparison_format_interval(one, text, sizeof(text)), out);
    html_element("td class=\"text\"", out, "%s", one->reason);
    (void)fputs("</tr>\n", out);
}

static void print_comparisons(const struct comparisons *comparisons, bool gates, FILE *out)
{
    const struct comparison *first = comparisons->all;
    while (first->gates != gates)
        first++;
    const char *other = comparisons_of_two(comparisons) ? first->other : "other";
    const char *const heads[] = {"verdict", "metric", "where",    first->base,
                                 other,     "change", "interval", "why"};
    (void)fputs("<div class=\"scroll\"><table>\n", out);
    print_heads(heads, sizeof(heads) / sizeof(heads[0]), out);
    for (size_t i = 0; i < comparisons->n; i++)
        if (comparisons->all[i].gates == gates)
            print_comparison(comparisons, &comparisons->all[i], out);
    (void)fputs("</table></div>\n", out);
}

void html_comparisons(const struct comparisons *comparisons, FILE *out)
{
    size_t gating = 0;
    for (size_t i = 0; i < comparisons->n; i++)
        gating += comparisons->all[i].gates;
    if (gating)
        print_comparisons(comparisons, true, out);
    if (gating == comparisons->n)
        return;
    (void)fputs("<details><summary>Metrics that do not gate</summary>\n", out);
    print_comparisons(comparisons, false, out);
    (void)fputs("</details>\n", out);
}
