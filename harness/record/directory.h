/*
 * The directory of a result: one run in it at a time, and a new result takes the place of an
 * earlier one in one step.
 *
 *   rc = directory_open(&dir, &request, &err);
 *   ... write samples.csv, rounds.csv, rows.csv and DIRECTORY_RECORD into dir.work_fd ...
 *   rc = directory_publish(&dir, &err);        as often as there is something new
 *   directory_close(&dir);
 *
 * dir.work_fd is DIR/.contend-run, which exists during a run and holds its lock. Files that were
 * not published are removed. If a run is killed while it publishes, the next directory_open or
 * directory_recover completes that. Files that contend did not write are never touched.
 */
#ifndef CONTEND_RECORD_DIRECTORY_H
#define CONTEND_RECORD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/lib/err.h"

/* run.json is written under this name. directory_publish renames it, which makes it count. */
#define DIRECTORY_RECORD "run.json.new"

/* The summary printed at the end of the run. */
#define DIRECTORY_SUMMARY "summary.txt"
/* What `contend predict` said before it measured it. */
#define DIRECTORY_PREDICTION "prediction.json"

/* Removes the figures of an earlier run, and nothing else. */
typedef void directory_remove(int dir_fd);

struct directory_request {
    const char *path;
    bool unique;         /* make a new directory, with a number after the name if that exists */
    const char *command; /* shown to another run that wants the same directory */
    directory_remove *remove_figures; /* NULL = there are none */
};

/* Zeroed = closed. */
struct directory {
    char path[4096];
    bool is_open;
    bool is_new;        /* directory_open made the directory */
    bool holds_earlier; /* the result of an earlier run is still there */
    int fd, work_fd, lock_fd;
    directory_remove *remove_figures;
};

/*
 * Makes the directory and its parents if they are missing, and locks it. Errors name the path:
 * -EBUSY another run has it, -EEXIST it holds files of these names that contend did not write.
 * Close it also after an error.
 */
int directory_open(struct directory *dir, const struct directory_request *request, struct err *err);

/* Checks whether directory_open could make and use the path, and leaves nothing behind. The same
 * errors, except -EBUSY: the lock is not tried. */
int directory_check(const char *path, struct err *err);

/*
 * Moves the files in work_fd to the directory. If samples.csv is among them, they are a new result:
 * the earlier result and its figures are removed first.
 */
int directory_publish(struct directory *dir, struct err *err);

enum { DIRECTORY_PATH_MAX = 4096 + 64 };

/*
 * Makes the directory for the output of a user's command and writes its path to buf. While an
 * earlier result exists, that directory is in work_fd and the next publish moves it: call this
 * again afterwards. Returns buf, or NULL with err.
 */
char *directory_outputs(const struct directory *dir, char *buf, size_t size, struct err *err);

/* Writes a file beside the published files, as one of the names that belong to a result. */
int directory_add(struct directory *dir, const char *name, const char *text, size_t size,
                  struct err *err);

/* Removes unpublished files and the lock; also the directory, if this run made it and it is empty.
 */
void directory_close(struct directory *dir);

/* For readers of a result: completes or undoes what a killed run began. Does nothing while a run
 * holds the lock. */
void directory_recover(int dir_fd, directory_remove *remove_figures);

/*
 * For readers of a result beside a run at work, which replaces one file after the other: true if
 * the files that were opened since `since` are of one publish, the latest. Zero *since at first.
 */
bool directory_is_whole(int dir_fd, struct stat *since);

/* The default path "results/HOST/20260131T120000Z-NAME". Returns its length, as snprintf does. */
int directory_default(const char *host, const char *name, time_t at, char *path, size_t size);

/*
 * For a file that is written at the end of a measurement: makes the missing parents of its path,
 * and checks that it can be replaced there. Errors name the path.
 */
int directory_check_file(const char *path, struct err *err);

/* Makes the missing parents of the path. Returns 0, or -errno with the directory in the message. */
int directory_make_parents(const char *path, struct err *err);

/* Finds result directories below a directory, such as the results of a year of CI. */

/* The files that identify a result; a bit each. */
enum below_mark { BELOW_RUN = 1, BELOW_ROWS = 2, BELOW_VALIDATION = 4 };

/* The greatest depth below the named directory. */
enum { BELOW_DEPTH = 8 };

/* Returned by a callback: skip everything below this directory. */
enum { BELOW_SKIP_CHILDREN = 1 };

struct below_request {
    unsigned marks; /* the search is for directories that hold any of these files */
    unsigned depth; /* at most BELOW_DEPTH */
    /* Called with each such directory and the marks that it has. Returns 0, BELOW_SKIP_CHILDREN, or
     * an error, which ends the search. */
    int (*found)(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err);
    void *arg;
    bool skip_unreadable; /* skip directories that may not be read; false: they are an error */
};

/*
 * Searches the directory and those below it, in the order of names. A symbolic link is followed
 * only if it is `path` itself. plots/ and names that begin with a dot are skipped. Returns 0, the
 * error of `found`, or a negative errno with the directory in the message.
 */
int below_find(const char *path, const struct below_request *request, struct err *err);

#endif
