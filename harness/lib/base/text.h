/* Text for people, at 80 columns. */
#ifndef CONTEND_LIB_BASE_TEXT_H
#define CONTEND_LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum { TEXT_WIDTH = 79 };

/*
 * From here on, wrapped text on stdout fits into so many columns, if they are fewer; 0 = unknown.
 */
void text_fit_stdout(unsigned columns);

/*
 * Prints `text` from `column`, where the cursor is, and breaks it at spaces and behind commas;
 * further lines start at `indent`. Ends with a newline.
 */
void text_wrap(const char *text, int column, int indent, FILE *out);

/* The same, formatted and without control characters, from so many spaces on. */
void text_wrapped(FILE *out, int column, int indent, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A label in the left column, then the formatted text wrapped beside it. */
void text_field(int indent, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Control characters become spaces, so that what a driver or a file says stays in its line, and
 * commands no terminal. Returns text.
 */
char *text_one_line(char *text);

/* Appends to text that is cut where the buffer ends; `separator` in between where there is some. */
void text_append(char *buf, size_t size, const char *separator, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define text_add(array, ...) text_append((array), sizeof(array), "", __VA_ARGS__)
/* In place of what it has. */
#define text_set(array, ...) ((void)snprintf((array), sizeof(array), __VA_ARGS__))

/* A word in a list of them, with `between` each: "cpuset cpu io", "cpu,cpuacct". */
bool text_has_word(const char *list, char between, const char *word);

/* Bytes of the well-formed UTF-8 sequence that text begins with (RFC 3629), of "" 1; 0 = it is
 * none. */
size_t text_utf8_length(const char *text);

/*
 * The word as a shell reads it back: quoted where a character means more to it than itself. Returns
 * the length that it needs, as snprintf does.
 */
size_t text_shell_word(const char *word, char *buf, size_t size);

/* "84%", "5.3%", "0.02%" of a share of 1, "-" of NaN, in buf. */
char *text_percent(double share, char *buf, size_t size);

/* UTC, "2026-01-31T12:00:00Z"; "" of 0. Returns buf. */
enum { TEXT_UTC_MAX = 32 };
char *text_utc(time_t at, char buf[static TEXT_UTC_MAX]);

#endif
