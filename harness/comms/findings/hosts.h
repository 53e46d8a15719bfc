/*
 * Which of the files are of one machine: those of the same boot_id, whatever the machine calls
 * itself in each container; without it, those of one name. Pure.
 */
#ifndef CONTEND_COMMS_FINDINGS_HOSTS_H
#define CONTEND_COMMS_FINDINGS_HOSTS_H

#include "harness/comms/findings/copies.h"
#include "harness/comms/view/links.h"

/* NULL: there are none of these. */
struct comms_hosts {
    struct comms_logs *logs;
    struct copies *copies;
    struct comms_counters *counters;
    struct comms_ports *ports; /* they have names alone */
};

/*
 * Changes the names of hosts in all of them, so that one machine has one name and two have two:
 * machines behind the first of a name are NAME#2 and so on, and a machine of several names has the
 * first. Finds comms_one_machine and comms_same_name. -ENOMEM only.
 */
int comms_hosts_settle(const struct comms_hosts *hosts, struct findings *findings, struct err *err);

#endif
