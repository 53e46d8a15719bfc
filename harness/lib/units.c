#include "harness/lib/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/str.h"

int units_parse_size(const char *text, uint64_t *size_bytes, struct err *err)
{
    static const char prefixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || errno)
        goto bad;
    const char *prefix = *end ? strchr(prefixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = 0;
    if (prefix) {
        shift = 10 * (unsigned)(prefix - prefixes + 1);
        end++;
        if (end[0] == 'i' && end[1] == 'B')
            end += 2;
    }
    if (*end || (value << shift) >> shift != value)
        goto bad;
    *size_bytes = value << shift;
    return 0;
bad:
    return err_set(err, -EINVAL, "'%.80s' is not a size such as 4096, 64K, 8M or 1G", text);
}

/* Seconds in the unit of that name and length; 0 = unknown unit. */
static double unit_seconds(const char *unit, size_t length)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                 {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == length && strncmp(units[i].name, unit, length) == 0)
            return units[i].seconds;
    return 0;
}

int units_parse_duration(const char *text, double *seconds, struct err *err)
{
    double sum = 0;
    const char *at = text;
    do {
        char *end;
        double value = strtod(at, &end);
        size_t length = strspn(end, "himnsu");
        double unit = unit_seconds(end, length);
        /* strtod also takes signs, blanks, inf and hexadecimal. */
        bool plain = (isdigit((unsigned char)at[0]) || at[0] == '.') && !strpbrk(at, "xX");
        sum += value * unit;
        if (!plain || end == at || !(unit > 0) || (!length && (at != text || *end)) ||
            !isfinite(sum))
            return err_set(err, -EINVAL,
                           "'%.80s' is not a duration such as 2, 1.5s, 200ms, 5m or 1h30m", text);
        at = end + length;
    } while (*at);
    *seconds = sum;
    return 0;
}

/* Decimals with which a value of 0.001 or more shows three significant digits. */
static int digits_behind(double value)
{
    double size = fabs(value);
    int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    for (double from = 0.9995; size > 0 && size < from && digits < 5; from /= 10)
        digits++;
    return size > 0 ? digits : 0;
}

const char *units_seconds(double seconds)
{
    static const struct {
        double from, factor;
        const char *name;
    } scale[] = {{0.9995, 1, "s"}, {0.9995e-3, 1e3, "ms"}, {0.9995e-6, 1e6, "us"}, {0, 1e9, "ns"}};
    size_t i = 0;
    while (seconds != 0 && fabs(seconds) < scale[i].from)
        i++;
    double value = seconds * scale[i].factor;
    return isnan(seconds) ? "-" : str_fmt("%.*f %s", digits_behind(value), value, scale[i].name);
}

const char *units_si(double value)
{
    static const struct {
        double from, factor;
        const char *name;
    } scale[] = {{0.9995e12, 1e-12, " T"},
                 {0.9995e9, 1e-9, " G"},
                 {0.9995e6, 1e-6, " M"},
                 {0.9995e3, 1e-3, " k"},
                 {0, 1, ""}};
    size_t i = 0;
    while (fabs(value) < scale[i].from)
        i++;
    double scaled = value * scale[i].factor;
    return isnan(value) ? "-" : str_fmt("%.*f%s", digits_behind(scaled), scaled, scale[i].name);
}

const char *units_plain(double value, int digits)
{
    char *text = str_fmt("%.*g", digits, value);
    double most = fabs(value);
    if (!strchr(text, 'e') || !isfinite(value))
        return text;
    text = str_fmt("%.*f", most >= 1 ? 0 : digits - 1 - (int)floor(log10(most)), value);
    for (size_t end = strlen(text); most < 1 && end > 1 && text[end - 1] == '0'; end--)
        text[end - 1] = '\0';
    return text;
}

const char *units_bytes(uint64_t size_bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    double value = (double)size_bytes;
    /* From 1023.95 on, one decimal would already read 1024.0. */
    while (value >= 1023.95 && i + 1 < sizeof(names) / sizeof(names[0])) {
        value /= 1024;
        i++;
    }
    return str_fmt("%.*f %s", value == floor(value) ? 0 : 1, value, names[i]);
}
