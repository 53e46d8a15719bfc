/*
 * Results of other benchmarks, recognized by their content:
 *
 *   SuperBench    results-summary.jsonl: an object a line, {"node": host, "BENCH/METRIC[:RANK]":
 *                 number}. It has no units, and the name says which direction is better.
 *   nccl-tests    -J FILE: "results", each of a size with "out_of_place" and "in_place"
 *   nvbandwidth   --json: "nvbandwidth"."testcases", each with a matrix
 *
 * Sources: microsoft/superbenchmark, superbench/runner/runner.py; NVIDIA/nccl-tests, src/util.cu;
 * NVIDIA/nvbandwidth, json_output.cpp. nccl-tests records its environment, with what is secret in
 * it: no text of these files is shown but the names of what was measured.
 */
#ifndef CONTEND_SHOW_JSON_FOREIGN_READ_H
#define CONTEND_SHOW_JSON_FOREIGN_READ_H

#include <jansson.h>

#include "harness/verdict/runs/foreign.h"

/* True for a file that is no fingerprint; a run of contend is a directory. */
bool foreign_is_at(const char *path);

/*
 * Appends the values of a file, which may hold several objects in turn, as runs of that side.
 * Errors name the file: -EINVAL: not JSON, of no known tool, or of another one than before.
 */
int foreign_read(const char *path, int side, struct foreign *foreign, struct err *err);

/* The same for one object. Pure. */
int foreign_add(const json_t *object, int side, struct foreign *foreign, struct err *err);

#endif
