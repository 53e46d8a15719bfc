/*
 * `contend run incident NAME`: published reports, reproduced. Each is measured by a child `contend
 * ab NAME`, whose result is DIR/NAME; then a child `contend doctor` looks at its sick variant and
 * tries the fix that it prints.
 */
#ifndef CONTEND_CMD_INCIDENT_INCIDENT_H
#define CONTEND_CMD_INCIDENT_INCIDENT_H

#include "harness/cmd/common/cmd.h"
#include "harness/lib/sys/signals.h"
#include "harness/verdict/odd/incidents.h"

/* argv[0] of `contend run`: "incident" or "incidents". */
bool incident_is_named(const char *word);

/* argv[0] is that word. */
cmd_main incident_main;
extern const struct command incident_command;

/* Where one is measured. */
struct incident_work {
    const struct cmd_env *env;
    struct signals *signals;
    const char *dir, *host; /* host NULL = this one's */
    unsigned cpus, gpus;    /* that this process may use */
    double max_time_s;      /* of the comparison, and of the trial of a fix */
};

/*
 * Starts the sick variant, lets doctor look at it, and tries what it names. What keeps doctor from
 * it is a reason in *doctor. -EINTR, -ENOMEM.
 */
int incident_ask_doctor(const struct incident_work *work, const struct incident *incident,
                        struct incident_doctor *doctor, struct err *err);

#endif
