/*
 * `contend run incident NAME` reproduces published reports. A child `contend ab NAME` measures each
 * incident, with its result in DIR/NAME. Then a child `contend doctor` examines the sick variant
 * and tries the fix that it prints.
 */
#ifndef CONTEND_CMD_INCIDENT_H
#define CONTEND_CMD_INCIDENT_H

#include "harness/cmd/common/cmd.h"
#include "harness/lib/sys/signals.h"
#include "harness/verdict/incidents.h"

/* True for "incident" and "incidents" after `contend run`. */
bool incident_is_named(const char *word);

/* argv[0] is that word. */
cmd_main incident_main;
extern const struct command incident_command;

/* Where and how incidents are measured. */
struct incident_work {
    const struct cmd_env *env;
    struct signals *signals;
    const char *dir, *host; /* host NULL = the host name */
    unsigned cpus, gpus;    /* numbers that this process may use */
    double max_time_s;      /* limit of the comparison, and of the trial of a fix */
};

/*
 * Starts the sick variant, lets doctor examine it, and tries the fix that doctor names. If doctor
 * cannot do that, *doctor has the reason. Returns 0, -EINTR, -ENOMEM or another -errno.
 */
int incident_ask_doctor(const struct incident_work *work, const struct incident *incident,
                        struct incident_doctor *doctor, struct err *err);

#endif
