/* A result, or two as before and after, as one page of HTML: report.html. */
#ifndef CONTEND_CMD_PAGE_H
#define CONTEND_CMD_PAGE_H

#include "harness/comms/view.h"
#include "harness/judge/collection.h"
#include "harness/store/recorded.h"

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

/* The same of logs of NCCL calls, in the directory `path`, whose figures are read from `dir_fd`. */
int page_write_comms(const char *path, int dir_fd, const struct comms_view *view, int at_fd,
                     const char *name, struct err *err);

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
