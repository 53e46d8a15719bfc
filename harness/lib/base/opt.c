#include "harness/lib/base/opt.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/similar.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

static bool has_range(const struct opt *opt)
{
    return opt->min != 0 || opt->max != 0;
}

static int check_range(const struct opt *opt, double value, const char *text, struct err *err)
{
    if (has_range(opt) && !(value >= opt->min && value <= opt->max))
        return err_set(err, -EINVAL, "%s '%.60s' is outside %.15g to %.15g%s", opt->name, text,
                       opt->min, opt->max,
                       opt->kind == OPT_SECONDS ? " s"
                       : opt->kind == OPT_SIZE  ? " bytes"
                                                : "");
    return 0;
}

static int set_int(const struct opt *opt, int64_t *field, const char *text, struct err *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)text[0]))
        return err_set(err, -EINVAL, "%s '%.60s' is not a whole number", opt->name, text);
    int rc = check_range(opt, (double)value, text, err);
    if (!rc)
        *field = value;
    return rc;
}

static int set_double(const struct opt *opt, double *field, const char *text, struct err *err)
{
    char *end;
    double value = strtod(text, &end);
    /* strtod also takes blanks, inf and hexadecimal. */
    if (end == text || *end || !isfinite(value) || isspace((unsigned char)text[0]) ||
        strpbrk(text, "xX"))
        return err_set(err, -EINVAL, "%s '%.60s' is not a number", opt->name, text);
    int rc = check_range(opt, value, text, err);
    if (!rc)
        *field = value;
    return rc;
}

static int set_size(const struct opt *opt, uint64_t *field, const char *text, struct err *err)
{
    struct err why;
    uint64_t value;
    int rc = units_parse_size(text, &value, &why);
    if (rc)
        return err_set(err, rc, "%s %.200s", opt->name, why.msg);
    rc = check_range(opt, (double)value, text, err);
    if (!rc)
        *field = value;
    return rc;
}

static int set_seconds(const struct opt *opt, double *field, const char *text, struct err *err)
{
    struct err why;
    double value;
    int rc = units_parse_duration(text, &value, &why);
    if (rc)
        return err_set(err, rc, "%s %.200s", opt->name, why.msg);
    rc = check_range(opt, value, text, err);
    if (!rc)
        *field = value;
    return rc;
}

static int set_flag(const struct opt *opt, bool *field, const char *text, struct err *err)
{
    bool on = !strcmp(text, "1") || !strcmp(text, "yes") || !strcmp(text, "true");
    bool off = !strcmp(text, "0") || !strcmp(text, "no") || !strcmp(text, "false");
    if (!on && !off)
        return err_set(err, -EINVAL, "%s '%.60s' is not 1 or 0", opt->name, text);
    *field = on;
    return 0;
}

static int set_choice(const struct opt *opt, int *field, const char *text, struct err *err)
{
    for (int i = 0; opt->choices[i]; i++) {
        if (strcmp(opt->choices[i], text) == 0) {
            *field = i;
            return 0;
        }
    }
    return similar_refuse(opt->name, text, strlen(text), opt->choices, err);
}

static int add_text(const struct opt *opt, struct opt_texts *texts, const char *text,
                    struct err *err)
{
    if (texts->n == OPT_TEXTS_MOST)
        return err_set(err, -EINVAL, "%s '%.60s' is one too many (at most %d)", opt->name, text,
                       OPT_TEXTS_MOST);
    texts->text[texts->n++] = text;
    return 0;
}

int opt_set(const struct opt *opt, void *base, const char *value, struct err *err)
{
    void *field = (char *)base + opt->offset;
    switch (opt->kind) {
    case OPT_INT:
        return set_int(opt, field, value, err);
    case OPT_SIZE:
        return set_size(opt, field, value, err);
    case OPT_DOUBLE:
        return set_double(opt, field, value, err);
    case OPT_SECONDS:
        return set_seconds(opt, field, value, err);
    case OPT_FLAG:
        return set_flag(opt, field, value, err);
    case OPT_CHOICE:
        return set_choice(opt, field, value, err);
    case OPT_TEXT:
        *(const char **)field = value;
        return 0;
    case OPT_TEXTS:
        return add_text(opt, field, value, err);
    }
    assert(!"unknown option kind");
    return -EINVAL;
}

void opts_set_defaults(const struct opt *opts, void *base)
{
    for (const struct opt *opt = opts; opt && opt->name; opt++) {
        if (!opt->def)
            continue;
        int rc = opt_set(opt, base, opt->def, NULL);
        assert(!rc);
        (void)rc;
    }
}

