#include "harness/lib/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/similar.h"

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
        (void)snprintf(name, sizeof(name), "%.*s",
                       equals ? (int)(equals - arg - 2) : (int)sizeof(name) - 1, arg + 2);
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
