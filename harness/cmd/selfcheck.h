/* The trials of `contend selfcheck`: selfcheck.c makes them, selfcheck_judge.c judges them. */
#ifndef CONTEND_CMD_SELFCHECK_H
#define CONTEND_CMD_SELFCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/cmd/common/child_run.h"
#include "harness/cmd/common/cmd.h"
#include "harness/contract/finding.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/facts/env.h"

enum { KIND_COMPARE = 1, KINDS = 5, PATH_MOST = 4096 };

struct kind {
    const char *name, *title;
    unsigned busy;  /* percent by which the second variant is slower */
    double promise; /* share of trials that should find the difference; 0 = no promise */
    double limit_s; /* time limit of a trial by ab; a promise holds within it */
    double usual_s; /* usual time of a trial */
};
extern const struct kind selfcheck_kinds[KINDS];

struct selfcheck_args {
    int64_t trials;
    double max_time_s, trial_max_s;
    const char *only, *out, *host, *workers, *device;
    bool json, dry_run;
};

struct trial {
    int kind;
    unsigned number;              /* within its kind, from 1 */
    enum finding_outcome outcome; /* of the whole comparison; ERROR: the trial failed */
    unsigned rounds;              /* rounds of both sides */
    double took_s;
    char explanation[200]; /* its verdict in words, or the reason of an ERROR */
};

/* State of the command. */
struct work {
    const struct cmd_env *env;
    const struct selfcheck_args *args;
    const struct cli *cli; /* the parameters */
    const char *scenario;
    bool requested[KINDS];
    double limit_s[KINDS];
    char host[ENV_HOST_LABEL_MAX];
    char utc[32];
    char dir[PATH_MOST]; /* trials are in DIR/KIND/NUMBER */
    int dir_fd;          /* -1 = closed */
    FILE *csv;
    uint64_t start_ns;
    bool complete;
    struct signals signals;
    size_t n, capacity;
    struct trial *trials;
};

/* Judges the trials, prints the counts and writes the record, also after an interrupt or error
 * `rc`. Returns the exit code. */
int selfcheck_conclude(struct work *work, int rc, struct err *err);

#endif
