/* Removes from a directory of logs what `contend comms` and the plugin wrote, and nothing else. */
#ifndef CONTEND_STORE_FILES_LOGS_H
#define CONTEND_STORE_FILES_LOGS_H

/* Logs, counters, graphs and links.csv. */
void logs_clear(int dir_fd);

#endif
