#include "harness/table/comparison.h"

#include <math.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/rows/number.h"

/* Outcome, metric, two medians, change, interval: 80 columns. */
#define LINE "%-29.29s %9.9s %9.9s %7.7s %.12s\n"
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

static void format_percent(double ratio, char *buf, size_t size)
{
    int decimals;
    double percent = fmax(comparison_percent(ratio, &decimals), ratio > 0 ? -99.9 : -100);
    bool large = fabs(percent) >= 9.95 && percent > -99.5;
    (void)snprintf(buf, size, "%+.*f", large ? 0 : decimals, percent);
}

/*
 * A factor in at most four characters: what is cut off reads as another one. Small ones outward;
 * none but 1 is shown as 1.
 */
static void format_factor(double factor, bool up, char *buf, size_t size)
{
    if (factor > 9999)
        (void)snprintf(buf, size, "%s", up ? ">9e3" : "9999");
    else if (factor >= 9.95)
        (void)snprintf(buf, size, "%.0f", factor);
    else if (fabs(factor - 1) < 0.05 && factor != 1)
        (void)snprintf(buf, size, "%.2f", factor > 1 ? fmax(factor, 1.01) : fmin(factor, 0.99));
    else if (factor >= 0.0995)
        (void)snprintf(buf, size, "%.2g", factor);
    else
        (void)snprintf(buf, size, "%.2f", (up ? ceil(100 * factor) : floor(100 * factor)) / 100);
}

/* "-12..+3.1%", or of a change by a factor "0.4..2.9x": as the change itself. */
static char *format_interval(const struct comparison *one, char *buf, size_t size)
{
    char low[16], high[16], change[32];
    (void)snprintf(buf, size, "-");
    if (isnan(one->low) || isnan(one->high))
        return buf;
    bool factor = strchr(comparison_format_ratio(one->ratio, change, sizeof(change)), 'x');
    if (factor || one->high > 99) {
        format_factor(one->low, false, low, sizeof(low));
        format_factor(one->high, true, high, sizeof(high));
        (void)snprintf(buf, size, "%s..%sx", low, high);
    } else {
        format_percent(one->low, low, sizeof(low));
        format_percent(one->high, high, sizeof(high));
        (void)snprintf(buf, size, "%s..%s%%", low, high);
    }
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
                  comparison_format_ratio(one->ratio, change, sizeof(change)),
                  format_interval(one, interval, sizeof(interval)));
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
