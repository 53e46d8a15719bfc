/* A job with all values that its text needs, computed once. Shared by the files of emit/. */
#ifndef CONTEND_PLAN_EMIT_PARTS_H
#define CONTEND_PLAN_EMIT_PARTS_H

#include "harness/lib/text.h"
#include "harness/plan/emit/emit.h"
#include "harness/plan/emit/quote.h"
#include "harness/plan/placeholders.h"

struct emit_variable {
    char name[24], value[64];
};

struct emit_worker {
    const struct plan_worker *plan;
    const char *cpus;  /* "" = all CPUs of the machine */
    const char *nodes; /* of its memory policy; "" = no policy */
    char gpu[64];      /* number in PCI bus order, or UUID; "" = no GPU */
    struct emit_variable variable[4 + INHERITED_TEAMS];
    unsigned nvariables;
    bool numbers_gpu; /* its command has {gpu}: it sees all GPUs and selects its own by number */
    int port;
    char **words; /* its command, placeholders replaced; NULL-terminated, owned */
};

struct emit {
    const struct emit_job *job;
    struct emit_worker *worker; /* as many as the plan has */
    unsigned nworkers;
    bool gpus;        /* some worker has a GPU */
    bool own_gpus;    /* each worker has a GPU of its own */
    bool numbers_gpu; /* that of some worker does */
    bool pinned;      /* by the placement; otherwise threads move within the CPUs of the plan */
    bool binds_cpus, binds_memory; /* some worker has a list of CPUs, or of nodes */
};

/* Appends "--membind=0-1", or numactl's option for another policy; nothing for the default. */
void emit_numactl_option(struct strbuf *out, const struct emit_worker *worker);

/* Appends the words of the command, each quoted and preceded by a blank. */
void emit_words(struct strbuf *out, const struct emit_worker *worker,
                void (*quote)(struct strbuf *out, const char *word));

/* True if some worker prefers or interleaves nodes. A cpuset cannot: it only forbids nodes. */
bool emit_has_soft_memory(const struct emit *emit);

/* Appends the findings of the job as lines that begin with `comment`, such as "# ". Control
 * characters, and characters that may have a meaning even in a comment, become blanks. */
void emit_findings(struct strbuf *out, const struct emit *emit, const char *comment,
                   const char *newline);

/* Appends a shell comment such as "# worker 0: CPUs 0-3, 4 threads". */
void emit_title(struct strbuf *out, const struct emit *emit, unsigned w);

/* Each appends the text in one format. -EINVAL: the format cannot express this plan or command. */
typedef int emit_fn(const struct emit *emit, struct strbuf *out, struct err *err);
#define EMIT_DECLARE(id, name, ...) emit_fn emit_##name;
EMIT_LIST(EMIT_DECLARE)
#undef EMIT_DECLARE

#endif
