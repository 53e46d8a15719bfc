/* Shared by html*.c only: the sections of a page. */
#ifndef CONTEND_SHOW_HTML_PARTS_H
#define CONTEND_SHOW_HTML_PARTS_H

#include "harness/show/blocks.h"
#include "harness/show/doc.h"
#include "harness/show/html.h"

/* html_style.c: the content of <style>. */
extern const char html_style[];

/* Prints an element; `tag` may include attributes, and "" prints the text alone. The text is
 * formatted, then escaped. */
void html_element(const char *tag, FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define html_text(out, ...) html_element("", (out), __VA_ARGS__)
#define html_line(tag, out, ...) (html_element((tag), (out), __VA_ARGS__), (void)fputc('\n', (out)))

/* html.c: prints the start of the page, up to and including <body>. */
void html_begin(const char *title, FILE *out);

/* Prints the document as HTML and frees it. */
void html_doc(struct doc *doc, FILE *out);

/* Sections of a side. They print nothing if the result has nothing for them. */
void html_throughput(const struct html_side *side, FILE *out); /* html_chart.c */
void html_loss(const struct html_side *side, FILE *out);
void html_machine(const struct html_side *side, FILE *out); /* html_machine.c */
void html_facts(const struct html_side *side, FILE *out);   /* html_about.c */
void html_warnings(const struct html_side *side, FILE *out);
void html_provenance(const struct html_side *side, FILE *out);

/* html_figures.c: the figures of that name; NULL: all that the page shows nowhere else. */
void html_figures(const struct html_side *side, const char *name, FILE *out);
void html_figure(const struct html_figure *figure, FILE *out);
bool html_has_figure(const struct html_side *side, const char *name);

#endif
