/* Files that the plugin of `contend comms` leaves in a folder: their names, for who clears it. */
#ifndef CONTEND_CONTRACT_LOGS_H
#define CONTEND_CONTRACT_LOGS_H

#define COMMS_SUFFIX ".comms" /* part of each but the one below */
#define COMMS_PORTS_NAME "links.csv"

#endif
