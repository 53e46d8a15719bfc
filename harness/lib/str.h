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
#ifndef CONTEND_LIB_STR_H
#define CONTEND_LIB_STR_H

#include <stdarg.h>
#include <stddef.h>

/* The formatted text; without memory "(no memory)". Never NULL. */
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *str_vfmt(const char *fmt, va_list args)
    __attribute__((format(printf, 1, 0), returns_nonnull));

/*
 * Extends *text, or a copy of it, by the formatted text; `separator` stands between, unless *text
 * is
 * "". The arguments must not contain *text.
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

#endif
