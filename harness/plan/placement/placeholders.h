/*
 * {worker}, {gpu}, {workers}, {threads}, {cpus} and {node} in a user's command, as each worker gets
 * them.
 *
 * A name is letters and underscores between braces. Other text in braces stays: {},
 * {0}, JSON, and ${NAME}, which is a shell's. {{NAME}} stands for {NAME} itself.
 */
#ifndef CONTEND_PLAN_PLACEMENT_PLACEHOLDERS_H
#define CONTEND_PLAN_PLACEMENT_PLACEHOLDERS_H

#include <stdbool.h>

#include "harness/plan/placement/plan.h"

enum placeholder {
    PLACEHOLDER_WORKER,  /* its number, from 0 */
    PLACEHOLDER_GPU,     /* what its program calls its GPU where it sees all of them */
    PLACEHOLDER_WORKERS, /* how many there are */
    PLACEHOLDER_THREADS, /* of its team, for programs that read no variable of OpenMP's */
    PLACEHOLDER_CPUS,    /* "0-3,8" */
    PLACEHOLDER_NODE,    /* "0", or the list of nodes that its CPUs are on */
    PLACEHOLDERS
};

/* "worker", ... Indexed by enum placeholder. */
extern const char *const placeholder_names[PLACEHOLDERS];

/* The values of one worker; "" = it has none, and a command that asks for it is refused. */
struct placeholder_values {
    char number[24], gpu[64], workers[24], threads[24], cpus[BITSET_LIST_MAX],
        node[BITSET_LIST_MAX];
};

/*
 * Those of worker `w` of a plan that is not skipped. `gpu` is its number under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID, see topo_gpu_bus_number; a caller with another order writes
 * another one.
 */
void placeholders_of(const struct topo *topo, const struct plan *plan, unsigned w,
                     struct placeholder_values *values);

/* The text with each name replaced; the caller frees it. NULL: an unknown name, a value that this
 * worker lacks (-EINVAL in err), or no memory (-ENOMEM). */
char *placeholders_expand(const char *text, const struct placeholder_values *values,
                          struct err *err);

/* True where the text asks for it. */
bool placeholders_use(const char *text, enum placeholder placeholder);

#endif
