/* One line on stderr, prefixed with the program's name. Data never goes here; logs never to stdout.
 */
#ifndef CONTEND_LIB_SAY_LOG_H
#define CONTEND_LIB_SAY_LOG_H

#include <stdbool.h>

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Rank 0 of a job speaks for all: the others say nothing while they are quiet. */
void log_set_quiet(bool quiet);

/* Hook that runs before each line, such as erasing a progress bar. NULL for none. */
void log_set_before(void (*before)(void));

#endif
