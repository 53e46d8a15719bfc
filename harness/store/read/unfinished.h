/* run.json of a run that was ended, and what it needs to go on: no table is read. */
#ifndef CONTEND_STORE_READ_UNFINISHED_H
#define CONTEND_STORE_READ_UNFINISHED_H

#include "harness/contract/finding.h"
#include "harness/store/files/run_json.h"

/* Zeroed = none. */
struct unfinished {
    json_t *record, *command; /* owned: what the texts below borrow from */
    char **words;             /* owned: the command line, with the program's name; ends with NULL */
    int nwords;
    const char *scenario;
    unsigned rounds_done, rounds_planned;
    off_t samples_bytes;
    bool is_complete; /* nothing is left to be measured, and it has ended */
    bool failed;      /* so it says of itself */
    time_t started;
    double gap_s;    /* since the record was written */
    json_t *resumed; /* owned, as in run.json: NULL = never */
};

/* -EINVAL: it is damaged, or of another version. Free also after an error. */
int unfinished_read(int dir_fd, struct unfinished *run, struct err *err);
void unfinished_free(struct unfinished *run);

/* -EINVAL where machine, software or options are others now, and which of them. */
int unfinished_check(const struct unfinished *run, const struct run_record *now, struct err *err);

/* It goes on now, in front of a round of this number. -ENOMEM only. */
int unfinished_resume(struct unfinished *run, unsigned round, struct err *err);

/* Each time that it went on, with how long nothing was measured. */
void unfinished_find(const struct unfinished *run, struct findings *findings);

#endif
