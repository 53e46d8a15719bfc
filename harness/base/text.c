#include "harness/base/text.h"

#include <math.h>
#include <stdarg.h>
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

char *text_percent(double share, char *buf, size_t size)
{
    double percent = 100 * share;
    int digits = percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : 2;
    (void)snprintf(buf, size, "-");
    if (!isnan(share))
        (void)snprintf(buf, size, "%.*f%%", digits, percent);
    return buf;
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
        /* A space at the end of a line would be one nobody sees; it is printed with what follows.
         */
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

void text_field(int indent, const char *label, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    int column = printf("%-*s", indent, label);
    text_wrap(text ? text : "(no memory)", column, indent, stdout);
    free(text);
}

char *text_one_line(char *text)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return text;
}
