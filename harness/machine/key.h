/*
 * Identifies the machine of a result by its hardware and firmware: a key that is the same in every
 * run on it, and the kind, which machines of one model share. Neither depends on load, clocks,
 * memory in use, cgroup limits or software: struct environment has those. Serial numbers and UUIDs
 * enter only as hashes. Pure.
 *
 * The firmware's UUID, if this user may read it (usually root only), and the UUIDs of the GPUs that
 * the driver shows distinguish machines of one kind. Without both, the operating system's
 * machine-id does. Without that, all machines of a kind have one key. So another user, or a
 * container with other GPUs, may get another key for the same machine.
 */
#ifndef CONTEND_MACHINE_KEY_H
#define CONTEND_MACHINE_KEY_H

#include "harness/machine/env.h"
#include "harness/machine/topo.h"

enum { MACHINE_KEY_MAX = 17, MACHINE_GPUS_MAX = 64 };

/* Texts are borrowed; "" or NULL = unknown. */
struct machine_parts {
    const char *arch, *vendor, *product, *cpu_model; /* part of key and kind */
    unsigned packages, cores, cpus, nodes;           /* part of both, as hwloc reports them */
    const char *board, *bios, *microcode;            /* only part of the key */
    const char *uuid, *id; /* of firmware and operating system; results store only their marks */
    unsigned ngpus;
    struct machine_gpu {
        const char *name, *vbios, *uuid, *pci_bdf;
    } gpus[MACHINE_GPUS_MAX]; /* sorted by UUID, then PCI address; names are part of the kind */
};

struct machine_key {
    char key[MACHINE_KEY_MAX], kind[MACHINE_KEY_MAX]; /* hexadecimal digits */
    const char *identity; /* what distinguishes it within its kind: "uuid", "gpus", "id", or "" */
};

/* A salted hash, 16 hexadecimal digits, of text that must not be stored; "" for "" or NULL. */
const char *machine_mark(const char *text);

/* Borrows from env and topo; either may be NULL. */
void machine_parts_of(const struct environment *env, const struct topo *topo,
                      struct machine_parts *parts);

/* Sorts the GPUs; call it if they were filled in by hand, in any order. */
void machine_parts_sort(struct machine_parts *parts);

void machine_key_make(const struct machine_parts *parts, struct machine_key *key);

#endif
