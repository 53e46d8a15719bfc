#include "harness/cmd/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing in it means more to a shell than itself. */
static bool is_plain(const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+,:@%-";
    return word[0] && strspn(word, plain) == strlen(word);
}

/* 'it'\''s': between quotes only the quote itself is special. Returns the length it needs. */
static size_t quote(const char *word, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "'");
    for (; *word; word++) {
        size_t at = used < size ? used : size;
        used += (size_t)snprintf(buf + at, size - at, "%.*s", *word == '\'' ? 4 : 1,
                                 *word == '\'' ? "'\\''" : word);
    }
    size_t at = used < size ? used : size;
    return used + (size_t)snprintf(buf + at, size - at, "'");
}

char *program_name(const char *argv0, char *buf, size_t size)
{
    const char *front = getenv("CONTEND_PROGRAM");
    const char *name = front && front[0] ? front : argv0 ? argv0 : "";
    size_t needs =
        is_plain(name) ? (size_t)snprintf(buf, size, "%s", name) : quote(name, buf, size);
    if (!name[0] || needs >= size || strpbrk(name, "\n\r\t\033"))
        (void)snprintf(buf, size, "contend");
    return buf;
}
