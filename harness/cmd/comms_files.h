/* What the logs of a directory come to, as files in it: CSV and figures. */
#ifndef CONTEND_CMD_COMMS_FILES_H
#define CONTEND_CMD_COMMS_FILES_H

#include "harness/comms/view.h"

/* Says what it wrote, or what is in the way. EXIT_GOOD, also of a directory that cannot be written;
 * else EXIT_NOT_RUN or EXIT_INTERRUPTED. */
int comms_files_write(const char *directory, const struct comms_view *view);

#endif