const struct opt *opts_shown(const struct opt *opt)
{
    while (opt && opt->name && opt->level == OPT_HIDDEN)
        opt++;
    return opt && opt->name ? opt : NULL;
}

const struct opt *opts_find(const struct opt *opts, const char *name)
{
    for (const struct opt *opt = opts; opt && opt->name; opt++)
        if (strcmp(opt->name, name) == 0)
            return opt;
    return NULL;
}

int opts_set_pair(const struct opt *opts, void *base, const char *pair, struct err *err)
{
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return err_set(err, -EINVAL, "'%.80s' is not a parameter of the form name=value", pair);
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - pair), pair);
    const struct opt *opt = opts_find(opts, name);
    if (opt)
        return opt_set(opt, base, equals + 1, err);

    char known[160] = "", hint[SIMILAR_HINT_MAX];
    struct similar near = similar_to(name, strlen(name));
    for (opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        text_append(known, sizeof(known), ", ", "%s", opt->name);
        similar_offer(&near, opt->name);
    }
    return err_set(err, -EINVAL, "unknown parameter '%.60s'%s known: %s", name,
                   similar_hint(&near, "", hint, sizeof(hint)), known[0] ? known : "none");
}

static void format_texts(const struct opt_texts *texts, char *buf, size_t size)
{
    buf[0] = '\0';
    for (size_t i = 0; i < texts->n; i++)
        text_append(buf, size, " ", "%s", texts->text[i]);
}

char *opt_format_value(const struct opt *opt, const void *base, char *buf, size_t size)
{
    const void *field = (const char *)base + opt->offset;
    switch (opt->kind) {
    case OPT_INT:
        (void)snprintf(buf, size, "%" PRId64, *(const int64_t *)field);
        break;
    case OPT_SIZE:
        (void)snprintf(buf, size, "%" PRIu64, *(const uint64_t *)field);
        break;
    case OPT_DOUBLE:
    case OPT_SECONDS:
        (void)snprintf(buf, size, "%.9g", *(const double *)field);
        break;
    case OPT_FLAG:
        (void)snprintf(buf, size, "%d", *(const bool *)field);
        break;
    case OPT_CHOICE:
        (void)snprintf(buf, size, "%s", opt->choices[*(const int *)field]);
        break;
    case OPT_TEXT:
        (void)snprintf(buf, size, "%s",
                       *(const char *const *)field ? *(const char *const *)field : "");
        break;
    case OPT_TEXTS:
        format_texts(field, buf, size);
        break;
    }
    return buf;
}

char *opts_format(const struct opt *opts, const void *base, char *buf, size_t size)
{
    buf[0] = '\0';
    for (const struct opt *opt = opts; opt && opt->name; opt++) {
        char value[128];
        text_append(buf, size, ";", "%s=%s", opt->name,
                    opt_format_value(opt, base, value, sizeof(value)));
    }
    return buf;
}

enum { HELP_COLUMN = 26 };

char *opt_format_term(const struct opt *opt, const char *prefix, char *buf, size_t size)
{
    char letter[8] = "";
    if (opt->letter)
        (void)snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
    (void)snprintf(buf, size, "%s%s%s%s%s", letter, prefix, opt->name, opt->arg ? " " : "",
                   opt->arg ? opt->arg : "");
    return buf;
}

char *opt_format_help(const struct opt *opt, enum opt_level most, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s", opt->help);
    if (most == OPT_COMMON)
        buf[strcspn(buf, ";")] = '\0';
    for (int i = 0; opt->kind == OPT_CHOICE && opt->choices[i]; i++)
        text_append(buf, size, i ? ", " : ": ", "%s", opt->choices[i]);
    /* A flag with a default is a benchmark parameter, which needs a value: "check=1". */
    if (opt->def)
        text_append(buf, size, "", " (%sdefault %s)", opt->kind == OPT_FLAG ? "0 or 1, " : "",
                    opt->def);
    return buf;
}

void opt_print_help(const struct opt *opt, const char *prefix, enum opt_level most, FILE *out)
{
    char term[OPT_TERM_MAX], help[OPT_HELP_MAX];
    int column = fprintf(out, "  %s", opt_format_term(opt, prefix, term, sizeof(term)));
    if (column < HELP_COLUMN)
        (void)fprintf(out, "%*s", HELP_COLUMN - column, "");
    else
        (void)fprintf(out, "\n%*s", HELP_COLUMN, "");
    text_wrap(opt_format_help(opt, most, help, sizeof(help)), HELP_COLUMN, HELP_COLUMN, out);
}
