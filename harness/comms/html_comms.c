#include "harness/comms/html_comms.h"

#include <errno.h>
#include <stdio.h>

#include "harness/comms/tables.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/show/html_parts.h"

static void print_head(const struct html_comms *page, FILE *out)
{
    html_begin(text_one_line(str_fmt("contend comms: %.200s", page->path)), out);
    (void)fputs("<header>\n<h1>Who sent how much to whom over NCCL</h1>\n", out);
    html_line("p", out, "%s: %zu processes, %zu communicators", page->path, page->view->logs.n,
              page->view->comms.n);
    (void)fputs("</header>\n<main>\n", out);
}

int html_comms_print(const struct html_comms *page, FILE *out, struct err *err)
{
    struct doc verdict = {0}, tables = {0};
    char word[1100];
    print_head(page, out);
    comms_add_verdict_to_doc(page->view, &verdict);
    html_doc(&verdict, out);
    for (size_t i = 0; i < page->nfigures; i++)
        html_figure(&page->figures[i], out);
    comms_add_tables_to_doc(page->view, &tables);
    html_doc(&tables, out);
    (void)text_shell_word(page->path, word, sizeof(word));
    (void)fputs("<h2>Again</h2>\n", out);
    html_line("pre", out, "contend comms --read %s", word);
    (void)fputs("</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
