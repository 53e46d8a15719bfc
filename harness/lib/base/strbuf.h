/*
 * Text that grows as it is written, for code that has no files. A zeroed struct is an empty one.
 * A failed allocation is noted, and asked for once, at the end:
 *
 *   struct strbuf out = {0};
 *   strbuf_addf(&out, "%u workers", n);
 *   return strbuf_take(&out);
 */
#ifndef CONTEND_LIB_BASE_STRBUF_H
#define CONTEND_LIB_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *text; /* owned; ends with a NUL; NULL as long as nothing was added */
    size_t length, capacity;
    bool failed; /* no memory: nothing is added any more */
};

void strbuf_add(struct strbuf *buf, const char *text, size_t length);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addc(struct strbuf *buf, char c);
void strbuf_addf(struct strbuf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text, which the caller frees, "" where nothing was added; NULL: no memory. Empties buf. */
char *strbuf_take(struct strbuf *buf);
void strbuf_free(struct strbuf *buf);

#endif
