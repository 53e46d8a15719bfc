#include "harness/lib/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` characters and a NUL. */
static bool grow(struct strbuf *buf, size_t more)
{
    enum { FIRST = 64 };
    size_t capacity = buf->capacity ? buf->capacity : FIRST;
    while (capacity - buf->length <= more)
        capacity *= 2;
    if (buf->failed || (buf->text && capacity == buf->capacity))
        return !buf->failed;
    char *grown = realloc(buf->text, capacity);
    buf->failed = !grown;
    if (!grown)
        return false;
    buf->text = grown;
    buf->capacity = capacity;
    return true;
}

void strbuf_add(struct strbuf *buf, const char *text, size_t length)
{
    if (!grow(buf, length))
        return;
    memcpy(buf->text + buf->length, text, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *text)
{
    strbuf_add(buf, text, strlen(text));
}

void strbuf_addc(struct strbuf *buf, char c)
{
    strbuf_add(buf, &c, 1);
}

void strbuf_addf(struct strbuf *buf, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (length < 0)
        buf->failed = true;
    else if (grow(buf, (size_t)length))
        buf->length += (size_t)vsnprintf(buf->text + buf->length, (size_t)length + 1, fmt, again);
    va_end(again);
}

char *strbuf_take(struct strbuf *buf)
{
    strbuf_add(buf, "", 0);
    char *text = buf->failed ? NULL : buf->text;
    if (buf->failed)
        free(buf->text);
    *buf = (struct strbuf){0};
    return text;
}

void strbuf_free(struct strbuf *buf)
{
    if (!buf)
        return;
    free(buf->text);
    *buf = (struct strbuf){0};
}
