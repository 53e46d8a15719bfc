/* What a command line measures: scenarios, or a user's command. */
#ifndef CONTEND_CMD_SUBJECT_H
#define CONTEND_CMD_SUBJECT_H

#include <stdbool.h>

#include "harness/cmd/session/session.h"

/*
 * For ab. With -V, the words after "--" are the command of all variants. Without -V, each word is a
 * command (command_split), and a variant: A, B, ... Always call subject_free_variants afterwards.
 */
int subject_take_variants(struct session *s);
void subject_free_variants(struct session *s);

/* A scenario of one command. */
struct subject {
    struct scenario_part parts[2];
    struct scenario scenario;
};
void subject_make_scenario(const char *name, const struct command_options *options,
                           struct subject *out);

/*
 * Stores what a parsed line names into named[CLI_LIST_MAX]: `n` scenarios, or the command after
 * "--" or the sample, as one scenario in `subject`. EXIT_GOOD, or an exit code after a message.
 */
int subject_take(struct session *s, struct subject *subject, const struct scenario **named, int *n);

/* Parses the jobs of the options into `jobs`, as one scenario in `subject`. EXIT_GOOD, or an exit
 * code after a message. */
int subject_take_jobs(struct session *s, struct neighbours *jobs, struct subject *subject);

/*
 * Parses the command line of a task (session.h): a command after "--", as a scenario in `subject`,
 * or one named scenario. The caller sets env, task, argc and argv. False: return *code; the help
 * was printed, or an error was logged.
 */
bool subject_take_task(struct session *s, const struct command *command, struct subject *subject,
                       const struct scenario **scenario, int *code);

#endif
