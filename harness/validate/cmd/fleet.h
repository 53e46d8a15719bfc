/* Results of many machines, for `contend validate fleet` and `contend validate bounds`. */
#ifndef CONTEND_VALIDATE_CMD_FLEET_H
#define CONTEND_VALIDATE_CMD_FLEET_H

#include "harness/cmd/common/cmd.h"
#include "harness/validate/fleet/fleet.h"

/*
 * Reads all results at or below the directories into the fleet, and arranges it. EXIT_GOOD, or the
 * exit code after messages; EXIT_USAGE also where a result is damaged, with all others read:
 * `results` then says how many were.
 */
int fleet_open(const struct cmd_env *env, const char *const *directories, size_t n,
               struct fleet *fleet, size_t *results);

struct fleet_options {
    const char *bounds;  /* a file; NULL = made from the fleet itself */
    const char *junit;   /* a file, or NULL */
    bool json, markdown; /* in place of the table */
};

/* `contend validate fleet DIR...`: judges, prints, and returns the exit code. */
int fleet_results(const struct cmd_env *env, const char *const *directories, size_t n,
                  const struct fleet_options *options);

#endif
