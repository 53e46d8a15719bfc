/*
 * A measuring command, from its options to its exit code: options -> topology -> environment ->
 * plan -> rounds -> verdict -> files -> plots -> summary. Common to `contend run`, `bench`, `ab`
 * and `tune`.
 */
#ifndef CONTEND_CMD_SESSION_SESSION_H
#define CONTEND_CMD_SESSION_SESSION_H

#include <stdio.h>
#include <time.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/session/builds.h"
#include "harness/cmd/session/run_dir.h"
#include "harness/engine/setup.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/env.h"
#include "harness/verdict/verdict.h"

/* How a command differs from `run`. Each function gets arrange.arg, and may be NULL. */
struct session_task {
    struct arrange arrange; /* chooses the arms of a scenario of one part; or none */
    void (*after_arm)(void *arg, struct result *result);
    int (*after_round)(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err);
    /* Adds findings of this command. */
    void (*judge)(const void *arg, const struct analysis *analysis, struct findings *findings);
    int (*exit_code)(const void *arg, const struct verdict *verdict); /* replaces EXIT_GOOD */
    bool no_figures;
};

/* Hooks that combine all scenarios of a session into one result (all.c). */
struct session_list {
    int (*begin)(void *arg);                     /* before the first; nonzero ends the session */
    int (*note)(void *arg, int index, int code); /* after each; returns the code that counts */
    void *arg;
};

/* State that the scenarios of a command share, and state of the running scenario. */
struct session {
    const struct cmd_env *env;
    const struct opt *opts;          /* the command's options, stored in `options` */
    const struct session_task *task; /* or NULL; set before session_run */
    const struct session_list *list; /* likewise: then a failed scenario does not end the rest */
    struct collected *outcomes;      /* with a list: one for each scenario */
    struct run_options options;
    struct cli cli;
    int argc;
    char **argv;
    int options_argc;  /* number of arguments before "--"; 0 = all */
    char program[300]; /* program_name: how to start it again */
    struct topo topo;
    struct environment environment;
    char host[ENV_HOST_LABEL_MAX];
    char counters_note[300];
    char sizes[3][64]; /* -b, -e and -f as parameters */
    char quota_note[200], gpus_note[96];
    struct openmp_notes openmp;
    const char *notes[6 + OPENMP_NOTES_MAX]; /* ends with NULL */
    struct signals signals;
    struct job_env job_env;
    struct job job;
    char job_note[300];
    struct run_setup *setup;   /* of the running scenario */
    struct collected *outcome; /* of the running scenario, or NULL */
    json_t *rows;              /* of the last scenario, with a list and --json; the list takes it */
    struct run_dir run_dir;
    char outputs[DIRECTORY_PATH_MAX]; /* current directory for output of the user's command */
    struct trace_file trace;          /* with --trace, of all scenarios */
    uint64_t trace_origin_ns;         /* 0 = no observation yet */
    struct builds builds;             /* for an ab of builds */
    time_t started;
    uint64_t begin_ns; /* start of the current phase: opening, planning, rounds, output */
    double planned_s, measured_s, shown_s; /* time before, in and after the scenario's rounds */
    double expected_s;                     /* of the scenarios of a dry run so far */
    bool warned, gpus_warned;              /* warnings about machine, GPUs were logged */
};

/*
 * Number of arguments before "--"; argc without "--". Store it in session.options_argc before
 * session_parse.
 */
int session_options_argc(int argc, char **argv);

/*
 * Parses the command line; argv[0] is the command. The caller sets env, opts, task, argc and argv,
 * and zeroes the rest. False: an error was logged.
 */
bool session_parse(struct session *s);

/* True if the command line names one scenario, on one machine. False: an error was logged. */
bool session_takes_one(const struct session *s, int n);

/* Also requires a scenario whose arms a task can choose: one part, with steps. */
bool session_takes_task(const struct session *s, const struct scenario *const *scenarios, int n);

/* Prints the help of the command, or of the named scenarios. Returns the exit code. */
int session_help(const struct session *s, const struct command *command);

/* Opens the session, runs the scenarios one by one, and closes. Returns the exit code. */
int session_run(struct session *s, const struct scenario *const *scenarios, int n);

/* Runs a scenario in an open session, into a subdirectory of --out, or NULL. The exit code. */
int session_run_scenario(struct session *s, const struct scenario *scenario,
                         const char *subdirectory);

/* Prints the summary as 'contend report' does later, and stores it beside the files. */
int session_print_summary(struct session *s, const struct verdict *verdict, bool color,
                          struct err *err);

/* Prints the scenario's time by arm and phase. */
void session_print_times(const struct session *s, FILE *out);

/* The exit code for error `rc` before anything ran. */
int session_not_started(const struct session *s, int rc);

#endif
