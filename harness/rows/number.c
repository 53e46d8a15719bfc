#include "harness/rows/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/units.h"

static bool is_bytes(const char *unit)
{
    return strcmp(unit, "B") == 0 || strcmp(unit, "bytes") == 0;
}

static bool has_none(const char *unit)
{
    static const char *const none[] = {"ratio", "count", "number", "1"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (strcmp(unit, none[i]) == 0)
            return true;
    return false;
}

const char *number_bound(const char *doubt)
{
    return strncmp(doubt, "at most: ", 9) == 0     ? "<="
           : strncmp(doubt, "at least: ", 10) == 0 ? ">="
                                                   : "";
}

char *number_format_bytes(double bytes, char *buf, size_t size)
{
    double unit = 1;
    while (bytes >= 10 * 1024 * unit)
        unit *= 1024;
    double rounded = bytes >= 10 * unit ? round(bytes / unit) * unit : bytes;
    return units_format_bytes((uint64_t)fmax(rounded, 0), buf, size);
}

char *number_format(double value, const char *unit, bool with_unit, char *buf, size_t size)
{
    double told = fabs(value) < 0.005 ? 0 : value, most = fabs(told); /* no "-0.00" */
    if (is_bytes(unit))
        return number_format_bytes(value, buf, size);
    if (strcmp(unit, "s") == 0)
        return units_format_seconds(value, buf, size);
    bool shown = with_unit && !has_none(unit);
    (void)snprintf(buf, size, "%.*f%s%s",
                   most >= 99.95   ? 0
                   : most >= 9.995 ? 1
                                   : 2,
                   told, shown ? " " : "", shown ? unit : "");
    return buf;
}

char *number_format_sentence(double value, const char *unit, char *buf, size_t size)
{
    static const struct {
        const char *name;
        double seconds;
    } times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(unit, times[i].name) == 0)
            return units_format_seconds(value * times[i].seconds, buf, size);
    if (is_bytes(unit))
        return number_format_bytes(value, buf, size);
    bool has_prefix = strchr("kMGT", unit[0]) && strlen(unit) > 1, shown = !has_none(unit);
    (void)snprintf(buf, size, "%s%s%s", has_prefix ? UNITS_PLAIN(3, value) : UNITS_SI(value),
                   shown ? " " : "", shown ? unit : "");
    return buf;
}

const char *number_unit(const char *unit)
{
    return is_bytes(unit) || has_none(unit) || strcmp(unit, "s") == 0 ? "" : unit;
}

bool number_in_title(const struct result *result, const struct arm *arm, const char *part)
{
    const struct opt *opt = opts_find(arm->bench->opts, part);
    return opt && arm_option_differs(result, arm, opt);
}
