/* What the commands that run a user's command have in common. */
#ifndef CONTEND_CMD_EXEC_H
#define CONTEND_CMD_EXEC_H

#include <stdbool.h>

#include "harness/cmd/session/session.h"

/*
 * Of a command line, what stands in front of "--" and a user's command; argc where there is none.
 * Goes into session.options_argc before the line is read.
 */
int exec_options_argc(int argc, char **argv);

/*
 * The words behind "--", of a line that was read, become the command of all arms (run_setup.h): it
 * is there and can be executed. The exit code of what was logged, or EXIT_GOOD.
 */
int exec_take_command(struct session *s);

/*
 * Of an ab: with -v, the words behind "--" are the command of all variants; without it, each word
 * is a command (command_split), and a variant: A, B, ... Free those with exec_free_variants, also
 * after an error, and where there are none.
 */
int exec_take_variants(struct session *s);
void exec_free_variants(struct session *s);

/* A scenario of one command, under these placements. */
struct exec_scenario {
    struct scenario_part parts[2];
    struct scenario scenario;
};
void exec_make_scenario(const char *name, const struct command_options *options,
                        struct exec_scenario *out);

/*
 * The command line of a task (session.h), read: what it is about is the command behind "--", as a
 * scenario in `exec`, or the scenario that the line names. env, task, argc and argv are the
 * caller's. False: `code` is the exit code; its help was printed, or why not was logged.
 */
bool exec_take_task(struct session *s, const struct command *command, struct exec_scenario *exec,
                    const struct scenario **scenario, int *code);

#endif
