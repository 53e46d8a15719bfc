#include "harness/record/number.h"

#include <math.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/units.h"

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

const char *number_format_bytes(double bytes)
{
    double unit = 1;
    while (bytes >= 10 * 1024 * unit)
        unit *= 1024;
    double rounded = bytes >= 10 * unit ? round(bytes / unit) * unit : bytes;
    return units_bytes((uint64_t)fmax(rounded, 0));
}

const char *number_format(double value, const char *unit, bool with_unit)
{
    double told = fabs(value) < 0.005 ? 0 : value, most = fabs(told); /* no "-0.00" */
    if (is_bytes(unit))
        return number_format_bytes(value);
    if (strcmp(unit, "s") == 0)
        return units_seconds(value);
    bool shown = with_unit && !has_none(unit);
    int digits = most >= 99.95 ? 0 : most >= 9.995 ? 1 : 2;
    return str_fmt("%.*f%s%s", digits, told, shown ? " " : "", shown ? unit : "");
}

const char *number_format_sentence(double value, const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(unit, times[i].name) == 0)
            return units_seconds(value * times[i].seconds);
    if (is_bytes(unit))
        return number_format_bytes(value);
    bool has_prefix = strchr("kMGT", unit[0]) && strlen(unit) > 1, shown = !has_none(unit);
    return str_fmt("%s%s%s", has_prefix ? units_plain(value, 3) : units_si(value), shown ? " " : "",
                   shown ? unit : "");
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
