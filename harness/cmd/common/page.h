/* The HTML page report.html: one result, or two as before and after. */
#ifndef CONTEND_CMD_COMMON_PAGE_H
#define CONTEND_CMD_COMMON_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/record/json_value.h"
#include "harness/show/html.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/verdict.h"

#define PAGE_NAME "report.html"

struct page_side {
    const char *path; /* as the user typed it */
    int dir_fd;       /* the result's directory, with its figures */
    struct recorded *recorded;
};

/*
 * Writes the page of one or two sides as `name` below `at_fd`, which may be AT_FDCWD. Replaces a
 * page that contend wrote earlier. Errors name the path: -EEXIST if contend did not write what is
 * there, -ENOMEM, or another -errno of reading and writing.
 */
int page_write(const struct page_side *sides, size_t nsides, int at_fd, const char *name,
               struct err *err);

/* The figures drawn in a result's directory; NULL: no memory. Free with page_free_figures. */
struct page_figures;
struct page_figures *page_read_figures(int dir_fd);
const struct html_figure *page_list_figures(const struct page_figures *figures, size_t *n);
void page_free_figures(struct page_figures *figures);

/* Writes a page with the output of `print`. Errors as of page_write. */
int page_put(int (*print)(const void *page, FILE *out, struct err *err), const void *page,
             int at_fd, const char *name, struct err *err);

/* Writes a document as a page. The same errors. */
int page_put_document(const char *title, const struct doc *doc, int at_fd, const char *name,
                      struct err *err);

/* -EEXIST, or another reason why a page cannot be written there: for checks before a measurement.
 */
int page_check(int at_fd, const char *name, struct err *err);

/* As page_put, but replaces any file, also one that contend did not write. */
int page_replace(int (*print)(const void *page, FILE *out, struct err *err), const void *page,
                 int at_fd, const char *name, struct err *err);

/*
 * Writes the page of several scenarios. Its links are relative. For a page outside the directory of
 * the results they would be dead, so set has_page to false there. Errors as of page_write.
 */
int page_write_collection(const struct collection *collection, int at_fd, const char *name,
                          struct err *err);

/* Writes the page of a run into the run's directory, at its end; an error is logged. */
void page_write_own(const char *path, int dir_fd, struct recorded *recorded);

/* Removes figures and page of a result, but no file of the user's: a directory_remove. */
void page_remove_drawn(int dir_fd);

/* The summary of a result: verdict, table and findings. */

/* Prints at 80 columns. `all`: with details. `path`: also prints this directory; or NULL. */
void summary_print(const struct recorded *recorded, const char *path, bool all, FILE *out,
                   bool color);

/* Writes it with details, without color, into *text, which the caller frees. Error: -ENOMEM. */
int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err);

/* The summary for --json; NULL: out of memory. */
json_t *summary_to_json(const struct recorded *recorded);

#endif
