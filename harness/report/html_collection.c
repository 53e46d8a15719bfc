#include "harness/report/html_collection.h"

#include <errno.h>

#include "harness/report/html_parts.h"

static void print_line(const struct collected *one, FILE *out)
{
    char numbers[120];
    (void)fputs("<tr><th scope=\"row\">", out);
    if (one->has_page) {
        (void)fputs("<a href=\"", out);
        html_say(out, "%s/report.html", one->scenario);
        (void)fputs("\">", out);
    }
    html_say(out, "%s", one->scenario);
    (void)fputs(one->has_page ? "</a></th><td>" : "</th><td>", out);
    html_say(out, "%s", one->summary);
    (void)fputs("</td><td>", out);
    html_say(out, "%s", collected_name(one->end));
    (void)fputs("</td><td>", out);
    html_say(out, "%s", collected_say(one, numbers, sizeof(numbers)));
    (void)fputs("</td><td>", out);
    html_say(out, "%s", one->sentence);
    (void)fputs("</td></tr>\n", out);
}

int html_print_collection(const struct collection *collection, FILE *out, struct err *err)
{
    char text[300];
    (void)snprintf(text, sizeof(text), "contend: all scenarios on %s", collection->host);
    html_begin(text, out);
    (void)fputs("<header>\n<h1>contend: all scenarios</h1>\n<p>", out);
    html_say(out, "%s, %s", collection->host, collection->started);
    (void)fputs("</p>\n</header>\n<main>\n<section>\n<div class=\"verdict\"><p>", out);
    html_say(out, "%s.", collection_say(collection, text, sizeof(text)));
    (void)fputs("</p></div>\n<div class=\"scroll\"><table>\n<thead><tr><th>scenario</th>"
                "<th>what it is</th><th>status</th><th>measured</th><th>what it says</th></tr>"
                "</thead>\n<tbody>\n",
                out);
    for (size_t i = 0; i < collection->n; i++)
        print_line(&collection->all[i], out);
    (void)fputs("</tbody>\n</table></div>\n<p>The scenarios were measured one after the other. A "
                "name leads to the page of that scenario, in the directory of its name.</p>\n"
                "<p><code>",
                out);
    html_say(out, "%s", collection->command);
    (void)fputs("</code></p>\n</section>\n</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
