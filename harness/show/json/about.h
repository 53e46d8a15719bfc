/*
 * What run.json says besides the measurements: the command, the machine and its parts, for a page
 * that shows a result. Members that an edited or an earlier record lacks are empty.
 */
#ifndef CONTEND_SHOW_JSON_ABOUT_H
#define CONTEND_SHOW_JSON_ABOUT_H

#include "harness/lib/bitset.h"
#include "harness/show/json/recorded.h"

/* Parts of the machine that hold CPUs, by os_cpu; n = 0: the record does not say which. */
struct about_sets {
    size_t n;
    struct bitset *set;
};

enum about_level { ABOUT_PACKAGES, ABOUT_NODES, ABOUT_LLCS, ABOUT_CORES, ABOUT_LEVELS };

/* A line of a table; text is never empty. */
struct about_fact {
    const char *label;
    char text[320];
};

/* All texts and arrays live as long as the struct recorded that they were read from. */
struct about {
    const char *status, *started, *ended, *host; /* "" = not said */
    size_t nwords, nnotes, nfacts;
    const char **words; /* of the command line */
    const char **notes; /* sentences that a reader should know */
    struct about_fact *facts;
    struct bitset cpus, allowed;
    struct about_sets levels[ABOUT_LEVELS];
};

/* -ENOMEM only. */
int about_read(struct recorded *recorded, struct about *about, struct err *err);

#endif
