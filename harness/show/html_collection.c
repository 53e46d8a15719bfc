#include "harness/show/html_collection.h"

#include <errno.h>

#include "harness/lib/str.h"
#include "harness/show/html_parts.h"

/* Not as a table, because a result's sentence is too long for a column of a narrow screen. */
static void print_one(const struct collected *one, FILE *out)
{
    (void)fputs("<h2>", out);
    if (one->has_page) {
        (void)fputs("<a href=\"", out);
        html_text(out, "%s/report.html", one->scenario);
        (void)fputs("\">", out);
    }
    html_text(out, "%s", one->scenario);
    (void)fputs(one->has_page ? "</a></h2>\n" : "</h2>\n", out);
    const char *numbers = collected_format(one);
    html_line("p", out, "%s%s%s%s%s.", one->summary, one->summary[0] ? ": " : "",
              collected_name(one->end), numbers[0] ? ", " : "", numbers);
    if (one->sentence[0])
        html_line("p", out, "%s", one->sentence);
}

/* CSS classes of the summary box: those of the worst outcome in it. */
static const char *class_of(const struct collection *collection)
{
    size_t missing = collection_count(collection, COLLECTED_INTERRUPTED) +
                     collection_count(collection, COLLECTED_NOT_REACHED) +
                     collection_count(collection, COLLECTED_ABSENT);
    if (collection_count(collection, COLLECTED_FAILED))
        return "verdict bad";
    return missing ? "verdict doubt" : "verdict";
}

int html_print_collection(const struct collection *collection, FILE *out, struct err *err)
{
    const char *text = str_fmt("contend: %zu scenarios on %s", collection->n, collection->host);
    html_begin(text, out);
    (void)fprintf(out, "<header>\n<h1>contend: %zu scenarios</h1>\n", collection->n);
    html_line("p", out, "%s, %s", collection->host, collection->started);
    (void)fprintf(out, "</header>\n<main>\n<section>\n<div class=\"%s\">", class_of(collection));
    html_element("p", out, "%s.", collection_format(collection));
    (void)fputs(
        "</div>\n<p>The scenarios were measured one after the other. A name leads to the page "
        "of that scenario, in the directory of its name.</p>\n",
        out);
    for (size_t i = 0; i < collection->n; i++)
        print_one(&collection->all[i], out);
    (void)fputs("<p>", out);
    html_element("code", out, "%s", collection->command);
    (void)fputs("</p>\n</section>\n</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
