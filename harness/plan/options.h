/*
 * Options that shape every plan, for each command that plans: put a struct plan_options into the
 * command's own struct, PLAN_OPTIONS(struct its_name, member) into its table, and call
 * plan_options_apply on the request. workers and placement stay the command's business.
 */
#ifndef CONTEND_PLAN_OPTIONS_H
#define CONTEND_PLAN_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/opt.h"
#include "harness/plan/plan.h"

struct plan_options {
    int64_t reserve;  /* cores */
    const char *cpus; /* list, NULL = all allowed */
    int64_t threads;  /* 0 = the placement decides */
    int mem;          /* index in plan_mem_choices */
};

/* "auto" (what the placement says), then the names of enum mem_policy. */
extern const char *const plan_mem_choices[];

/* name, kind, offset, def, min, max, choices, arg, help, letter: as struct opt has them. */
/* clang-format off */
#define PLAN_OPTIONS(type, member)                                                                 \
    {"reserve", OPT_INT, offsetof(type, member.reserve), "0", 0, BITSET_BITS, NULL, "K",           \
     "keep the first K allowed cores free for the system", 0},                                     \
    {"cpus", OPT_TEXT, offsetof(type, member.cpus), NULL, 0, 0, NULL, "LIST",                      \
     "plan only on these CPUs, such as 0-3,8", 0},                                                 \
    {"threads", OPT_INT, offsetof(type, member.threads), NULL, 1, 4096, NULL, "T",                 \
     "threads of each worker, instead of what the placement gives", 0},                            \
    {"mem", OPT_CHOICE, offsetof(type, member.mem), "auto", 0, 0, plan_mem_choices, "POLICY",      \
     "memory policy of each worker; auto is the placement's own", 0}
/* clang-format on */

/* Fills the request's reserve, cpus, threads and memory policy. -EINVAL: a malformed list. */
int plan_options_apply(const struct plan_options *options, struct plan_request *request,
                       struct err *err);

/*
 * What differs from the defaults, as on a command line: " --reserve 4 --mem bind", "" for nothing.
 * CPUs are those that plan_options_apply accepted, written anew. Returns buf.
 */
char *plan_options_format(const struct plan_options *options, char *buf, size_t size);

#endif
