#include "harness/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* One option at argv[*at]; steps *at to the last argument it used. */
static int parse_option(const struct opt *opts, bool accept_pairs, int argc, char **argv, int *at,
                        void *base, struct cli *cli, struct err *err)
{
    const char *arg = argv[*at];
    char name[64];
    const char *value = NULL;
    if (arg[1] == '-') {
        const char *equals = strchr(arg, '=');
        value = equals ? equals + 1 : NULL;
        (void)snprintf(name, sizeof(name), "%.*s",
                       equals ? (int)(equals - arg - 2) : (int)sizeof(name) - 1, arg + 2);
    } else {
        (void)snprintf(name, sizeof(name), "%c", arg[1]);
        value = arg[2] ? arg + 2 : NULL;
    }
    bool is_long = arg[1] == '-';
    bool is_pair = accept_pairs && !strcmp(name, is_long ? "param" : "p");
    const struct opt *opt = is_long ? opts_find(opts, name) : find_letter(opts, name[0]);
    if (!opt && !is_pair)
        return err_set(err, -EINVAL, "unknown option '%.80s'; see 'contend %s --help'", arg,
                       argv[0]);
    if (opt && opt->kind == OPT_FLAG)
        return opt_set(opt, base, value ? value : "1", err);
    if (!value) {
        if (*at + 1 >= argc)
            return err_set(err, -EINVAL, "option '%.80s' needs a value", arg);
        value = argv[++*at];
    }
    return is_pair ? add(cli->pairs, &cli->npairs, value, err) : opt_set(opt, base, value, err);
}

int cli_parse(const struct opt *opts, bool accept_pairs, int argc, char **argv, void *base,
              struct cli *cli, struct err *err)
{
    memset(cli, 0, sizeof(*cli));
    opts_set_defaults(opts, base);
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            cli->help = true;
            return 0;
        }
    bool options = true;
    for (int i = 1; i < argc; i++) {
        int rc;
        if (options && !strcmp(argv[i], "--")) {
            options = false;
            continue;
        }
        if (options && argv[i][0] == '-' && argv[i][1])
            rc = parse_option(opts, accept_pairs, argc, argv, &i, base, cli, err);
        else
            rc = add(cli->positional, &cli->npositional, argv[i], err);
        if (rc)
            return rc;
    }
    return 0;
}
