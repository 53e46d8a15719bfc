/*
 * What the logs of a directory come to, as CSV beside them: matrix.csv, calls.csv, ranks.csv and
 * timeline.csv. results/README.md explains their columns. Quoting as in csv.h; communicators are
 * counted from 1, as everywhere that people read.
 */
#ifndef CONTEND_COMMS_FILES_COMMS_H
#define CONTEND_COMMS_FILES_COMMS_H

#include "harness/comms/findings/view.h"

/*
 * Each file whole, in the place of an earlier one. -EEXIST: there is one of that name which is not
 * ours, and none is written; -ENOMEM, and what writing gives.
 */
int comms_csv_write(int dir_fd, const struct comms_view *view, struct err *err);

/*
 * links.csv: how the GPUs of that host are joined, which can be asked for on it alone. Nothing of
 * no links, nor of a host whose name no line can hold. 0 or what writing gives.
 */
int comms_ports_write(int dir_fd, const char *host, const struct gpu_link *link, size_t n,
                      struct err *err);

#endif
