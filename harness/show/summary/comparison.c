#include "harness/show/summary/comparison.h"

#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/number.h"

/* Outcome, metric, two medians, change, interval: 80 columns. */
#define LINE "%-27.27s %9.9s %9.9s %7.7s %.14s\n"
enum { REASON_INDENT = 10 };

static const char *color_of(enum finding_outcome outcome)
{
    if (outcome == OUTCOME_SLOWER || outcome == OUTCOME_MISSING)
        return "\033[31m";
    return outcome == OUTCOME_FASTER ? "\033[32m" : "";
}

/* Large numbers by prefix, "93.0 k"; others as the tables of scans write them. */
static char *format_median(double value, const char *unit, char *buf, size_t size)
{
    if (isnan(value))
        (void)snprintf(buf, size, "-");
    else if (*number_unit(unit) && fabs(value) >= 10000)
        (void)units_format_si(value, buf, size);
    else
        (void)number_format(value, unit, false, buf, size);
    return buf;
}

static void print_one(const struct comparison *one, const struct comparison_view *view, FILE *out)
{
    char metric[sizeof(one->metric) + sizeof(one->unit) + 2], base[32], other[32], change[32];
    char interval[64];
    const char *unit = number_unit(one->unit);
    const char *color = view->color ? color_of(one->outcome) : "";
    (void)snprintf(metric, sizeof(metric), "%s%s%s", one->metric, *unit ? ", " : "", unit);
    (void)fprintf(out, "  %s%-7s%s ", color, finding_outcome_name(one->outcome),
                  *color ? "\033[0m" : "");
    (void)fprintf(out, LINE, metric, format_median(one->base_median, one->unit, base, sizeof(base)),
                  format_median(one->other_median, one->unit, other, sizeof(other)),
                  comparison_format_change(one, change, sizeof(change)),
                  comparison_format_interval(one, interval, sizeof(interval)));
    if (view->explain && one->reason[0]) {
        (void)fprintf(out, "%*s", REASON_INDENT, "");
        text_wrap(one->reason, REASON_INDENT, REASON_INDENT, out);
    }
}

void comparisons_print(const struct comparisons *comparisons, const struct comparison_view *view,
                       FILE *out)
{
    const struct comparison *before = NULL;
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        if (!one->gates && !view->all)
            continue;
        bool other_sides = !before || strcmp(before->base, one->base) != 0 ||
                           strcmp(before->other, one->other) != 0;
        if (other_sides)
            (void)fprintf(out, "%s%10s" LINE, before ? "\n" : "", "", "", one->base, one->other,
                          "change", "interval");
        if (other_sides || strcmp(before->arm, one->arm) != 0)
            text_wrap(one->arm, 0, 2, out);
        print_one(one, view, out);
        before = one;
    }
}
