/*
 * A terminal as a screen that is drawn again and again: another page than the shell's, without
 * cursor, and keys as they are pressed. The former content comes back at the end.
 *
 *   struct screen screen;
 *   rc = screen_open(&screen, signals.fd, &err);
 *   while (screen_wait(&screen, seconds, &key) != SCREEN_SIGNAL && key != 'q')
 *       ... draw lines, each with SCREEN_LINE_END, between SCREEN_HOME and SCREEN_REST ...
 *   screen_close(&screen);
 */
#ifndef CONTEND_LIB_SAY_SCREEN_H
#define CONTEND_LIB_SAY_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "harness/lib/base/err.h"

#define SCREEN_HOME "\033[H"
#define SCREEN_LINE_END "\033[K\n" /* never behind the last column: it would clear it */
#define SCREEN_REST "\033[J"       /* behind the last line: what is below goes */

/* Zeroed = closed. */
struct screen {
    bool is_open, has_keys;
    int signal_fd, resized_fd;
    struct termios before;
    sigset_t mask_before;
};

/* Takes stdin (for keys, where it is a terminal) and stdout. signal_fd: wakes screen_wait. */
int screen_open(struct screen *screen, int signal_fd, struct err *err);
void screen_close(struct screen *screen);

enum screen_event { SCREEN_TIME, SCREEN_KEY, SCREEN_RESIZED, SCREEN_SIGNAL };

/* Until something happens, for so many seconds at most. *key: of SCREEN_KEY, else 0. */
enum screen_event screen_wait(struct screen *screen, double seconds, char *key);

#endif
