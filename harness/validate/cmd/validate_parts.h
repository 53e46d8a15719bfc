/*
 * What a baseline has bounds for, by scenario: how each is run, so that it gives figures of the
 * same keys, and which of its bounds no run of this machine can give.
 *
 *   rc = validate_parts_find(&parts, &err);            env, bounds and topo are set
 *   if (validate_part_expect(&parts, part, &err))
 *       validate_part_command(env, part, host, dir, child);
 *   validate_parts_free(&parts);
 */
#ifndef CONTEND_VALIDATE_CMD_VALIDATE_PARTS_H
#define CONTEND_VALIDATE_CMD_VALIDATE_PARTS_H

#include "harness/cmd/common/child_run.h"
#include "harness/cmd/common/cmd.h"
#include "harness/machine/topo/topo.h"
#include "harness/validate/fleet/bounds.h"

enum { VALIDATE_LIST_MOST = 512, VALIDATE_NAME_MOST = 128, VALIDATE_PARAMS_MOST = 16 };

/* A scenario of the bounds, and why its figures are not looked at; "" = they are. */
struct validate_part {
    char name[VALIDATE_NAME_MOST];
    char placements[VALIDATE_LIST_MOST], workers[VALIDATE_LIST_MOST]; /* comma-separated */
    size_t nparams;
    char params[VALIDATE_PARAMS_MOST][VALIDATE_NAME_MOST]; /* "rows=4096": other than usual */
    char reason[300];
    const char *command; /* that runs it */
    double expected_s;
    bool doubted; /* it is run again */
};

struct validate_parts {
    const struct cmd_env *env;
    const struct bounds *bounds;
    const struct topo *topo;
    size_t n;
    struct validate_part *all; /* owned; at most as many as there are bounds */
    bool *foreign; /* owned; of each bound: no run gives it, once its part is expected */
};

/* -ENOMEM only. */
int validate_parts_find(struct validate_parts *parts, struct err *err);
void validate_parts_free(struct validate_parts *parts);

/* The part of a bound's key, also of one that was not among the bounds. */
struct validate_part *validate_parts_of(struct validate_parts *parts, const char *key);

/*
 * How it is run, with which parameters, and how long that takes; which of its bounds are foreign.
 * False: there is none of that name, or it cannot be planned.
 */
bool validate_part_expect(struct validate_parts *parts, struct validate_part *part,
                          struct err *err);

/* The command line that runs it into `dir`. */
void validate_part_command(const struct cmd_env *env, const struct validate_part *part,
                           const char *host, const char *dir, struct child_run *child);

#endif
