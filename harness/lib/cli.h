/* Parses command lines by option tables (opt.h): --name value, --name=value, -x value, flags. */
#ifndef CONTEND_LIB_CLI_H
#define CONTEND_LIB_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/opt.h"

enum { CLI_LIST_MAX = 64 };

/* The arguments that are not options of the table. Borrowed from argv. */
struct cli {
    const char *positional[CLI_LIST_MAX];
    size_t npositional;
    const char *pairs[CLI_LIST_MAX]; /* each -p/--param name=value, in order */
    size_t npairs;
    bool help;     /* --help or -h was given: cli_parse reports no error */
    bool help_all; /* --help-all was given; implies help */
};

/*
 * Writes defaults, then the options of argv[1..]. Options and positionals mix; "--" ends the
 * options. `accept_pairs`: -p/--param is known. -EINVAL: the message names the argument and, for an
 * unknown option, the help.
 */
int cli_parse(const struct opt *opts, bool accept_pairs, int argc, char **argv, void *base,
              struct cli *cli, struct err *err);

#endif
