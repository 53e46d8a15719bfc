/*
 * A result as one self-contained HTML page, without network, scripts or fonts. It follows the
 * reader's choice of light or dark, fits a phone, and prints.
 *
 * Text from a machine or a user is escaped. Figures drawn by gnuplot, whose files may have been
 * edited, are embedded as images, in which a browser runs nothing. The page itself forbids scripts
 * and loads (Content-Security-Policy).
 */
#ifndef CONTEND_SHOW_HTML_H
#define CONTEND_SHOW_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/show/blocks.h"
#include "harness/show/doc.h"
#include "harness/show/json/about.h"
#include "harness/verdict/verdict.h"

/* A figure drawn by gnuplot: plots/NAME.svg, and NAME.narrow.svg for phones. */
struct html_figure {
    const char *name;
    const char *title; /* text for readers who cannot see the figure */
    const char *svg;
    size_t size;
    const char *narrow; /* NULL: there is none, and the wide one scrolls */
    size_t narrow_size;
};

/* One result. All borrowed. */
struct html_side {
    const char *path; /* of the result's directory, as the user named it */
    const struct recorded *recorded;
    const struct about *about;
    size_t nfigures;
    const struct html_figure *figures;
    const struct html_side
        *other_side; /* set by html_print: the other side, drawn to the same scales */
};

struct html_page {
    size_t nsides; /* 1; 2: before and after */
    const struct html_side *sides;
};

/* Prints the page. -ENOMEM; -EIO: `out` has a write error. */
int html_print(const struct html_page *page, FILE *out, struct err *err);

/* A page with only a document, such as what `compare` found. */
struct html_document {
    const char *title;
    const struct doc *doc;
};
int html_print_document(const struct html_document *document, FILE *out, struct err *err);

/* True if `text`, the start of a file, is that of a page of any version of this program. */
bool html_is_contend_page(const char *text, size_t size);

/* Shared by html*.c only: the sections of a page. */

/* Prints an element; `tag` may include attributes, and "" prints the text alone. The text is
 * formatted, then escaped. */
void html_element(const char *tag, FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define html_text(out, ...) html_element("", (out), __VA_ARGS__)
#define html_line(tag, out, ...) (html_element((tag), (out), __VA_ARGS__), (void)fputc('\n', (out)))

/* Prints the start of the page, up to and including <body>. */
void html_begin(const char *title, FILE *out);

/* Prints the document as HTML and frees it. */
void html_doc(struct doc *doc, FILE *out);

/* Sections of a side. They print nothing if the result has nothing for them. */
void html_throughput(const struct html_side *side, FILE *out); /* html_figures.c */
void html_loss(const struct html_side *side, FILE *out);
void html_machine(const struct html_side *side, FILE *out); /* html_machine.c */
void html_facts(const struct html_side *side, FILE *out);   /* html_machine.c */
void html_warnings(const struct html_side *side, FILE *out);
void html_provenance(const struct html_side *side, FILE *out);

/* html_figures.c: the figures of that name; NULL: all that the page shows nowhere else. */
void html_figures(const struct html_side *side, const char *name, FILE *out);
void html_figure(const struct html_figure *figure, FILE *out);
bool html_has_figure(const struct html_side *side, const char *name);

/* Several scenarios as one page, which links to the page of each. */

/* -EIO: `out` has a write error. */
int html_print_collection(const struct collection *collection, FILE *out, struct err *err);

#endif
