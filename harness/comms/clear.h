/* What a directory of logs has from `contend comms` and the plugin goes, and nothing else. */
#ifndef CONTEND_COMMS_CLEAR_H
#define CONTEND_COMMS_CLEAR_H

/* Logs, counters, graphs and links.csv. */
void comms_clear(int dir_fd);

#endif
