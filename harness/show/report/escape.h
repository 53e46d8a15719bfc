/*
 * Text of a machine or a user inside other text: HTML, XML, Markdown, Prometheus. What is no UTF-8
 * becomes U+FFFD, so that no reader refuses the whole for one byte.
 */
#ifndef CONTEND_SHOW_REPORT_ESCAPE_H
#define CONTEND_SHOW_REPORT_ESCAPE_H

#include <stdio.h>

/*
 * In an element, or in an attribute between double quotes, of HTML and XML 1.0. Characters that XML
 * forbids, even as references, become U+FFFD; line ends and tabs become references, which an
 * attribute keeps.
 */
void escape_markup(const char *text, FILE *out);

/*
 * In a line or a cell of a table of GitHub's Markdown, as what it says: no emphasis, link, HTML,
 * mention of a person or of an issue. Line ends become spaces.
 */
void escape_markdown(const char *text, FILE *out);

/* In a cell of a table as a code span, for words that are to be copied: `--placement none`. */
void escape_markdown_code(const char *text, FILE *out);

/* As it is, in one line: where nothing in it has a meaning, such as a block of code. */
void escape_line(const char *text, FILE *out);

/* As a label's value of Prometheus' text format, between the double quotes that the caller prints.
 */
void escape_label(const char *text, FILE *out);

#endif
