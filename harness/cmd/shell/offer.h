/*
 * Completions for shells, made from the tables of commands, options, scenarios, benchmarks,
 * placements and rules. All names consist of [a-z0-9_-] and need no quotes.
 */
#ifndef CONTEND_CMD_SHELL_OFFER_H
#define CONTEND_CMD_SHELL_OFFER_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/cmd/common/cmd.h"

enum offer {
    OFFER_NOTHING, /* no known values, such as for a number */
    OFFER_CHOICES, /* the option's choices */
    OFFER_LIST,    /* the option's choices, separated by commas */
    OFFER_SCENARIOS,
    OFFER_RUNS,  /* scenarios, and "all" */
    OFFER_TASKS, /* scenarios for a command with is_task */
    OFFER_BENCHES,
    OFFER_PLACEMENT,
    OFFER_PLACEMENTS, /* separated by commas */
    OFFER_RULES,      /* separated by commas */
    OFFER_COMMANDS,
    OFFER_SHELLS,
    OFFER_FILES,
    OFFER_DIRS,
};

/* What the placeholders in a command's operands stand for. */
enum offer offer_of_command(const struct command *command);

/* What an option's choices or placeholder stand for; OFFER_NOTHING for a flag. */
enum offer offer_of_option(const struct opt *opt);

/* True for values that form a list separated by commas. */
bool offer_is_list(enum offer offer);

/* The i-th name, NULL after the last. `opt`: the option of OFFER_CHOICES and OFFER_LIST. */
const char *offer_name(const struct cmd_env *env, enum offer offer, const struct opt *opt,
                       size_t i);

/* Prints all names, separated by blanks. */
void offer_print(const struct cmd_env *env, enum offer offer, const struct opt *opt, FILE *out);

/*
 * Prints the values of -p for the scenario or benchmark (`offer` says which) of that name: "rows=
 * wait=spin wait=block".
 */
void offer_print_pairs(const struct cmd_env *env, enum offer offer, const char *name, FILE *out);

/* Prints the completion script of one shell. */
typedef void completion_print(const struct cmd_env *env, FILE *out);
completion_print completion_print_bash, completion_print_zsh, completion_print_fish;

extern const struct completion_shell {
    const char *name; /* NULL ends the table */
    completion_print *print;
} completion_shells[];

/* Prints text for single quotes in a script: each character of `special` gets a backslash. */
void completion_quote(const char *text, const char *special, FILE *out);

#endif
