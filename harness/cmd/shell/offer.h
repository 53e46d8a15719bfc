/*
 * What a shell may offer behind a command: made from the tables of commands, options, scenarios,
 * benchmarks, placements and rules. All names are of [a-z0-9_-] and need no quotes.
 */
#ifndef CONTEND_CMD_SHELL_OFFER_H
#define CONTEND_CMD_SHELL_OFFER_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/cmd/common/cmd.h"

enum offer {
    OFFER_NOTHING, /* that we could name, such as a number */
    OFFER_CHOICES, /* of the option */
    OFFER_LIST,    /* the same, with commas between them */
    OFFER_SCENARIOS,
    OFFER_RUNS,  /* scenarios, and all of them */
    OFFER_TASKS, /* those of command.is_task */
    OFFER_BENCHES,
    OFFER_PLACEMENT,
    OFFER_PLACEMENTS, /* with commas between them */
    OFFER_RULES,      /* the same */
    OFFER_COMMANDS,
    OFFER_SHELLS,
    OFFER_FILES,
    OFFER_DIRS,
};

/* By the placeholders in its operands. */
enum offer offer_of_command(const struct command *command);

/* By the choices or the placeholder of an option; OFFER_NOTHING for a flag. */
enum offer offer_of_option(const struct opt *opt);

/* Whether several may stand there, with commas between them. */
bool offer_is_list(enum offer offer);

/* The i-th name, or NULL behind the last one. `opt` is that of OFFER_CHOICES, else NULL. */
const char *offer_name(const struct cmd_env *env, enum offer offer, const struct opt *opt,
                       size_t i);

/* All of them, with blanks between. */
void offer_print(const struct cmd_env *env, enum offer offer, const struct opt *opt, FILE *out);

/*
 * What may follow -p for a scenario or a benchmark (`offer` says which) of that name:
 * "rows= wait=spin wait=block".
 */
void offer_print_pairs(const struct cmd_env *env, enum offer offer, const char *name, FILE *out);

/* The completions of one shell, as a script for it. */
typedef void completion_print(const struct cmd_env *env, FILE *out);
completion_print completion_print_bash, completion_print_zsh, completion_print_fish;

extern const struct completion_shell {
    const char *name; /* NULL ends the table */
    completion_print *print;
} completion_shells[];

/* Text within the single quotes of a script: each character of `special` gets a backslash. */
void completion_quote(const char *text, const char *special, FILE *out);

#endif
