/*
 * Options that shape every plan. A command that plans puts a struct plan_options into its own
 * struct and PLAN_OPTIONS(its_name, member) into its table, and calls plan_options_apply on the
 * request. The command itself sets workers and placement.
 */
#ifndef CONTEND_PLAN_OPTIONS_H
#define CONTEND_PLAN_OPTIONS_H

#include <stdint.h>

#include "harness/lib/opt.h"
#include "harness/plan/plan.h"

struct plan_options {
    int64_t reserve;    /* cores */
    const char *cpus;   /* list, NULL = all allowed */
    int64_t threads;    /* 0 = the placement decides */
    int mem;            /* index in plan_mem_choices */
    int64_t cores_each; /* 0 = whole slices */
    int wait;           /* index in plan_wait_choices */
};

/* "auto" (the placement's own), then the names of enum mem_policy. */
extern const char *const plan_mem_choices[];
/* "auto", "passive". */
extern const char *const plan_wait_choices[];

/* clang-format off */
#define PLAN_CPUS_OPTION(owner, member)                                                            \
    OPT_TEXT("cpus", owner, member.cpus, NULL, "LIST", "Plan only on these CPUs, such as 0-3,8",   \
             .group = "The plan")
#define PLAN_MEM_OPTION(owner, member)                                                             \
    OPT_CHOICE("mem", owner, member.mem, "auto", plan_mem_choices, "POLICY",                       \
               "Memory policy of each worker; auto is the placement's own", .level = OPT_RARE)
#define PLAN_OPTIONS(owner, member)                                                                \
    OPT_INT("threads", owner, member.threads, NULL, 1, 4096, "T",                                  \
            "Threads of each worker (default: the placement's)", .group = "The plan"),             \
    PLAN_CPUS_OPTION(owner, member),                                                               \
    OPT_INT("reserve", owner, member.reserve, "0", 0, BITSET_BITS, "K",                            \
            "Keep the first K allowed cores free for the system", .level = OPT_RARE),              \
    OPT_INT("cores-each", owner, member.cores_each, NULL, 1, BITSET_BITS, "K",                     \
            "Give each worker only the first K cores of its slice", .level = OPT_RARE),            \
    OPT_CHOICE("wait", owner, member.wait, "auto", plan_wait_choices, "POLICY",                    \
               "How the threads of each worker wait: auto as the placement says, passive asleep "  \
               "(OMP_WAIT_POLICY)",                                                                \
               .level = OPT_RARE),                                                                 \
    PLAN_MEM_OPTION(owner, member)
/* For commands that find the topology by a struct topo_options. */
#define PLAN_GPUS_OPTION(owner, field)                                                             \
    OPT_TEXT("gpus", owner, field, NULL, "BDF@NODE,..",                                            \
             "Add GPUs that are not here, as 0000:01:00.0@0 (PCI address, NUMA node)",             \
             .level = OPT_RARE)
/* clang-format on */

/* Writes the options into the request. -EINVAL: a malformed list of CPUs. */
int plan_options_apply(const struct plan_options *options, struct plan_request *request,
                       struct err *err);

/*
 * Writes the options that differ from their defaults, as on a command line:
 * " --reserve 4 --mem bind", "" for none. CPUs are those that plan_options_apply accepted, in the
 * format of bitset_format. Returns buf.
 */
enum { PLAN_OPTIONS_MAX = 300 };
char *plan_options_format(const struct plan_options *options, char *buf, size_t size);

#endif
