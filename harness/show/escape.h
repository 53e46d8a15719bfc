/*
 * Escapes text from a machine or a user for HTML, XML, Markdown and Prometheus. Bytes that are not
 * UTF-8 become U+FFFD, so that a reader does not refuse the whole output because of one byte.
 */
#ifndef CONTEND_SHOW_ESCAPE_H
#define CONTEND_SHOW_ESCAPE_H

#include <stdio.h>

/*
 * For the content of an element, or an attribute in double quotes, of HTML and XML 1.0. Characters
 * that XML forbids, even as references, become U+FFFD. Line ends and tabs become references,
 * because only these survive in an attribute.
 */
void escape_markup(const char *text, FILE *out);

/*
 * For a line or a table cell of GitHub's Markdown: the text shows as it is, without emphasis,
 * links, HTML, or mentions of persons and issues. Line ends become spaces.
 */
void escape_markdown(const char *text, FILE *out);

/* For a table cell, as a code span, so that words can be copied: `--placement none`. */
void escape_markdown_code(const char *text, FILE *out);

/* Prints the text unescaped in one line, for places such as a code block. */
void escape_line(const char *text, FILE *out);

/* For a label value of Prometheus' text format; the caller prints the double quotes. */
void escape_label(const char *text, FILE *out);

#endif
