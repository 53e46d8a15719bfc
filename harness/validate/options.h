/* The options of `contend validate`. The core links them, too, for help and completion. */
#ifndef CONTEND_VALIDATE_OPTIONS_H
#define CONTEND_VALIDATE_OPTIONS_H

#include "harness/cmd/common/cmd.h"
#include "harness/validate/outputs.h"

/* The names of enum probes_level; ends with NULL. */
extern const char *const validate_profiles[];

struct validate_args {
    int profile;
    double max_time_s, burn_s;
    const char *machine, *only, *require, *expect, *waivers, *root;
    const char *bounds;
    bool no_measure, strict, verbose, list, markdown, json, brief;
    struct validate_outputs outputs;
};

/* Prints the document on stdout, as Markdown or for a terminal. Returns the exit code. */
int validate_print_doc(const struct validate_args *args, const struct doc *doc);

/* `contend validate fleet DIR...` and `contend validate bounds DIR...`. Return the exit code. */
int fleet_main(const struct cmd_env *env, const struct validate_args *args,
               const char *const *directories, size_t n);
int bounds_main(const struct cmd_env *env, const struct validate_args *args,
                const char *const *directories, size_t n);

#endif
