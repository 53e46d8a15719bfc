/*
 * Variants: changes between arms that are otherwise the same. Pure.
 *
 * A variant of `contend ab` comes from one or more texts such as
 * "patient=env:OMP_WAIT_POLICY=passive" with the same name; a name alone changes nothing. The first
 * variant is the base of all comparisons. A search makes variants of its own, which set `plan`.
 */
#ifndef CONTEND_ENGINE_VARIANT_H
#define CONTEND_ENGINE_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/plan/options.h"

enum {
    VARIANTS_MAX = 8,
    VARIANT_NAME_MAX = 32,
    VARIANT_READ_BACK_MAX = 200,
    VARIANT_THREADS_MAX = 4096
};

struct variant {
    /*
     * Letters, digits, '_', '-', '+' and '.'; a user's name is shorter than VARIANT_NAME_MAX. That
     * of a search says what `plan`, `fewer` and `is_fresh` are, and is for files and people only.
     */
    char name[VARIANT_NAME_MAX + 16];
    /* Of an ab only threads, also from OMP_NUM_THREADS; of a search all options of its plans. */
    struct plan_options plan;
    unsigned fewer;             /* of plan.reserve: cores that only the fresh rounds keep free */
    bool is_fresh;              /* measured again to confirm it (verdict/runs/tune.h) */
    struct opt_texts env;       /* "VAR=VALUE" for its workers, before the plan's; "VAR" = unset */
    char library[512];          /* one of env, from lib:nccl=PATH; "" = none */
    struct opt_texts params;    /* "K=V" */
    const char *placement;      /* NULL = as the other variants */
    double cpu_max;             /* quota of each worker, in CPUs; 0 = as the others */
    const char *before, *after; /* for /bin/sh -c, around each observation; or NULL */
    const char *check;          /* the same: prints the state that they change; or NULL */
    const char *build;          /* path of another program; NULL = this one */
    unsigned given;             /* kinds of change, as bits */
    char **argv;                /* words of a command, borrowed; NULL = the same for all, or none */
};

/*
 * The variants that are compared, and the least change that counts. Zeroed = none. Borrows the
 * texts.
 */
struct variants {
    size_t n;
    struct variant all[VARIANTS_MAX];
    double threshold; /* a smaller change than this share is SAME */
    double clock_s;   /* cost of a clock reading: a smaller change of a time is SAME */
    /* First line of `check`: at first, after `before`, and at the end. "" = none. */
    struct variant_state {
        char initial[VARIANT_READ_BACK_MAX], during[VARIANT_READ_BACK_MAX],
            final[VARIANT_READ_BACK_MAX];
    } state[VARIANTS_MAX];
};

/* -EINVAL: one message that names the text, or that a second variant is needed. */
int variants_parse(const struct opt_texts *texts, struct variants *variants, struct err *err);

/*
 * Refuses a library that is no readable file: most benchmarks load none, and would never report a
 * wrong path. A name without '/' is left to the loader, which searches its directories.
 */
int variants_check_libraries(const struct variants *variants, struct err *err);

bool variants_any_build(const struct variants *variants);

/*
 * Names a variant of a search: "fresh.partition+4t+r2+passive+3w-4" is measured again, has teams of
 * 4 threads, keeps 2 cores free and 4 more, its threads wait asleep, and there are 3 workers (0:
 * not part of the name). The reverse, for names in files; it also reads "cores-4".
 */
void variant_put_name(struct variant *variant, enum placement placement, unsigned workers);
void variant_take_name(struct variant *variant, enum placement placement, const char *name);
/* The name without "fresh.". */
const char *variant_setting(const struct variant *variant);

#endif
