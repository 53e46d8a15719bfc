/*
 * A result as a sequence of blocks for a person to read, made once for each kind of result
 * (show/). Each output form has one back end below, so that a terminal, a page and a pull
 * request show the same sentences and the same rows:
 *
 *   struct doc doc = {0};
 *   doc_heading(&doc, "sizing %s", name);
 *   struct doc_table *table = doc_table(&doc);
 *   doc_column(table, DOC_LABEL, "cores");
 *   doc_column(table, DOC_NUMBER, "%s", unit);
 *   doc_row(table, DOC_PLAIN);
 *   doc_cell(table, "%u", cores);
 *   doc_si(table, rate);
 *   doc_print(&doc, stdout, color);
 *   doc_free(&doc);
 *
 * Out of memory, functions set `failed`, add nothing and return NULL tables, which are valid
 * arguments.
 */
#ifndef CONTEND_SHOW_DOC_H
#define CONTEND_SHOW_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/lib/finding.h"

/* Most columns of a table; least width of a number on a terminal. */
enum { DOC_COLUMNS = 136, DOC_NUMBER_LEAST = 5 };

/* The tone of a row or a cell. A DOC_GROUP row has one cell: the name of the rows below it. */
enum doc_tone { DOC_PLAIN, DOC_GOOD, DOC_BAD, DOC_GROUP, DOC_TONES };

enum doc_kind {
    DOC_LABEL,    /* name of a row, aligned left */
    DOC_CODE,     /* a label that can be typed as a word */
    DOC_NUMBER,   /* aligned right */
    DOC_OPTIONAL, /* a number that a terminal omits if the width is too small */
    DOC_DETAIL,   /* a number that a terminal omits, unless it shows all */
    DOC_SENTENCE, /* on a terminal, a line of its own */
    DOC_REASON,   /* a sentence that a terminal omits, unless it shows all */
    DOC_COMMAND,  /* a sentence that is not wrapped, so that it can be copied */
    DOC_KINDS
};

static inline bool doc_is_number(enum doc_kind kind)
{
    return kind == DOC_NUMBER || kind == DOC_OPTIONAL || kind == DOC_DETAIL;
}

/* A name may have several lines: a terminal prints "latency\nus" as two. */
struct doc_column {
    enum doc_kind kind;
    char *name;
};

struct doc_row {
    enum doc_tone tone;
    char *cell[DOC_COLUMNS];              /* NULL = "-" */
    unsigned char cell_tone[DOC_COLUMNS]; /* enum doc_tone */
};

struct doc_table {
    struct doc *doc;
    size_t ncolumns, n, capacity, at; /* at: next cell of the last row */
    struct doc_column column[DOC_COLUMNS];
    struct doc_row *row;
};

enum doc_block_kind {
    DOC_HEADING,
    DOC_TEXT,
    DOC_NOTE, /* text that a terminal omits, unless it shows all */
    DOC_GAP,  /* an empty line on a terminal */
    DOC_FINDINGS,
    DOC_TABLE,
    DOC_FOLD, /* begins details up to DOC_UNFOLD; a terminal omits them, unless it shows all */
    DOC_OPEN, /* the same, and a page shows them */
    DOC_UNFOLD,
};

/* Findings that lead (doc_leads), in their order; and the rest, after the tables. */
enum doc_which { DOC_LEADING, DOC_REST };

struct doc_block {
    enum doc_block_kind kind;
    char *text;                      /* owned */
    struct doc_table *table;         /* owned */
    const struct findings *findings; /* borrowed, or `own` */
    struct findings *own;            /* owned; NULL = borrowed */
    enum doc_which which;
};

struct doc {
    size_t n, capacity;
    struct doc_block *block;
    bool failed;
};

void doc_add(struct doc *doc, enum doc_block_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define doc_heading(doc, ...) doc_add((doc), DOC_HEADING, __VA_ARGS__)
#define doc_text(doc, ...) doc_add((doc), DOC_TEXT, __VA_ARGS__)
#define doc_note(doc, ...) doc_add((doc), DOC_NOTE, __VA_ARGS__)
#define doc_fold(doc, ...) doc_add((doc), DOC_FOLD, __VA_ARGS__)
#define doc_open(doc, ...) doc_add((doc), DOC_OPEN, __VA_ARGS__)
#define doc_unfold(doc) doc_add((doc), DOC_UNFOLD, "%s", "")
#define doc_gap(doc) doc_add((doc), DOC_GAP, "%s", "")

/* Adds nothing if `findings` has none of that kind. `findings` must live as long as the doc. */
void doc_findings(struct doc *doc, const struct findings *findings, enum doc_which which);

/* True for findings that are shown first: doubts about the whole result, the first other finding
 * about the whole, and any about the whole with a command. */
bool doc_leads(const struct findings *findings, size_t i);

/* Adds the verdict, and the command to type; "" or NULL: no command. */
void doc_verdict(struct doc *doc, enum finding_severity severity, const char *command,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

struct doc_table *doc_table(struct doc *doc);
void doc_column(struct doc_table *table, enum doc_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds several columns of one kind; the list of names ends with NULL. */
void doc_columns(struct doc_table *table, enum doc_kind kind, ...) __attribute__((sentinel));
void doc_row(struct doc_table *table, enum doc_tone tone);

/* Sets the next cell of the last row; the functions below format numbers. */
void doc_cell(struct doc_table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_si(struct doc_table *table, double value);        /* "1.23 M" */
void doc_seconds(struct doc_table *table, double seconds); /* "2.13 ms" */
void doc_share(struct doc_table *table, double share);     /* "84%" */
/* Sets the tone of the cell that was added last. */
void doc_tone(struct doc_table *table, enum doc_tone tone);
/* Sets any cell; adds missing rows. */
void doc_put(struct doc_table *table, size_t row, size_t column, const char *text);

void doc_free(struct doc *doc);

/* doc_terminal.c: 80 columns. `all`: with details, folded blocks and all findings. Otherwise only
 * two of the doubts that do not lead, and no notes that merely explain a number. */
void doc_print(const struct doc *doc, FILE *out, bool color, bool all);
/* Prints all findings after an empty line, without a doc. */
void doc_print_findings(const struct findings *findings, FILE *out, bool color);
/* doc_markdown.c: GitHub's Markdown. GitHub accepts comments of 65,536 characters, so a long table
 * is cut, and a line says how many rows are missing. */
void doc_print_markdown(const struct doc *doc, FILE *out);
/* doc_html.c: the content of a section of a page. */
void doc_print_html(const struct doc *doc, FILE *out);

#endif
