/*
 * A command that measures, from its options to the exit code: options -> topology -> environment ->
 * plan -> rounds -> verdict -> files -> plots -> summary. What `contend run`, `bench` and `ab` have
 * in common.
 */
#ifndef CONTEND_CMD_SESSION_SESSION_H
#define CONTEND_CMD_SESSION_SESSION_H

#include <stdio.h>
#include <time.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/session/builds.h"
#include "harness/engine/run/setup.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/facts/env.h"
#include "harness/machine/facts/openmp.h"
#include "harness/ranks/job/job_run.h"
#include "harness/store/files/run_dir.h"
#include "harness/store/files/trace_file.h"
#include "harness/verdict/odd/collection.h"

/* How a command differs from `run`. Each function takes the arg of `arrange`, and may be NULL. */
struct session_task {
    struct arrange arrange; /* who chooses the arms of a scenario of one part; or none */
    void (*after_arm)(void *arg, struct result *result);
    int (*after_round)(void *arg, const struct verdict *verdict, struct result *result,
                       struct err *err);
    /* Adds findings to those of every run. */
    int (*judge)(const void *arg, const struct analysis *analysis, struct findings *findings,
                 struct err *err);
    int (*exit_code)(const void *arg, const struct verdict *verdict); /* in place of EXIT_GOOD */
    bool no_figures;
};

/* Who makes one result of all scenarios of a session. */
struct session_list {
    int (*begin)(void *arg);                     /* before the first one; not 0 ends the session */
    int (*note)(void *arg, int index, int code); /* behind each; returns what its code counts as */
    void *arg;
};

/* State that the scenarios of a command share, and that of the running one. */
struct session {
    const struct cmd_env *env;
    const struct opt *opts;          /* of the command, into options */
    const struct session_task *task; /* or NULL; set before session_run */
    const struct session_list *list; /* the same: then one that fails does not end the others */
    struct collected *outcomes;      /* with a list: of each scenario */
    struct run_options options;
    struct cli cli;
    int argc;
    char **argv;
    int options_argc;  /* in front of "--" and the user's command; 0 = all */
    char program[300]; /* as it is started from here */
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
    struct job_rank_ops rank_ops;
    char job_note[300];
    struct run_setup *setup;   /* of the scenario that runs now */
    struct collected *outcome; /* of that, or NULL */
    json_t *rows;              /* of that, of a list with --json, which takes them */
    struct run_dir run_dir;
    char outputs[DIRECTORY_PATH_MAX]; /* where those of the user's command go now */
    struct trace_file trace;          /* with --trace, of all scenarios */
    uint64_t trace_origin_ns;         /* 0 = nothing was seen yet */
    struct builds builds;             /* of an ab that compares some */
    time_t started;
    uint64_t begin_ns; /* of the scenario that runs now, of the first with what all share */
    double planned_s, measured_s, shown_s; /* until its rounds, in them, behind them */
    double expected_s;                     /* of the scenarios of a dry run so far */
    bool told, gpus_told;                  /* what is to be said about them was said */
};

/*
 * Of a command line, what stands in front of "--" and a user's command; argc where there is none.
 * Goes into session.options_argc before the line is read.
 */
int session_options_argc(int argc, char **argv);

/*
 * Reads the command line, argv[0] being the command. False: an error was logged. env, opts, task,
 * argc and argv are the caller's, the rest is zeroed.
 */
bool session_parse(struct session *s);

/* Whether the command line names one scenario, on one machine. False: an error was logged. */
bool session_takes_one(const struct session *s, int n);

/* The same of one whose arms a task can choose: of one part, with steps. */
bool session_takes_task(const struct session *s, const struct scenario *const *scenarios, int n);

/* The help of the command, or of the scenarios that its line names. The exit code. */
int session_help(const struct session *s, const struct command *command);

/* Opens, runs the scenarios one after the other, and closes. Returns the exit code. */
int session_run(struct session *s, const struct scenario *const *scenarios, int n);

/* One of them, in an open session; into that subdirectory of --out, or NULL. The exit code. */
int session_run_scenario(struct session *s, const struct scenario *scenario,
                         const char *subdirectory);

/* From the files, as 'contend report' does, and for it: what it prints stands there too. */
int session_print_summary(struct session *s, bool color, struct err *err);

/* Where the time of the scenario went, by arm and phase. */
void session_print_times(const struct session *s, FILE *out);

/* The exit code of what failed before anything ran. */
int session_not_started(const struct session *s, int rc);

#endif
