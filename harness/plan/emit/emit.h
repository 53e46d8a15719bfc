/*
 * Writes a plan as text for the program that starts the workers: a shell, systemd, Slurm, ...
 *
 * Pure: takes a plan and a command, returns text. Each word of the command reaches its program
 * unchanged: each language has its own quoting (plan/emit/quote.h). The text refuses to run instead
 * of giving a worker a CPU that it is not allowed. docs/placements.md describes each format.
 */
#ifndef CONTEND_PLAN_EMIT_EMIT_H
#define CONTEND_PLAN_EMIT_EMIT_H

#include <stdbool.h>

#include "harness/lib/finding.h"
#include "harness/plan/plan.h"

enum emit_format {
    EMIT_COMMANDS, /* lines to paste into a shell: "  ... &" for each worker, and "  wait" */
    EMIT_SH,
    EMIT_NUMACTL,
    EMIT_SYSTEMD,
    EMIT_DOCKER,
    EMIT_SLURM,
    EMIT_K8S,
    EMIT_TORCHRUN,
    EMIT_MPIRUN,
    EMIT_ENV,
    EMIT_WSL_BAT,
    EMIT_FORMATS
};

/* Names of the formats, "commands" first, NULL-terminated. */
extern const char *const emit_names[EMIT_FORMATS + 1];

struct emit_job {
    const struct topo *topo;
    const struct plan *plan;  /* not skipped, and of one host */
    const char *const *words; /* the user's command, NULL-terminated; NULL = ./your_command */
    bool renumbered; /* CUDA_VISIBLE_DEVICES is set here: only UUIDs identify a GPU elsewhere */
    const struct findings *findings; /* about the plan, as comments in the text; NULL = none */
    char *(*get)(const char *name);  /* getenv where `commands` are pasted; NULL = no variable
                                        of plan/emit/quote.h is set there */
    bool memory_refused;             /* memory cannot be bound there: `commands` do not try */
};

/* True when some core has no CPU of the plan: a kubelet needs such a core for the system. */
bool emit_leaves_core(const struct topo *topo, const struct plan *plan);

/*
 * Returns the whole text; the caller frees it. NULL: a placeholder is unknown or has no value, or
 * the format cannot express the job (-EINVAL in err), or no memory (-ENOMEM).
 */
char *emit_text(enum emit_format format, const struct emit_job *job, struct err *err);

#endif
