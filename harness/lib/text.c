#include "harness/lib/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/str.h"

static int stdout_width = TEXT_WIDTH;

void text_fit_stdout(unsigned columns)
{
    enum { LEAST = 20 };
    stdout_width = columns == 0 || columns > TEXT_WIDTH ? TEXT_WIDTH
                   : columns < LEAST                    ? LEAST
                                                        : (int)columns - 1;
}

const char *text_percent(double share)
{
    double percent = 100 * share;
    int digits = percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : 2;
    return isnan(share) ? "-" : str_fmt("%.*f%%", digits, percent);
}

void text_wrap(const char *text, int column, int indent, FILE *out)
{
    int width = out == stdout ? stdout_width : TEXT_WIDTH;
    while (*text) {
        size_t piece = strcspn(text, " ,");
        piece += text[piece] == ',';
        if (column > indent && column + (int)piece > width) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        (void)fwrite(text, 1, piece, out);
        column += (int)piece;
        text += piece;
        /* Print a space only together with the next word: no line ends with one. */
        if (*text == ' ') {
            text++;
            size_t next = strcspn(text, " ,");
            if (column + 1 + (int)next + (text[next] == ',') > width) {
                (void)fprintf(out, "\n%*s", indent, "");
                column = indent;
            } else {
                (void)fputc(' ', out);
                column++;
            }
        }
    }
    (void)fputc('\n', out);
}

void text_wrapped(FILE *out, int column, int indent, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    (void)fprintf(out, "%*s", column, "");
    text_wrap(text ? text_one_line(text) : "(no memory)", column, indent, out);
    free(text);
}

void text_field(int indent, const char *label, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    int column = printf("%-*s", indent, label);
    if (label[0] && column == (int)strlen(label))
        column += printf(" ");
    text_wrap(text ? text : "(no memory)", column, indent, stdout);
    free(text);
}

void text_append(char *buf, size_t size, const char *separator, const char *fmt, ...)
{
    size_t used = strlen(buf);
    used += (size_t)snprintf(buf + used, size - used, "%s", used ? separator : "");
    if (used >= size)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(buf + used, size - used, fmt, args);
    va_end(args);
}

char *text_one_line(char *text)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return text;
}

static bool has(const char *list, char between, const char *word, size_t length)
{
    for (const char *at = list; at; at = strchr(at, between)) {
        at += *at == between;
        if (strncmp(at, word, length) == 0 && (at[length] == between || !at[length]))
            return true;
    }
    return false;
}

bool text_has_word(const char *list, char between, const char *word)
{
    return has(list, between, word, strlen(word));
}

bool text_has_words(const char *list, char between, const char *words)
{
    while (words && *words) {
        const char *end = strchrnul(words, between);
        if (!has(list, between, words, (size_t)(end - words)))
            return false;
        words = end + (*end == between);
    }
    return true;
}

size_t text_utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool too_large = at[0] == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || too_large ? 0 : length;
}

/* True if no character of the word is special in a shell. */
static bool is_plain(const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+,:@%-";
    return word[0] && strspn(word, plain) == strlen(word);
}

/* 'it'\''s': within quotes only the quote itself is special. Returns the length it needs. */
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

size_t text_shell_word(const char *word, char *buf, size_t size)
{
    return is_plain(word) ? (size_t)snprintf(buf, size, "%s", word) : quote(word, buf, size);
}

const char *text_utc(time_t at)
{
    char text[32] = "";
    struct tm utc;
    if (at && gmtime_r(&at, &utc))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return str_fmt("%s", text);
}

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
