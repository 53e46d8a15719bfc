#include "harness/lib/opt.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/similar.h"
#include "harness/lib/text.h"

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
    const char *name = str_fmt("%.*s", (int)(equals - pair), pair);
    const struct opt *opt = opts_find(opts, name);
    if (opt)
        return opt_set(opt, base, equals + 1, err);

    const char *known = "";
    struct similar near = similar_to(name, strlen(name));
    for (opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        str_add(&known, ", ", "%s", opt->name);
        similar_offer(&near, opt->name);
    }
    return err_set(err, -EINVAL, "unknown parameter '%.60s'%s known: %s", name,
                   similar_hint(&near, ""), known[0] ? known : "none");
}

const char *opt_format_value(const struct opt *opt, const void *base)
{
    const void *field = (const char *)base + opt->offset;
    const char *text = "";
    switch (opt->kind) {
    case OPT_INT:
        return str_fmt("%" PRId64, *(const int64_t *)field);
    case OPT_SIZE:
        return str_fmt("%" PRIu64, *(const uint64_t *)field);
    case OPT_DOUBLE:
    case OPT_SECONDS:
        return str_fmt("%.9g", *(const double *)field);
    case OPT_FLAG:
        return *(const bool *)field ? "1" : "0";
    case OPT_CHOICE:
        return opt->choices[*(const int *)field];
    case OPT_TEXT:
        text = *(const char *const *)field;
        return text ? text : "";
    case OPT_TEXTS:
        for (size_t i = 0; i < ((const struct opt_texts *)field)->n; i++)
            str_add(&text, " ", "%s", ((const struct opt_texts *)field)->text[i]);
    }
    return text;
}

const char *opts_format(const struct opt *opts, const void *base)
{
    const char *text = "";
    for (const struct opt *opt = opts; opt && opt->name; opt++)
        str_add(&text, ";", "%s=%s", opt->name, opt_format_value(opt, base));
    return text;
}

enum { HELP_COLUMN = 26 };

const char *opt_format_term(const struct opt *opt, const char *prefix)
{
    return str_fmt("%s%s%s%s%s", opt->letter ? str_fmt("-%c, ", opt->letter) : "", prefix,
                   opt->name, opt->arg ? " " : "", opt->arg ? opt->arg : "");
}

const char *opt_format_help(const struct opt *opt, enum opt_level most)
{
    size_t length = most == OPT_COMMON ? strcspn(opt->help, ";") : strlen(opt->help);
    const char *text = str_fmt("%.*s", (int)length, opt->help);
    for (int i = 0; opt->kind == OPT_CHOICE && opt->choices[i]; i++)
        str_add(&text, i ? ", " : ": ", "%s", opt->choices[i]);
    /* A flag with a default is a benchmark parameter, which needs a value: "check=1". */
    if (opt->def)
        str_add(&text, "", " (%sdefault %s)", opt->kind == OPT_FLAG ? "0 or 1, " : "", opt->def);
    return text;
}

void opt_print_help(const struct opt *opt, const char *prefix, enum opt_level most, FILE *out)
{
    int column = fprintf(out, "  %s", opt_format_term(opt, prefix));
    if (column < HELP_COLUMN)
        (void)fprintf(out, "%*s", HELP_COLUMN - column, "");
    else
        (void)fprintf(out, "\n%*s", HELP_COLUMN, "");
    text_wrap(opt_format_help(opt, most), HELP_COLUMN, HELP_COLUMN, out);
}

static const struct opt *find_letter(const struct opt *opts, char letter)
{
    for (const struct opt *opt = opts; opt && opt->name; opt++)
        if (opt->letter == letter && letter)
            return opt;
    return NULL;
}

static int add(const char **list, size_t *n, const char *text, struct err *err)
{
    if (*n == CLI_LIST_MAX)
        return err_set(err, -EINVAL, "'%.80s' is one argument too many (at most %d)", text,
                       CLI_LIST_MAX);
    list[(*n)++] = text;
    return 0;
}

struct parser {
    const struct opt *opts;
    bool accept_pairs;
    int argc, at;
    char **argv;
    void *base;
    struct cli *cli;
};

