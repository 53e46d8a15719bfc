/*
 * A kind of machine as a file: what it has and how fast it is to be, each with its source.
 *
 *   {"schema": "contend-machine", "schema_version": 1, "about": "H100 SXM5, 80 GB", "gpus": true,
 *    "expect": "nvswitches=4",
 *    "facts": [
 *      {"fact": "gpu_name", "has": "H100 80GB HBM3", "source": "nvidia-smi"},
 *      {"fact": "nvlinks", "least": 18, "gpus": 2, "source": "data sheet"},
 *      {"measured": "gpu_copy", "metric": "copy_bandwidth", "key": "dir=h2d;with=alone",
 *       "least": 50, "unit": "GB/s", "source": "results/h100-vm"}]}
 *
 * A fact has a text (has) or a number (least, most: one of them or both); "gpus" of a fact: on
 * machines of so many GPUs or more. "gpus" of the file: its GPUs are counted by the name, as in
 * 8xh100-sxm; else `expect` says how many there are.
 */
#ifndef CONTEND_VALIDATE_FILES_MACHINE_FILE_H
#define CONTEND_VALIDATE_FILES_MACHINE_FILE_H

#include "harness/lib/base/err.h"
#include "harness/validate/rules/machine.h"

enum { MACHINE_SCHEMA_VERSION = 1 };

/* "8xh100-sxm" is 8 and "h100-sxm", and what has no such number 0 and itself. */
unsigned machine_name_split(const char *name, const char **file);

/*
 * Reads the file for so many GPUs; kind->name is the caller's. -EINVAL says what is wrong, by file
 * and line: no such fact or measurement, neither text nor number, no source, a count of GPUs that
 * is lacking or has no place; -ENOMEM, or why it cannot be read.
 */
int machine_file_read(const char *path, unsigned gpus, struct machine_kind *kind, struct err *err);

#endif
