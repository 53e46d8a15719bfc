/*
 * What a kind of machine must have, and how fast it must be: facts, each with a source, from files
 * (validate/files.h). Pure.
 */
#ifndef CONTEND_VALIDATE_RULES_MACHINE_H
#define CONTEND_VALIDATE_RULES_MACHINE_H

#include "harness/machine/facts.h"

enum { MACHINE_FACTS_MAX = 32, MACHINE_NAME_MAX = 64 };

struct machine_known;

struct machine_fact {
    const struct machine_known *of; /* the fact to read; NULL: measured by `probe` */
    enum facts_probe_name probe;
    char metric[32], key[96]; /* key: required parts of a value's key, "dir=h2d;with=alone" */

    char has[48];       /* required part of a text; "" = a number */
    double least, most; /* NaN = open */
    char unit[16];
    char source[160];
    unsigned gpus; /* for machines with at least this many GPUs */
};

struct machine_kind {
    char name[MACHINE_NAME_MAX]; /* as in --machine: "8xh100-sxm" */
    char expect[96];             /* as in --expect: "gpus=8,sockets=2" */
    size_t n;
    struct machine_fact facts[MACHINE_FACTS_MAX];
};

/* Finds a fact: "gpu_name", "nvlinks", ...; NULL = unknown. */
const struct machine_known *machine_known_find(const char *name);
bool machine_known_is_text(const struct machine_known *known);

/* Measurements, bits of enum facts_probe_name, behind the facts that a finding's metric names. */
unsigned machine_probes(const struct machine_kind *kind, const char *metric);

/* Length of the GPU name that the kind requires, if name and memory fit the GPU; else 0. */
size_t machine_is_of(const struct machine_kind *kind, const struct topo_gpu *gpu);

#endif
