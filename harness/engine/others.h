/*
 * Who else uses the CPUs during a run: the processes of others, by their CPU time from before the
 * first round until after the last. A process that ends before is not seen.
 */
#ifndef CONTEND_ENGINE_OTHERS_H
#define CONTEND_ENGINE_OTHERS_H

#include "harness/engine/result.h"

struct tree_use;

/* Zeroed = none. */
struct others {
    uint64_t at_ns;
    unsigned n;
    struct tree_use *before; /* owned */
};

/* Without memory no process is named. */
void others_begin(struct others *others);

/* Sets result->others: those that used the most since others_begin, RESULT_OTHERS_LEAST or more. */
void others_note(const struct others *others, struct result *result);

void others_end(struct others *others);

#endif
