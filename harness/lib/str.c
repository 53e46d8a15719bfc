#include "harness/lib/str.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384 };

struct str_chunk {
    struct str_chunk *before;
    size_t used, size;
    const char *last; /* the text that was composed last; str_add extends it in place */
    char text[];
};

static _Thread_local struct str_chunk *latest;
static pthread_key_t ending; /* its destructor runs where a thread ends */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_all(void *thread)
{
    (void)thread;
    str_release((struct str_mark){0});
}

static void prepare(void)
{
    (void)pthread_key_create(&ending, free_all);
}

static struct str_chunk *add_chunk(size_t least)
{
    size_t size = least > CHUNK / 2 ? 2 * least : CHUNK;
    struct str_chunk *added = malloc(sizeof(*added) + size);
    if (!added)
        return NULL;
    (void)pthread_once(&once, prepare);
    (void)pthread_setspecific(ending, &latest);
    *added = (struct str_chunk){.before = latest, .size = size};
    latest = added;
    return added;
}

char *str_vfmt(const char *fmt, va_list args)
{
    static char none[] = "(no memory)";
    va_list again;
    va_copy(again, args);
    struct str_chunk *chunk = latest;
    size_t room = chunk ? chunk->size - chunk->used : 0;
    int length = vsnprintf(chunk ? chunk->text + chunk->used : NULL, room, fmt, args);
    if (length >= 0 && (size_t)length >= room) {
        chunk = add_chunk((size_t)length + 1);
        if (chunk)
            (void)vsnprintf(chunk->text, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    if (!chunk || length < 0)
        return none;
    char *text = chunk->text + chunk->used;
    chunk->used += (size_t)length + 1;
    chunk->last = text;
    return text;
}

char *str_fmt(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = str_vfmt(fmt, args);
    va_end(args);
    return text;
}

void str_add(const char **text, const char *separator, const char *fmt, ...)
{
    struct str_chunk *chunk = latest;
    size_t end = chunk ? chunk->used - 1 : 0, before = strlen((*text)[0] ? separator : "");
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    bool is_last = chunk && chunk->last == *text && end + before < chunk->size;
    size_t room = is_last ? chunk->size - end - before : 0;
    int length = vsnprintf(is_last ? chunk->text + end + before : NULL, room, fmt, args);
    if (length >= 0 && (size_t)length < room) {
        memcpy(chunk->text + end, separator, before);
        chunk->used += before + (size_t)length;
    } else {
        if (is_last)
            chunk->text[end] = '\0'; /* what did not fit begins here */
        const char *added = str_vfmt(fmt, again);
        *text = str_fmt("%s%.*s%s", *text, (int)before, separator, added);
    }
    va_end(again);
    va_end(args);
}

struct str_mark str_mark(void)
{
    return (struct str_mark){latest, latest ? latest->used : 0};
}

void str_release(struct str_mark mark)
{
    while (latest && latest != mark.chunk) {
        struct str_chunk *before = latest->before;
        free(latest);
        latest = before;
    }
    if (latest) {
        latest->used = mark.used;
        latest->last = NULL;
    }
}
