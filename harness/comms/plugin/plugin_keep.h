/*
 * Keeps a log whose memory is not its file's (preload.h): a thread copies it into the file, a
 * second after it began, then after pauses of twice as long, up to half a minute; when a
 * communicator ends; and when the process does, which waits for a slow server 5 s at most. So a
 * process that is killed leaves what it had until then. Nobody who counts is kept waiting. Behind
 * that end, in the program's own handlers, who asks copies by himself.
 */
#ifndef CONTEND_COMMS_PLUGIN_PLUGIN_KEEP_H
#define CONTEND_COMMS_PLUGIN_PLUGIN_KEEP_H

#include "harness/comms/logs/preload.h"

/* Of a file that has its name, once. False: it is said why not, and the file is taken away. */
bool plugin_keep_start(const struct preload_file *file);

/* Soon; returns at once but behind the end. Nothing where nothing was started. */
void plugin_keep_now(void);

#endif
