/* A job with all that its text is made of worked out: what the files of emit/ share. */
#ifndef CONTEND_PLAN_EMIT_PARTS_H
#define CONTEND_PLAN_EMIT_PARTS_H

#include "harness/lib/base/strbuf.h"
#include "harness/plan/emit/emit.h"
#include "harness/plan/emit/inherited.h"
#include "harness/plan/placement/placeholders.h"

struct emit_variable {
    char name[24], value[64];
};

struct emit_worker {
    const struct plan_worker *plan;
    char cpus[BITSET_LIST_MAX];  /* "" = all of the machine */
    char nodes[BITSET_LIST_MAX]; /* of its memory policy; "" = it has none */
    char gpu[64];                /* number in the order of the bus, or UUID; "" = no GPU */
    struct emit_variable variable[4 + INHERITED_TEAMS];
    unsigned nvariables;
    char **words; /* its command, placeholders replaced; NULL-terminated, owned */
};

struct emit {
    const struct emit_job *job;
    struct emit_worker *worker; /* as many as the plan has */
    unsigned nworkers;
    bool gpus;        /* some worker has one */
    bool own_gpus;    /* each worker has one that no other has */
    bool numbers_gpu; /* the command has {gpu}: it sees all GPUs, and takes its own by number */
    bool pinned;      /* by its placement; otherwise threads move within the CPUs of the plan */
    bool binds_cpus, binds_memory; /* some worker has a list of them */
};

/* " --membind=0-1", or what its policy is in numactl; "" for none. */
void emit_numactl_option(struct strbuf *out, const struct emit_worker *worker);

/* The command, each word behind a blank and quoted. */
void emit_words(struct strbuf *out, const struct emit_worker *worker,
                void (*quote)(struct strbuf *out, const char *word));

/* Some worker prefers or interleaves nodes, where a cpuset could only forbid the others. */
bool emit_has_soft_memory(const struct emit *emit);

/* The findings of the job, each behind `comment`, such as "# "; control characters and what else a
 * comment might not hide become blanks. */
void emit_findings(struct strbuf *out, const struct emit *emit, const char *comment,
                   const char *newline);

/* "# worker 0: CPUs 0-3, 4 threads", as a comment of shells. */
void emit_title(struct strbuf *out, const struct emit *emit, unsigned w);

/* One format each. -EINVAL: this plan or command cannot be said in it. */
typedef int emit_fn(const struct emit *emit, struct strbuf *out, struct err *err);
emit_fn emit_commands, emit_sh, emit_numactl, emit_env, emit_systemd, emit_docker, emit_k8s,
    emit_slurm, emit_torchrun, emit_mpirun, emit_wsl_bat;

#endif
