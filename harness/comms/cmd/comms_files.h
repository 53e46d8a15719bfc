/* What the logs of a directory come to, as text, and as files in it: CSV, figures and a page. */
#ifndef CONTEND_COMMS_CMD_COMMS_FILES_H
#define CONTEND_COMMS_CMD_COMMS_FILES_H

#include <stdbool.h>

#include "harness/comms/findings/view.h"
#include "harness/machine/gpu/links.h"

/*
 * Writes them, the page there or as `html` names it (NULL: report.html in the directory), and says
 * so, or what is in the way. EXIT_GOOD, also of a directory that cannot be written; EXIT_USAGE of a
 * page that is not ours, EXIT_NOT_RUN or EXIT_INTERRUPTED.
 */
int comms_files_write(const char *directory, const char *html, const struct comms_view *view);

/* Adds how the GPUs of this machine are joined, for who reads the logs on another one. */
void comms_files_add_links(const char *directory, const struct gpu_link *link, size_t n);

/* Whether it has logs of NCCL calls, and is no result of a run. */
bool comms_files_are_in(int dir_fd);

#endif
