/* Text: composed, for people at 80 columns, and numbers with their units. */
#ifndef CONTEND_LIB_TEXT_H
#define CONTEND_LIB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "harness/lib/err.h"

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

/* The word for a shell: itself, or quoted if it has special characters, 'it'\''s'. */
const char *text_shell_word(const char *word);

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

/*
 * Composed text, such as of a cell, a sentence or a path. Nobody frees it: it belongs to the
 * scratch arena of the thread, which ends with the thread. A loop without end, or of many rounds,
 * releases what each turn composed:
 *
 *   struct str_mark mark = str_mark();
 *   while (...) {
 *       (void)printf("%s, %s\n", units_si(rate), str_fmt("%u of %u", i, n));
 *       str_release(mark);
 *   }
 *
 * What outlives the turn, or crosses shared memory, is copied (text_set).
 */

/* The formatted text; without memory "(no memory)". Never NULL. */
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *str_vfmt(const char *fmt, va_list args)
    __attribute__((format(printf, 1, 0), returns_nonnull));

/*
 * Extends *text, or a copy of it, by the formatted text; `separator` stands between, unless *text
 * is "". The arguments must not contain *text.
 */
void str_add(const char **text, const char *separator, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Text composed so far. */
struct str_mark {
    struct str_chunk *chunk;
    size_t used;
};
struct str_mark str_mark(void);

/* Frees the text that the thread composed since the mark; the mark stays valid. */
void str_release(struct str_mark mark);

/* Numbers with units, in and out: sizes (K/M/G binary), durations (ns to h), SI formatting. */

/* "4K", "1M", "2GiB", "512" -> bytes. -EINVAL quotes the text; overflow is an error, not a wrap. */
int units_parse_size(const char *text, uint64_t *size_bytes, struct err *err);

/* "1.5", "1.5s", "200ms", "50us", "10ns", "2m" or "2min", "1h30m" -> seconds, finite and >= 0. */
int units_parse_duration(const char *text, double *seconds, struct err *err);

/* 0.00213 -> "2.13 ms": three significant digits; NaN -> "-". */
const char *units_seconds(double seconds);

/* 1234567 -> "1.23 M": three significant digits, decimal prefix; NaN -> "-". */
const char *units_si(double value);

/* As %.*g, but never with an exponent: 12345 -> "12345", 0.00002 -> "0.00002". */
const char *units_plain(double value, int digits);

/* 8388608 -> "8 MiB" when whole, else "8.1 MiB". */
const char *units_bytes(uint64_t size_bytes);

#endif
