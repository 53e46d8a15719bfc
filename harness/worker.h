/* The child's side of an observation: one benchmark in one bound process. */
#ifndef CONTEND_WORKER_H
#define CONTEND_WORKER_H

#include "harness/core/bench.h"

/*
 * Main of a process that launch_worker started. Returns its exit code: 0 unless the arena itself
 * cannot be used; everything else is reported through the arena.
 */
int worker_main(const struct bench *const *benches, int argc, char **argv);

#endif
