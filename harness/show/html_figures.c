/* gnuplot's figures as images: in an image a browser runs nothing, even if the file was edited. */
#include <string.h>

#include "harness/show/escape.h"
#include "harness/show/html_parts.h"

static void print_image(const char *bytes, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)fputs("data:image/svg+xml;base64,", out);
    for (size_t i = 0; i < size; i += 3) {
        unsigned long group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        for (unsigned k = 0; k < 4; k++)
            (void)fputc(i + k > size ? '=' : digits[group >> (18 - 6 * k) & 63], out);
    }
}

/* `name` NULL: figures not shown elsewhere. html_chart.c draws throughput and loss itself. */
static bool is_wanted(const struct html_figure *figure, const char *name)
{
    static const char *const elsewhere[] = {"occupancy", "throughput", "loss"};
    if (name)
        return !strcmp(figure->name, name);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (!strcmp(figure->name, elsewhere[i]))
            return false;
    return true;
}

bool html_has_figure(const struct html_side *side, const char *name)
{
    for (size_t i = 0; i < side->nfigures; i++)
        if (is_wanted(&side->figures[i], name))
            return true;
    return false;
}

void html_figure(const struct html_figure *figure, FILE *out)
{
    (void)fprintf(out, "<figure%s>", figure->narrow ? "" : " class=\"scrolls\"");
    if (!figure->narrow)
        html_element("figcaption", out, "%s", figure->title); /* shown if the picture scrolls */
    (void)fputs("<picture>", out);
    if (figure->narrow) {
        (void)fputs("<source media=\"screen and (max-width:40rem)\" srcset=\"", out);
        print_image(figure->narrow, figure->narrow_size, out);
        (void)fputs("\">", out);
    }
    (void)fputs("<img class=\"plot\" alt=\"", out);
    escape_markup(figure->title, out);
    (void)fputs("\" src=\"", out);
    print_image(figure->svg, figure->size, out);
    (void)fputs("\"></picture></figure>\n", out);
}

void html_figures(const struct html_side *side, const char *name, FILE *out)
{
    for (size_t i = 0; i < side->nfigures; i++)
        if (is_wanted(&side->figures[i], name))
            html_figure(&side->figures[i], out);
}
