/*
 * A plan as text that applies it, for whoever starts the workers: a shell, systemd, Slurm, ...
 *
 * Pure: a plan and a command in, text out. A word of the command reaches its program as it is,
 * whatever is in it: each language has its own quoting (plan/emit/quote.h). No text gives a worker
 * a CPU that whoever runs it does not have: it refuses instead. docs/placements.md has each format.
 */
#ifndef CONTEND_PLAN_EMIT_EMIT_H
#define CONTEND_PLAN_EMIT_EMIT_H

#include <stdbool.h>

#include "harness/contract/finding.h"
#include "harness/plan/placement/plan.h"

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

/* Their names, "commands" first; NULL behind the last. */
extern const char *const emit_names[EMIT_FORMATS + 1];

struct emit_job {
    const struct topo *topo;
    const struct plan *plan;  /* not skipped, and of one host */
    const char *const *words; /* the user's command, NULL-terminated; NULL = ./your_command */
    bool renumbered; /* CUDA_VISIBLE_DEVICES is set here: only UUIDs name a GPU elsewhere */
    const struct findings *findings; /* about the plan, as comments in the text; NULL = none */
    char *(*get)(const char *name);  /* the environment that `commands` are pasted into; NULL =
                                        none of plan/emit/inherited.h is set there */
    bool memory_refused;             /* there memory cannot be bound, and `commands` do not try */
};

/* True when some core has no CPU of the plan: a kubelet needs one that it keeps for the system. */
bool emit_leaves_core(const struct topo *topo, const struct plan *plan);

/*
 * The whole text, which the caller frees. NULL: a placeholder that is unknown or has no value, or
 * something that this format cannot express (-EINVAL in err), or no memory (-ENOMEM).
 */
char *emit_text(enum emit_format format, const struct emit_job *job, struct err *err);

#endif
