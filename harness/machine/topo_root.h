/*
 * Makes a root for hwloc that lacks /sys/devices/system/cpu/online, so that hwloc checks each CPU.
 *
 * In a container, lxcfs renumbers that list (0-3 for CPUs 12-15), while affinity masks, cgroups and
 * all other files have the host's numbers. hwloc would believe the list.
 *
 *   rc = topo_root_make(&root, &err);
 *   ... hwloc_topology_load with HWLOC_FSROOT=root.path ...
 *   topo_root_remove(&root);
 */
#ifndef CONTEND_MACHINE_TOPO_ROOT_H
#define CONTEND_MACHINE_TOPO_ROOT_H

#include <limits.h>

#include "harness/lib/err.h"

struct topo_root {
    char path[PATH_MAX]; /* a directory of links in TMPDIR, /tmp or /dev/shm; "" = none */
};

/* -errno if no directory can be made. Remove it also after an error. */
int topo_root_make(struct topo_root *root, struct err *err);
void topo_root_remove(const struct topo_root *root);

#endif
