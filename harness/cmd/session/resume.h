/* run --resume: a session that goes on with a run that was ended. */
#ifndef CONTEND_CMD_SESSION_RESUME_H
#define CONTEND_CMD_SESSION_RESUME_H

#include "harness/cmd/session/session.h"

/*
 * Opens the directory of a line that was read, and reads the run's own line in its place. False:
 * `code` is the exit code, of a run that is complete or cannot go on, and all was said. Close it
 * with resume_close, also then.
 */
bool resume_open(struct session *s, int *code);
void resume_close(struct session *s);

#endif
