/*
 * The directory of a result: one run in it at a time, and a new result takes the place of an
 * earlier one in one step.
 *
 *   rc = out_dir_open(&dir, &request, &err);
 *   ... write samples.csv, rows.csv and OUT_DIR_RECORD into dir.work_fd ...
 *   rc = out_dir_publish(&dir, &err);          as often as there is something new
 *   out_dir_close(&dir);
 *
 * dir.work_fd is DIR/.contend-run, which is there while a run is, and holds its lock. Of what was
 * not published nothing stays. Where a run is killed while it publishes, the next out_dir_open or
 * out_dir_recover ends that. What no run of ours has written is never touched.
 */
#ifndef CONTEND_STORE_DIRECTORY_H
#define CONTEND_STORE_DIRECTORY_H

#include <stdbool.h>

#include "harness/base/err.h"

/* The name under which run.json is written: under its own it counts. */
#define OUT_DIR_RECORD "run.json.new"

/* Takes away the figures of an earlier run, and nothing else. */
typedef void out_dir_remove(int dir_fd);

struct out_dir_request {
    const char *path;
    bool unique;         /* a directory that was not there before, by a number behind the name */
    const char *command; /* what another run is told that wants the directory too */
    out_dir_remove *remove_figures; /* NULL = there are none */
};

/* Zeroed = closed. */
struct out_dir {
    char path[4096];
    bool is_open;
    bool is_new;        /* we made the directory */
    bool holds_earlier; /* the result of an earlier run is there still */
    int fd, work_fd, lock_fd;
    out_dir_remove *remove_figures;
};

/*
 * Makes the directory with its parents, where it is not there. Errors name the path: -EBUSY another
 * run has it, -EEXIST it holds files of these names that are not ours. Close it also after an
 * error.
 */
int out_dir_open(struct out_dir *dir, const struct out_dir_request *request, struct err *err);

/*
 * What is in work_fd takes its place in the directory. With a samples.csv among it that is another
 * result than the one there, which goes, with its figures.
 */
int out_dir_publish(struct out_dir *dir, struct err *err);

/* A directory that we made is removed again where nothing is in it. */
void out_dir_close(struct out_dir *dir);

/* For readers of a result: ends what a run was killed in. Does nothing while a run has it. */
void out_dir_recover(int dir_fd, out_dir_remove *remove_figures);

#endif
