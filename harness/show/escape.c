#include "harness/show/escape.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "harness/lib/text.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes each character with `put`, and U+FFFD for each byte that is not UTF-8. */
static void put_each(const char *text, void (*put)(const char *at, size_t length, FILE *out),
                     FILE *out)
{
    while (*text) {
        size_t length = text_utf8_length(text);
        if (length)
            put(text, length, out);
        else
            (void)fputs(replacement, out);
        text += length ? length : 1;
    }
}

/* Not a Char of XML 1.0, section 2.2. Surrogates never get here: they are invalid UTF-8. */
static bool xml_forbids(const char *at)
{
    unsigned char first = (unsigned char)at[0];
    return (first < 0x20 && first != '\t' && first != '\n' && first != '\r') ||
           strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
}

static const char *markup_reference(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return NULL;
    }
}

static void put_markup(const char *at, size_t length, FILE *out)
{
    const char *reference = markup_reference(*at);
    if (xml_forbids(at))
        (void)fputs(replacement, out);
    else if (reference)
        (void)fputs(reference, out);
    else
        (void)fwrite(at, 1, length, out);
}

void escape_markup(const char *text, FILE *out)
{
    put_each(text, put_markup, out);
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

static void put_line(const char *at, size_t length, FILE *out)
{
    if (is_control(*at))
        (void)fputc(' ', out);
    else
        (void)fwrite(at, 1, length, out);
}

void escape_line(const char *text, FILE *out)
{
    put_each(text, put_line, out);
}

/* GitHub turns names of persons, issue numbers and addresses into links. */
static bool begins_link(const char *at)
{
    return *at == '@' || (*at == '#' && at[1] >= '0' && at[1] <= '9') ||
           strncmp(at, "://", 3) == 0 || strncasecmp(at, "www.", 4) == 0;
}

static void put_markdown(const char *at, size_t length, FILE *out)
{
    if (*at == '&' || *at == '<' || *at == '>')
        (void)fputs(markup_reference(*at), out);
    else if (strchr("\\`*_[]|~$", *at))
        (void)fprintf(out, "\\%c", *at);
    else
        put_line(at, length, out);
    if (begins_link(at))
        (void)fputs("&#8203;", out); /* zero-width space */
}

void escape_markdown(const char *text, FILE *out)
{
    /* Escapes what begins a heading or a list item at the start of a line. */
    size_t digits = strspn(text, "0123456789");
    bool numbered =
        digits && (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ';
    if (numbered || (*text && strchr("#-+=", *text))) {
        (void)fprintf(out, "%.*s\\", (int)digits, text);
        text += digits;
    }
    put_each(text, put_markdown, out);
}

/* The longest run of backticks in the text; a longer run must enclose it. */
static size_t longest_backticks(const char *text)
{
    size_t longest = 0;
    for (; *text; text++) {
        size_t run = strspn(text, "`");
        longest = run > longest ? run : longest;
        text += run ? run - 1 : 0;
    }
    return longest;
}

static void put_backticks(size_t n, FILE *out)
{
    while (n--)
        (void)fputc('`', out);
}

static void put_markdown_code(const char *at, size_t length, FILE *out)
{
    if (*at == '|') /* in a table, '|' ends the cell even in code */
        (void)fputs("\\|", out);
    else
        put_line(at, length, out);
}

void escape_markdown_code(const char *text, FILE *out)
{
    size_t inside = longest_backticks(text);
    if (!*text)
        return;
    put_backticks(inside + 1, out);
    (void)fputs(inside ? " " : "", out);
    put_each(text, put_markdown_code, out);
    (void)fputs(inside ? " " : "", out);
    put_backticks(inside + 1, out);
}

static void put_label(const char *at, size_t length, FILE *out)
{
    if (*at == '\n')
        (void)fputs("\\n", out);
    else if (*at == '\\' || *at == '"')
        (void)fprintf(out, "\\%c", *at);
    else
        (void)fwrite(at, 1, length, out);
}

void escape_label(const char *text, FILE *out)
{
    put_each(text, put_label, out);
}
