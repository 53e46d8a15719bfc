/*
 * A root for hwloc in which /sys/devices/system/cpu/online is missing: it then asks each CPU.
 *
 * lxcfs shows a container that list renumbered, 0-3 for CPUs 12-15, while affinity masks, cgroups
 * and all other files have the machine's own numbers. hwloc believes the list.
 *
 *   rc = topo_root_make(&root, &err);
 *   ... hwloc_topology_load with HWLOC_FSROOT=root.path ...
 *   topo_root_remove(&root);
 */
#ifndef CONTEND_MACHINE_TOPO_TOPO_ROOT_H
#define CONTEND_MACHINE_TOPO_TOPO_ROOT_H

#include <limits.h>

#include "harness/lib/base/err.h"

struct topo_root {
    char path[PATH_MAX]; /* a directory of links in TMPDIR, /tmp or /dev/shm; "" = none */
};

/* Remove it also after an error: -errno where it can be made nowhere. */
int topo_root_make(struct topo_root *root, struct err *err);
void topo_root_remove(const struct topo_root *root);

#endif
