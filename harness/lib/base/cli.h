/* Command lines by option tables (opt.h): --name value, --name=value, -x value, flags. */
#ifndef CONTEND_LIB_BASE_CLI_H
#define CONTEND_LIB_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"

enum { CLI_LIST_MAX = 64 };

/* The words that remain when the options are in their struct. Borrowed from argv. */
struct cli {
    const char *positional[CLI_LIST_MAX];
    size_t npositional;
    const char *pairs[CLI_LIST_MAX]; /* each -p/--param name=value, in order */
    size_t npairs;
    bool help; /* --help or -h was given: of no wrong option is told, and it ended the reading */
    bool help_all; /* --help-all was given: then help, too */
};

/*
 * Writes defaults, then what argv[1..] says. Options and positionals mix; "--" ends the options.
 * `accept_pairs`: -p/--param is known. -EINVAL names the argument and how to get help.
 */
int cli_parse(const struct opt *opts, bool accept_pairs, int argc, char **argv, void *base,
              struct cli *cli, struct err *err);

#endif
