#include "harness/plan/emit/quote.h"

#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

void quote_shell(struct strbuf *out, const char *word)
{
    size_t length = text_shell_word(word, NULL, 0);
    char *quoted = malloc(length + 1);
    if (quoted)
        (void)text_shell_word(word, quoted, length + 1);
    out->failed = out->failed || !quoted;
    strbuf_add(out, quoted ? quoted : "", quoted ? length : 0);
    free(quoted);
}

/* A copy with each character of `marks` doubled; the caller frees it. NULL: no memory. */
static char *doubled(const char *word, const char *marks)
{
    struct strbuf out = {0};
    for (; *word; word++) {
        if (strchr(marks, *word))
            strbuf_addc(&out, *word);
        strbuf_addc(&out, *word);
    }
    return strbuf_take(&out);
}

void quote_systemd_run(struct strbuf *out, const char *word)
{
    char *twice = doubled(word, "$");
    out->failed = out->failed || !twice;
    if (twice)
        quote_shell(out, twice);
    free(twice);
}

void quote_unit(struct strbuf *out, const char *word)
{
    strbuf_addc(out, '"');
    while (*word) {
        size_t length = text_utf8_length(word);
        unsigned char c = (unsigned char)*word;
        if (length > 1)
            strbuf_add(out, word, length);
        else if (!length || c < ' ' || c == 0x7f)
            strbuf_addf(out, "\\x%02x", c);
        else if (c == '%' || c == '$')
            strbuf_addf(out, "%c%c", c, c);
        else
            strbuf_addf(out, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
        word += length ? length : 1;
    }
    strbuf_addc(out, '"');
}

/* Decodes a valid UTF-8 sequence of `length` bytes. */
static unsigned code_point(const char *at, size_t length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned code = (unsigned char)at[0] & first[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

bool quote_yaml_arg(struct strbuf *out, const char *word)
{
    strbuf_addc(out, '"');
    while (*word) {
        size_t length = text_utf8_length(word);
        if (!length)
            return false;
        unsigned code = code_point(word, length);
        if (code >= ' ' && code < 0x7f)
            strbuf_addf(out, "%s%c",
                        code == '"' || code == '\\' ? "\\"
                        : code == '$'               ? "$"
                                                    : "",
                        (char)code);
        else
            strbuf_addf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
        word += length;
    }
    strbuf_addc(out, '"');
    return true;
}

void quote_base64(struct strbuf *out, const char *text, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < left ? (unsigned char)text[at + i] : 0);
        for (size_t i = 0; i < 4; i++)
            strbuf_addc(out, i > left ? '=' : digits[bits >> (18 - 6 * i) & 63]);
    }
}

bool quote_is_plain_everywhere(const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+,:@-";
    return word[0] && strspn(word, plain) == strlen(word);
}
