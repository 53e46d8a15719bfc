/*
 * GPUs and accelerators on the PCI bus that contend cannot measure: of any vendor but NVIDIA. Pure.
 *
 *   struct other_gpus others = {0};
 *   other_gpus_count(&others, vendor, class_code);  ... of each PCI device
 *   other_gpus_format(&others, buf, sizeof(buf));
 */
#ifndef CONTEND_MACHINE_TOPO_OTHER_GPUS_H
#define CONTEND_MACHINE_TOPO_OTHER_GPUS_H

#include <stddef.h>

enum { OTHER_GPU_VENDORS = 3 };

/* Zeroed = none. */
struct other_gpus {
    unsigned of[OTHER_GPU_VENDORS]; /* as other_gpus.c has the vendors */
};

/* class_code: base class and subclass, 0x0302. Counts what is a GPU or an accelerator of them. */
void other_gpus_count(struct other_gpus *others, unsigned vendor, unsigned class_code);

/* "2 AMD GPUs are there; contend measures NVIDIA's"; "" where there is none. Returns buf. */
char *other_gpus_format(const struct other_gpus *others, char *buf, size_t size);

#endif
