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

#include "harness/show/doc.h"
#include "harness/show/json/about.h"

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

#endif
