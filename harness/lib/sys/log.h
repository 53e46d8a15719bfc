/* One line on stderr, prefixed with the program's name. Data never goes here; logs never to stdout.
 */
#ifndef CONTEND_LIB_SYS_LOG_H
#define CONTEND_LIB_SYS_LOG_H

#include <stdbool.h>

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* While quiet, nothing is logged: in a job of several ranks, only rank 0 logs. */
void log_set_quiet(bool quiet);

/* Sets a hook that runs before each line, such as erasing a progress bar. NULL = none. */
void log_set_before(void (*before)(void));

#endif
