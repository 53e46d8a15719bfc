/*
 * A result as one page of HTML that needs nothing else: no network, no script, no font. It follows
 * the reader's choice of light or dark, fits a phone, and prints.
 *
 * What a machine or a user wrote is escaped; figures that gnuplot drew, whose files somebody may
 * have edited, are images, in which nothing runs; and the page itself forbids scripts and loads
 * (Content-Security-Policy).
 */
#ifndef CONTEND_SHOW_HTML_HTML_H
#define CONTEND_SHOW_HTML_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/show/doc/doc.h"
#include "harness/store/read/about.h"

/* As drawn by gnuplot: plots/NAME.svg. */
struct html_figure {
    const char *name;
    const char *title; /* what it shows, for who cannot see it */
    const char *svg;
    size_t size;
};

/* One result. All borrowed. */
struct html_side {
    const char *path; /* of its directory, as the user named it */
    const struct recorded *recorded;
    const struct about *about;
    size_t nfigures;
    const struct html_figure *figures;
    const struct html_side
        *beside; /* set by html_print: the other one, which has the same scales */
};

struct html_page {
    size_t nsides; /* 1; 2: before and after */
    const struct html_side *sides;
};

/* -ENOMEM; -EIO: it could not be written. */
int html_print(const struct html_page *page, FILE *out, struct err *err);

/* A document alone, such as what compare found. */
struct html_document {
    const char *title;
    const struct doc *doc;
};
int html_print_document(const struct html_document *document, FILE *out, struct err *err);

/* Whether a file that begins so is a page of ours, of any version. */
bool html_is_ours(const char *text, size_t size);

#endif
