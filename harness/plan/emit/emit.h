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

/*
 * The formats, a line each: X(ID, name, text, ranks, chosen). The function emit_NAME writes it.
 * `ranks`: it starts equal tasks, so no background workers. `chosen`: the program that starts the
 * workers chooses their CPUs. Lines of EMIT_COMMANDS are pasted into a shell.
 */
/* clang-format off */
#define EMIT_LIST(X)                                \
    X(COMMANDS, commands, "commands", false, false) \
    X(SH, sh, "sh", false, false)                   \
    X(NUMACTL, numactl, "numactl", false, false)    \
    X(SYSTEMD, systemd, "systemd", false, false)    \
    X(DOCKER, docker, "docker", false, false)       \
    X(SLURM, slurm, "slurm", true, false)           \
    X(K8S, k8s, "k8s", true, true)                  \
    X(TORCHRUN, torchrun, "torchrun", true, false)  \
    X(MPIRUN, mpirun, "mpirun", true, false)        \
    X(ENV, env, "env", false, false)                \
    X(WSL_BAT, wsl_bat, "wsl-bat", false, false)
/* clang-format on */

#define EMIT_ID(id, ...) EMIT_##id,
enum emit_format { EMIT_LIST(EMIT_ID) EMIT_FORMATS };
#undef EMIT_ID

/* Names of the formats, "commands" first, NULL-terminated. */
extern const char *const emit_names[EMIT_FORMATS + 1];

/* Of a worker of unlike jobs: its command, its number in its job, and how many that has. */
struct emit_own {
    const char *const *words;
    unsigned worker, workers;
};

struct emit_job {
    const struct topo *topo;
    const struct plan *plan;     /* not skipped, and of one host */
    const char *const *words;    /* the user's command, NULL-terminated; NULL = ./your_command */
    const struct emit_own *each; /* of each foreground worker; NULL = all do the same */
    bool renumbered; /* CUDA_VISIBLE_DEVICES is set here: only UUIDs identify a GPU elsewhere */
    const struct findings *findings; /* about the plan, as comments in the text; NULL = none */
    char *(*get)(const char *name);  /* getenv where `commands` are pasted; NULL = no variable
                                        of plan/emit/quote.h is set there */
    int (*free_port)(void);          /* for {port}, or -errno; NULL = there is none */
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
