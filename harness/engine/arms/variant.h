/*
 * The variants of `contend ab`: what is changed between arms that are otherwise the same. Pure.
 *
 * Each comes from texts such as "patient=env:OMP_WAIT_POLICY=passive", one or more of a name; a
 * name alone changes nothing. The first name is the base, which the others are compared with.
 */
#ifndef CONTEND_ENGINE_ARMS_VARIANT_H
#define CONTEND_ENGINE_ARMS_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"

enum {
    VARIANTS_MAX = 8,
    VARIANT_NAME_MAX = 32,
    VARIANT_READ_BACK_MAX = 200,
    VARIANT_THREADS_MAX = 4096
};

struct variant {
    /*
     * Made from letters, digits, '_', '-', '+' and '.'; the user's are shorter than
     * VARIANT_NAME_MAX.
     */
    char name[VARIANT_NAME_MAX + 16];
    struct opt_texts env;       /* "VAR=VALUE", for its workers */
    char library[512];          /* one of them, from lib:nccl=PATH; "" = none */
    struct opt_texts params;    /* "K=V" */
    const char *placement;      /* NULL = that of the others */
    double cpu_max;             /* CPUs whose time each worker gets; 0 = as the others */
    unsigned threads;           /* of the team of each worker; 0 = as the placement has it */
    const char *before, *after; /* for /bin/sh -c, around each of its observations; or NULL */
    const char *check;          /* the same: what it prints says how things are; or NULL */
    const char *build;          /* path of another program; NULL = this one */
    char **argv;                /* words of a command, borrowed; NULL = the same for all, or none */
};

/*
 * The variants that were compared, and the least change that counts. Zeroed = none. Borrows the
 * texts.
 */
struct variants {
    size_t n;
    struct variant all[VARIANTS_MAX];
    double threshold; /* a smaller change than this share is SAME */
    double clock_s;   /* what a reading of the clock takes: a change of a time below it is SAME */
    /* The output of `check`: before anything, with `before` done, and at the end. "" = none. */
    struct variant_state {
        char initial[VARIANT_READ_BACK_MAX], during[VARIANT_READ_BACK_MAX],
            final[VARIANT_READ_BACK_MAX];
    } state[VARIANTS_MAX];
};

/* -EINVAL: one message that names the text, or that a second variant is needed. */
int variants_parse(const struct opt_texts *texts, struct variants *variants, struct err *err);

bool variants_any_build(const struct variants *variants);

#endif
