#include "harness/lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const char *text_shell_word(const char *word)
{
    const char *text = "'";
    if (is_plain(word))
        return word;
    for (size_t piece; word[piece = strcspn(word, "'")]; word += piece + 1)
        str_add(&text, "", "%.*s'\\''", (int)piece, word);
    str_add(&text, "", "%s'", word);
    return text;
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

int units_parse_size(const char *text, uint64_t *size_bytes, struct err *err)
{
    static const char prefixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || errno)
        goto bad;
    const char *prefix = *end ? strchr(prefixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = 0;
    if (prefix) {
        shift = 10 * (unsigned)(prefix - prefixes + 1);
        end++;
        if (end[0] == 'i' && end[1] == 'B')
            end += 2;
    }
    if (*end || (value << shift) >> shift != value)
        goto bad;
    *size_bytes = value << shift;
    return 0;
bad:
    return err_set(err, -EINVAL, "'%.80s' is not a size such as 4096, 64K, 8M or 1G", text);
}

/* Seconds in the unit of that name and length; 0 = unknown unit. */
static double unit_seconds(const char *unit, size_t length)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1},           {"s", 1},         {"ms", 1e-3}, {"us", 1e-6},
                 {"ns", 1e-9},      {"m", 60},        {"min", 60},  {"h", 3600},
                 {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6}}; /* the micro sign, and the Greek letter */
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == length && strncmp(units[i].name, unit, length) == 0)
            return units[i].seconds;
    return 0;
}

int units_parse_duration(const char *text, double *seconds, struct err *err)
{
    double sum = 0;
    const char *at = text;
    do {
        char *end;
        double value = strtod(at, &end);
        size_t length = strspn(end, "himnsu\u00b5\u03bc");
        double unit = unit_seconds(end, length);
        /* strtod also takes signs, blanks, inf and hexadecimal. */
        bool plain = (isdigit((unsigned char)at[0]) || at[0] == '.') && !strpbrk(at, "xX");
        sum += value * unit;
        if (!plain || end == at || !(unit > 0) || (!length && (at != text || *end)) ||
            !isfinite(sum))
            return err_set(err, -EINVAL,
                           "'%.80s' is not a duration such as 2, 1.5s, 200ms, 5m or 1h30m", text);
        at = end + length;
    } while (*at);
    *seconds = sum;
    return 0;
}

/* Decimals with which a value of 0.001 or more shows three significant digits. */
static int digits_behind(double value)
{
    double size = fabs(value);
    int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    for (double from = 0.9995; size > 0 && size < from && digits < 5; from /= 10)
        digits++;
    return size > 0 ? digits : 0;
}

const char *units_seconds(double seconds)
{
    static const struct {
        double from, factor;
        const char *name;
    } scale[] = {{0.9995, 1, "s"}, {0.9995e-3, 1e3, "ms"}, {0.9995e-6, 1e6, "us"}, {0, 1e9, "ns"}};
    size_t i = 0;
    while (seconds != 0 && fabs(seconds) < scale[i].from)
        i++;
    double value = seconds * scale[i].factor;
    return isnan(seconds) ? "-" : str_fmt("%.*f %s", digits_behind(value), value, scale[i].name);
}

const char *units_si(double value)
{
    static const struct {
        double from, factor;
        const char *name;
    } scale[] = {{0.9995e12, 1e-12, " T"},
                 {0.9995e9, 1e-9, " G"},
                 {0.9995e6, 1e-6, " M"},
                 {0.9995e3, 1e-3, " k"},
                 {0, 1, ""}};
    size_t i = 0;
    while (fabs(value) < scale[i].from)
        i++;
    double scaled = value * scale[i].factor;
    return isnan(value) ? "-" : str_fmt("%.*f%s", digits_behind(scaled), scaled, scale[i].name);
}

const char *units_plain(double value, int digits)
{
    char *text = str_fmt("%.*g", digits, value);
    double most = fabs(value);
    if (!strchr(text, 'e') || !isfinite(value))
        return text;
    text = str_fmt("%.*f", most >= 1 ? 0 : digits - 1 - (int)floor(log10(most)), value);
    for (size_t end = strlen(text); most < 1 && end > 1 && text[end - 1] == '0'; end--)
        text[end - 1] = '\0';
    return text;
}

const char *units_bytes(uint64_t size_bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    double value = (double)size_bytes;
    /* From 1023.95 on, one decimal would already read 1024.0. */
    while (value >= 1023.95 && i + 1 < sizeof(names) / sizeof(names[0])) {
        value /= 1024;
        i++;
    }
    return str_fmt("%.*f %s", value == floor(value) ? 0 : 1, value, names[i]);
}
