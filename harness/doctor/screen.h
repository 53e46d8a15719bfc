/*
 * A full-screen terminal page that is redrawn: uses the alternate screen, hides the cursor, and
 * reads keys without Enter. screen_close restores the former content.
 *
 *   struct screen screen;
 *   rc = screen_open(&screen, signals.fd, &err);
 *   while (screen_wait(&screen, seconds, &key) != SCREEN_SIGNAL && key != 'q')
 *       ... draw lines, each with SCREEN_LINE_END, between SCREEN_HOME and SCREEN_REST ...
 *   screen_close(&screen);
 */
#ifndef CONTEND_DOCTOR_SCREEN_H
#define CONTEND_DOCTOR_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "harness/lib/err.h"

#define SCREEN_HOME "\033[H"
#define SCREEN_LINE_END "\033[K\n" /* not after the last column, which it would clear */
#define SCREEN_REST "\033[J"       /* after the last line: clears the lines below */

/* Zeroed = closed. */
struct screen {
    bool is_open, has_keys;
    int signal_fd, resized_fd;
    struct termios before;
    sigset_t mask_before;
};

/* Uses stdout, and stdin for keys if it is a terminal. A readable signal_fd wakes screen_wait. */
int screen_open(struct screen *screen, int signal_fd, struct err *err);
void screen_close(struct screen *screen);

enum screen_event { SCREEN_TIME, SCREEN_KEY, SCREEN_RESIZED, SCREEN_SIGNAL };

/* Waits for an event, at most `seconds` (then SCREEN_TIME). *key: set for SCREEN_KEY, else 0. */
enum screen_event screen_wait(struct screen *screen, double seconds, char *key);

#endif
