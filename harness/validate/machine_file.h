/*
 * A file for a kind of machine: what the machine has and how fast it should be, each with a source.
 *
 *   {"schema": "contend-machine", "schema_version": 1, "about": "H100 SXM5, 80 GB", "gpus": true,
 *    "expect": "nvswitches=4",
 *    "facts": [
 *      {"fact": "gpu_name", "has": "H100 80GB HBM3", "source": "nvidia-smi"},
 *      {"fact": "nvlinks", "least": 18, "gpus": 2, "source": "data sheet"},
 *      {"measured": "gpu_copy", "metric": "copy_bandwidth", "key": "dir=h2d;with=alone",
 *       "least": 50, "unit": "GB/s", "source": "results/h100-vm"}]}
 *
 * A fact has a text (has) or a number (least, most or both). "gpus" of a fact: it applies to
 * machines with at least that many GPUs. "gpus" of the file: true if the machine's name gives the
 * number of GPUs, as in 8xh100-sxm; otherwise `expect` gives it.
 */
#ifndef CONTEND_VALIDATE_MACHINE_FILE_H
#define CONTEND_VALIDATE_MACHINE_FILE_H

#include "harness/lib/err.h"
#include "harness/validate/rules/machine.h"

enum { MACHINE_SCHEMA_VERSION = 1 };

/* Splits "8xh100-sxm" into 8 and "h100-sxm"; without such a number, 0 and `name` itself. */
unsigned machine_name_split(const char *name, const char **file);

/*
 * Reads the file for a machine with `gpus` GPUs; the caller sets kind->name. -EINVAL says what is
 * wrong, by file and line: no such fact or measurement, neither text nor number, no source, or a
 * number of GPUs that is missing or not allowed. Also -ENOMEM, and errors of reading.
 */
int machine_file_read(const char *path, unsigned gpus, struct machine_kind *kind, struct err *err);

#endif
