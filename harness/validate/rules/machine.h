/*
 * What a kind of machine is to have, and how fast it is to be: facts with a source each, of files
 * (validate/files/machine_file.h). Pure.
 */
#ifndef CONTEND_VALIDATE_RULES_MACHINE_H
#define CONTEND_VALIDATE_RULES_MACHINE_H

#include "harness/machine/facts/facts.h"

enum { MACHINE_FACTS_MAX = 32, MACHINE_NAME_MAX = 64 };

struct machine_known;

struct machine_fact {
    const struct machine_known *of; /* what is read; NULL: measured, by: */
    enum facts_probe_name probe;
    char metric[32], key[96]; /* key: parts that the key of a value has, "dir=h2d;with=alone" */

    char has[48];       /* a part of a text, such as a name; "" = it is a number: */
    double least, most; /* NaN = open */
    char unit[16];
    char source[160];
    unsigned gpus; /* for machines of so many GPUs or more */
};

struct machine_kind {
    char name[MACHINE_NAME_MAX]; /* as --machine names it: "8xh100-sxm" */
    char expect[96];             /* as --expect: "gpus=8,sockets=2" */
    size_t n;
    struct machine_fact facts[MACHINE_FACTS_MAX];
};

/* "gpu_name", "nvlinks", ...; NULL = there is no such fact. */
const struct machine_known *machine_known_find(const char *name);
bool machine_known_is_text(const struct machine_known *known);

/* The measurements, as bits of enum facts_probe_name, of the facts that a finding's metric names.
 */
unsigned machine_probes(const struct machine_kind *kind, const char *metric);

/* How much of a GPU's name the kind has, where its memory fits, too; 0 = it is of another. */
size_t machine_is_of(const struct machine_kind *kind, const struct topo_gpu *gpu);

#endif
