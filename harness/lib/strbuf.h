/*
 * Growing text, for code without I/O. A zeroed struct is an empty text. A failed allocation sets
 * `failed`; strbuf_take reports it at the end:
 *
 *   struct strbuf out = {0};
 *   strbuf_addf(&out, "%u workers", n);
 *   return strbuf_take(&out);
 */
#ifndef CONTEND_LIB_STRBUF_H
#define CONTEND_LIB_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

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
