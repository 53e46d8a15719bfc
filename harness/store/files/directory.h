/*
 * The directory of a result: one run in it at a time, and a new result takes the place of an
 * earlier one in one step.
 *
 *   rc = directory_open(&dir, &request, &err);
 *   ... write samples.csv, rounds.csv, rows.csv and DIRECTORY_RECORD into dir.work_fd ...
 *   rc = directory_publish(&dir, &err);        as often as there is something new
 *   directory_close(&dir);
 *
 * dir.work_fd is DIR/.contend-run, which is there while a run is, and holds its lock. Of what was
 * not published nothing stays. Where a run is killed while it publishes, the next directory_open or
 * directory_recover ends that. What no run of ours has written is never touched.
 */
#ifndef CONTEND_STORE_FILES_DIRECTORY_H
#define CONTEND_STORE_FILES_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "harness/lib/base/err.h"

/* The name under which run.json is written: under its own it counts. */
#define DIRECTORY_RECORD "run.json.new"

/* The summary printed at the end of the run. */
#define DIRECTORY_SUMMARY "summary.txt"

/* Takes away the figures of an earlier run, and nothing else. */
typedef void directory_remove(int dir_fd);

struct directory_request {
    const char *path;
    bool unique;         /* a directory that was not there before, by a number behind the name */
    const char *command; /* what another run is told that wants the directory too */
    directory_remove *remove_figures; /* NULL = there are none */
};

/* Zeroed = closed. */
struct directory {
    char path[4096];
    bool is_open;
    bool is_new;        /* we made the directory */
    bool holds_earlier; /* the result of an earlier run is there still */
    int fd, work_fd, lock_fd;
    directory_remove *remove_figures;
};

/*
 * Makes the directory with its parents, where it is not there. Errors name the path: -EBUSY another
 * run has it, -EEXIST it holds files of these names that are not ours. Close it also after an
 * error.
 */
int directory_open(struct directory *dir, const struct directory_request *request, struct err *err);

/* Whether it could be opened, now: the same errors, and nothing is left there. */
int directory_check(const char *path, struct err *err);

/*
 * What is in work_fd takes its place in the directory. With a samples.csv among it that is another
 * result than the one there, which goes, with its figures.
 */
int directory_publish(struct directory *dir, struct err *err);

enum { DIRECTORY_PATH_MAX = 4096 + 64 };

/*
 * Makes the directory for what a user's command prints, and names it: while an earlier result is
 * there it is in work_fd, and is published with what else is; ask again from then on. Returns buf,
 * NULL with err.
 */
char *directory_outputs(const struct directory *dir, char *buf, size_t size, struct err *err);

/* Puts it beside what was published. */
int directory_add_summary(struct directory *dir, const char *text, size_t size, struct err *err);

/* A directory that we made is removed again where nothing is in it. */
void directory_close(struct directory *dir);

/* For readers of a result: ends what a run was killed in. Does nothing while a run has it. */
void directory_recover(int dir_fd, directory_remove *remove_figures);

/* "results/HOST/20260131T120000Z-NAME", of who named no other. Returns the length that it needs. */
int directory_default(const char *host, const char *name, time_t at, char *path, size_t size);

/* Makes what is not there of the path in front of its last name. -errno, which the path names. */
int directory_make_parents(const char *path, struct err *err);

#endif
