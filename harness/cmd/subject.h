/* The subject of a command line: scenarios, or a command of the user. */
#ifndef CONTEND_CMD_SUBJECT_H
#define CONTEND_CMD_SUBJECT_H

#include <stdbool.h>

#include "harness/cmd/session/session.h"

/*
 * The words behind "--", of a line that was read, become the command of all arms (run_setup.h): it
 * is there and can be executed. The exit code of what was logged, or EXIT_GOOD.
 */
int subject_take_command(struct session *s);

/*
 * Of an ab: with -v, the words behind "--" are the command of all variants; without it, each word
 * is a command (command_split), and a variant: A, B, ... Free those with subject_free_variants,
 * also after an error, and where there are none.
 */
int subject_take_variants(struct session *s);
void subject_free_variants(struct session *s);

/* A scenario of one command, under these placements. */
struct subject {
    struct scenario_part parts[2];
    struct scenario scenario;
};
void subject_make_scenario(const char *name, const struct command_options *options,
                           struct subject *out);

/*
 * What a line that was read names: the command behind "--" or the sample, as a scenario in
 * `subject`, or its `n` scenarios; into named[CLI_LIST_MAX]. EXIT_GOOD, or after a message.
 */
int subject_take(struct session *s, struct subject *subject, const struct scenario **named, int *n);

/*
 * The command line of a task (session.h), read: what it is about is the command behind "--", as a
 * scenario in `subject`, or the scenario that the line names. env, task, argc and argv are the
 * caller's. False: `code` is the exit code; its help was printed, or why not was logged.
 */
bool subject_take_task(struct session *s, const struct command *command, struct subject *subject,
                       const struct scenario **scenario, int *code);

#endif
