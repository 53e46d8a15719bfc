/*
 * What a library of ours does inside somebody else's process: it says in one line why it is off,
 * and makes its log, a file of fixed size that is mapped, so that a process that is killed leaves
 * what it had. Nothing fails the caller; errno is not kept.
 */
#ifndef CONTEND_COMMS_INSIDE_H
#define CONTEND_COMMS_INSIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "harness/comms/record.h"

/* The library defines it: who says the line. */
extern const char inside_who[];

/* `code`: an errno to be told in words, or 0. One write, so that lines of processes do not mix. */
void inside_say_off(const char *why, const char *what, int code);

uint64_t inside_now_ns(clockid_t clock);

struct inside_file {
    char host[COMMS_HOST_MAX];
    char path[PATH_MAX], unfinished[PATH_MAX + 8];
    size_t size;
    void *bytes; /* zeroed, shared with the file; all its blocks are there */
};

/* Under an unfinished name in CONTEND_COMMS_DIR. False: it is said why not, and nothing is left. */
bool inside_file_create(struct inside_file *file, const char *suffix, size_t size);

/* Gives it its name: who lists the directory finds whole headers alone. False as above. */
bool inside_file_name(struct inside_file *file);

/* Instead: it is unmapped and taken away, after a line. */
void inside_file_drop(struct inside_file *file, int code);

#endif
