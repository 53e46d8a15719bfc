/* A result, or two as before and after, as one page of HTML: report.html. */
#ifndef CONTEND_CMD_COMMON_PAGE_H
#define CONTEND_CMD_COMMON_PAGE_H

#include "harness/show/html/html.h"
#include "harness/store/read/recorded.h"
#include "harness/verdict/odd/collection.h"

#define PAGE_NAME "report.html"

struct page_side {
    const char *path; /* as the user named it */
    int dir_fd;       /* of the result: its figures are read from there */
    struct recorded *recorded;
};

/*
 * Writes the page of one side, or of two, as `name` below `at_fd`, which may be AT_FDCWD. One that
 * an earlier contend wrote is replaced. Errors name the path: -EEXIST something is there that
 * contend did not write, -ENOMEM, and what reading and writing give.
 */
int page_write(const struct page_side *sides, size_t nsides, int at_fd, const char *name,
               struct err *err);

/* The figures that were drawn of a directory; NULL: no memory. Free with page_free_figures. */
struct page_figures;
struct page_figures *page_read_figures(int dir_fd);
const struct html_figure *page_list_figures(const struct page_figures *figures, size_t *n);
void page_free_figures(struct page_figures *figures);

/* Writes what `print` makes of `page`. The same errors. */
int page_put(int (*print)(const void *page, FILE *out, struct err *err), const void *page,
             int at_fd, const char *name, struct err *err);

/* A document as a page. The same errors. */
int page_put_document(const char *title, const struct doc *doc, int at_fd, const char *name,
                      struct err *err);

/* The same of any file, which is replaced as a whole whoever wrote it. */
int page_replace(int (*print)(const void *page, FILE *out, struct err *err), const void *page,
                 int at_fd, const char *name, struct err *err);

/*
 * That of several scenarios. Its links are relative: those of one below another directory than
 * theirs lead nowhere, and has_page is to be false. The same errors.
 */
int page_write_collection(const struct collection *collection, int at_fd, const char *name,
                          struct err *err);

/* At the end of a run: its own page into its directory; what is in the way of that is told. */
void page_write_own(const char *path, int dir_fd, struct recorded *recorded);

/* Takes away all that was drawn of a result, but no file of the user's: a directory_remove. */
void page_remove_drawn(int dir_fd);

#endif