/* Suggests a similar long name; a letter is too short for a guess. */
static int unknown_option(const struct parser *p, const char *arg, struct err *err)
{
    bool is_long = arg[1] == '-';
    struct similar near = similar_to(arg + 2, is_long ? strcspn(arg + 2, "=") : 0);
    for (const struct opt *opt = opts_shown(p->opts); opt; opt = opts_shown(opt + 1))
        similar_offer(&near, opt->name);
    if (p->accept_pairs)
        similar_offer(&near, "param");
    return err_set(err, -EINVAL, "unknown option '%.80s'%s see 'contend %s --help'", arg,
                   similar_hint(&near, "--"), p->argv[0]);
}

static bool is_help_all(const char *arg)
{
    return strcmp(arg, "--help-all") == 0;
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 || is_help_all(arg);
}

/* An argument read as an option. */
struct named {
    const struct opt *opt; /* NULL = not in the table */
    bool is_pair;
    const char *value; /* in the same argument, or NULL */
};

static struct named find_named(const struct parser *p, const char *arg)
{
    char name[64];
    struct named named = {0};
    if (arg[1] == '-') {
        const char *equals = strchr(arg, '=');
        named.value = equals ? equals + 1 : NULL;
        text_set(name, "%.*s", equals ? (int)(equals - arg - 2) : (int)sizeof(name) - 1, arg + 2);
        named.is_pair = p->accept_pairs && strcmp(name, "param") == 0;
        named.opt = opts_find(p->opts, name);
    } else {
        named.value = arg[2] ? arg + 2 : NULL;
        named.is_pair = p->accept_pairs && arg[1] == 'p';
        named.opt = find_letter(p->opts, arg[1]);
    }
    return named;
}

/* True if the argument is an option, so that it cannot be the value of the option before it. */
static bool is_option(const struct parser *p, const char *arg)
{
    if (arg[0] != '-' || !arg[1] || (arg[1] != '-' && arg[2]))
        return false;
    struct named named = find_named(p, arg);
    return named.opt || named.is_pair || is_help(arg) || strcmp(arg, "--") == 0;
}

/* Parses the option at argv[at]; moves `at` to the last argument that it used. */
static int parse_option(struct parser *p, struct err *err)
{
    const char *arg = p->argv[p->at];
    struct named named = find_named(p, arg);
    const struct opt *opt = named.opt;
    if (!opt && !named.is_pair)
        return unknown_option(p, arg, err);
    if (opt && opt->kind == OPT_FLAG)
        return opt_set(opt, p->base, named.value ? named.value : "1", err);
    if (!named.value && p->at + 1 < p->argc && is_option(p, p->argv[p->at + 1]))
        return err_set(err, -EINVAL, "option '%.80s' needs a value, and '%.80s' is an option", arg,
                       p->argv[p->at + 1]);
    if (!named.value && p->at + 1 == p->argc)
        return err_set(err, -EINVAL, "option '%.80s' needs a value", arg);
    const char *value = named.value ? named.value : p->argv[++p->at];
    return named.is_pair ? add(p->cli->pairs, &p->cli->npairs, value, err)
                         : opt_set(opt, p->base, value, err);
}

static bool has(int argc, char **argv, bool (*is)(const char *arg))
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is(argv[i]))
            return true;
    return false;
}

int cli_parse(const struct opt *opts, bool accept_pairs, int argc, char **argv, void *base,
              struct cli *cli, struct err *err)
{
    struct parser p = {opts, accept_pairs, argc, 1, argv, base, cli};
    bool options = true;
    int rc = 0;
    memset(cli, 0, sizeof(*cli));
    opts_set_defaults(opts, base);
    cli->help = has(argc, argv, is_help);
    cli->help_all = has(argc, argv, is_help_all);
    for (; p.at < argc && !rc; p.at++) {
        const char *arg = argv[p.at];
        if (options && strcmp(arg, "--") == 0)
            options = false;
        else if (options && arg[0] == '-' && arg[1])
            rc = is_help(arg) ? 0 : parse_option(&p, err);
        else
            rc = add(cli->positional, &cli->npositional, arg, err);
    }
    return cli->help ? 0 : rc;
}
