/* What a directory of logs has from `contend comms` and the plugin goes, and nothing else. */
#ifndef CONTEND_STORE_FILES_LOGS_H
#define CONTEND_STORE_FILES_LOGS_H

/* Logs, counters, graphs and links.csv. */
void logs_clear(int dir_fd);

#endif
