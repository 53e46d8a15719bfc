/*
 * Which machine a result is of, by its hardware and firmware: a key that is the same in every run
 * of it, and the kind that machines of one model share. Nothing of it changes with load, clocks,
 * memory in use, limits of a cgroup or software: those are struct environment's to tell. Serial
 * numbers and UUIDs only as hashes. Pure.
 *
 * The UUID of the firmware distinguishes machines of one kind, where this user may read it (root,
 * as a rule), with the UUIDs of the GPUs that the driver shows. Without either the machine-id of
 * the operating system does. Without that all of a kind have one key. So another user, or a
 * container that has other GPUs, may see another machine.
 */
#ifndef CONTEND_MACHINE_FACTS_KEY_H
#define CONTEND_MACHINE_FACTS_KEY_H

#include "harness/machine/facts/env.h"
#include "harness/machine/topo/topo.h"

enum { MACHINE_KEY_MAX = 17, MACHINE_GPUS_MAX = 64 };

/* Texts are borrowed; "" or NULL = unknown. */
struct machine_parts {
    const char *arch, *vendor, *product, *cpu_model; /* the kind is made of this line, */
    unsigned packages, cores, cpus, nodes;           /* of this one, as hwloc reports them, */
    const char *board, *bios, *microcode;            /* and of the names of the GPUs */
    const char *uuid, *id; /* marks: of the firmware, of the operating system */
    unsigned ngpus;
    struct machine_gpu {
        const char *name, *vbios, *uuid, *pci_bdf;
    } gpus[MACHINE_GPUS_MAX]; /* sorted by UUID, then by PCI address */
};

struct machine_key {
    char key[MACHINE_KEY_MAX], kind[MACHINE_KEY_MAX]; /* hexadecimal digits */
    const char *identity; /* what tells it from its kind: "uuid", "gpus", "id", or "" */
};

/* 16 hexadecimal digits in place of what is not to be written out; "" of "" or NULL. */
char *machine_mark(const char *text, char mark[MACHINE_KEY_MAX]);

/* Borrows from both, which may be NULL. */
void machine_parts_of(const struct environment *env, const struct topo *topo,
                      struct machine_parts *parts);

/* To be called when the GPUs of parts were filled in by hand, in whatever order. */
void machine_parts_sort(struct machine_parts *parts);

void machine_key_make(const struct machine_parts *parts, struct machine_key *key);

#endif
