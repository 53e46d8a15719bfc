/* Text for people, at 80 columns. */
#ifndef CONTEND_LIB_TEXT_H
#define CONTEND_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum { TEXT_WIDTH = 79 };

/* Makes later wrapped text on stdout fit a terminal narrower than 80 columns; 0 = unknown. */
void text_fit_stdout(unsigned columns);

/*
 * Prints `text` from the cursor's `column` on, breaks lines at spaces and after commas, and ends
 * with a newline. Further lines start at `indent`.
 */
void text_wrap(const char *text, int column, int indent, FILE *out);

/* As text_wrap, after `column` spaces, with formatted text; control characters become spaces. */
void text_wrapped(FILE *out, int column, int indent, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A label in the left column, then the formatted text wrapped beside it. */
void text_field(int indent, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Replaces control characters by spaces, so that text of a driver or a file stays on one line and
 * does not control the terminal. Returns text.
 */
char *text_one_line(char *text);

/* Appends, cut to the buffer's size; `separator` comes first unless buf is empty. */
void text_append(char *buf, size_t size, const char *separator, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define text_add(array, ...) text_append((array), sizeof(array), "", __VA_ARGS__)
/* Replaces the content. */
#define text_set(array, ...) ((void)snprintf((array), sizeof(array), __VA_ARGS__))

/* True if a list with `between` as separator has the word: "cpuset cpu io", "cpu,cpuacct". */
bool text_has_word(const char *list, char between, const char *word);
/* True if it has each word of `words`, a list of the same kind; always for "". */
bool text_has_words(const char *list, char between, const char *words);

/* Length of the UTF-8 sequence at the start of text (RFC 3629), 1 for ""; 0 = malformed. */
size_t text_utf8_length(const char *text);

/*
 * Writes the word for a shell, quoted if it has special characters. Returns the length that it
 * needs, as snprintf does.
 */
size_t text_shell_word(const char *word, char *buf, size_t size);

/* "84%", "5.3%", "0.02%" for a share (1 = 100%); "-" for NaN. */
const char *text_percent(double share);

/* UTC, "2026-01-31T12:00:00Z"; "" for 0. */
const char *text_utc(time_t at);

/*
 * Growing text, for code without I/O. A zeroed struct is an empty text. A failed allocation sets
 * `failed`; strbuf_take reports it at the end:
 *
 *   struct strbuf out = {0};
 *   strbuf_addf(&out, "%u workers", n);
 *   return strbuf_take(&out);
 */
struct strbuf {
    char *text; /* owned; ends with a NUL; NULL until text is added */
    size_t length, capacity;
    bool failed; /* out of memory: later calls add nothing */
};

void strbuf_add(struct strbuf *buf, const char *text, size_t length);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addc(struct strbuf *buf, char c);
void strbuf_addf(struct strbuf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the text, "" if nothing was added; the caller frees it. Empties buf. NULL: no memory. */
char *strbuf_take(struct strbuf *buf);
void strbuf_free(struct strbuf *buf);

#endif
