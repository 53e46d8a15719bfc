/*
 * Replaces {worker}, {gpu}, {workers}, {threads}, {cpus}, {node} and {port} in a user's command by
 * the values of each worker.
 *
 * A name is letters and underscores between braces. Other text in braces stays: {}, {0}, JSON, and
 * the shell's ${NAME}. {{NAME}} stands for {NAME} itself.
 */
#ifndef CONTEND_PLAN_PLACEHOLDERS_H
#define CONTEND_PLAN_PLACEHOLDERS_H

#include <stdbool.h>

#include "harness/plan/plan.h"

enum placeholder {
    PLACEHOLDER_WORKER,  /* its number, from 0 */
    PLACEHOLDER_GPU,     /* the number of its GPU, if its program sees all GPUs */
    PLACEHOLDER_WORKERS, /* number of foreground workers */
    PLACEHOLDER_THREADS, /* its team size, for programs that ignore OMP_NUM_THREADS */
    PLACEHOLDER_CPUS,    /* "0-3,8" */
    PLACEHOLDER_NODE,    /* "0": the nodes of its memory, else those of its CPUs */
    PLACEHOLDER_PORT,    /* a free TCP port */
    PLACEHOLDERS
};

/* "worker", ... Indexed by enum placeholder. */
extern const char *const placeholder_names[PLACEHOLDERS];

/* The values of one worker; "" = none, and a command that uses the placeholder is refused. */
struct placeholder_values {
    const char *number, *gpu, *workers, *threads, *cpus, *node, *port;
};

/*
 * Fills the values of worker `w`; the plan must not be skipped. `gpu` is the GPU's number under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID, see topo_gpu_bus_number. A caller that uses another order
 * overwrites `gpu`. There is no `port` yet: a caller that starts the worker sets it.
 */
void placeholders_of(const struct topo *topo, const struct plan *plan, unsigned w,
                     struct placeholder_values *values);

/* Returns the text with each name replaced; the caller frees it. NULL: an unknown name or a value
 * that this worker lacks (-EINVAL in err), or no memory (-ENOMEM). */
char *placeholders_expand(const char *text, const struct placeholder_values *values,
                          struct err *err);

/* True if the text contains the placeholder. */
bool placeholders_use(const char *text, enum placeholder placeholder);

#endif
