/*
 * Writes the traffic in a directory of logs as CSV beside them: matrix.csv, calls.csv, ranks.csv
 * and timeline.csv. results/README.md explains their columns. Quoting as in csv.h; communicators
 * count from 1, as in all output for people.
 */
#ifndef CONTEND_COMMS_FILES_COMMS_H
#define CONTEND_COMMS_FILES_COMMS_H

#include "harness/comms/view.h"

/*
 * Replaces each file as a whole. -EEXIST: a file of that name is not of contend, and no file is
 * written; -ENOMEM, or an error of writing.
 */
int comms_csv_write(int dir_fd, const struct comms_view *view, struct err *err);

/*
 * links.csv: the links of the GPUs of that host, which only the host itself can find out. Writes
 * nothing without links, or if a line cannot hold the host's name. -EEXIST: a file of that name is
 * not of contend, and stays; or an error of writing.
 */
int comms_ports_write(int dir_fd, const char *host, const struct gpu_link *link, size_t n,
                      struct err *err);

#endif
