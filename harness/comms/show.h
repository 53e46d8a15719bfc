/* Shows the logs of a directory. */
#ifndef CONTEND_COMMS_SHOW_H
#define CONTEND_COMMS_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/machine/gpu_links.h"

struct comms_showing {
    const char *directory;
    bool json, files; /* files: also write CSV, figures and the page beside the logs */
    bool verbose;
    FILE *out;
};

struct comms_found {
    size_t logs, unread; /* logs that were read; files that could not be read */
};

/* Returns an exit code; logs a message unless it is EXIT_GOOD. */
int comms_show(const struct comms_showing *showing, struct comms_found *found);

/* Likewise; EXIT_USAGE if there is no log. */
int comms_show_logs(const struct comms_showing *showing);

/* Writes the links of this machine's GPUs, for readers of the logs on another machine. */
void comms_files_add_links(const char *directory, const struct gpu_link *link, size_t n);

#endif
