/*
 * GPUs and accelerators on the PCI bus that contend cannot measure: all except NVIDIA's. Pure.
 *
 *   struct other_gpus others = {0};
 *   other_gpus_count(&others, vendor, class_code);  ... for each PCI device
 *   other_gpus_format(&others, buf, sizeof(buf));
 */
#ifndef CONTEND_MACHINE_OTHER_GPUS_H
#define CONTEND_MACHINE_OTHER_GPUS_H

#include <stddef.h>

enum { OTHER_GPU_VENDORS = 3 };

/* Zeroed = none. */
struct other_gpus {
    unsigned of[OTHER_GPU_VENDORS]; /* in the order of the vendors in other_gpus.c */
};

/* class_code: base class and subclass, such as 0x0302. Counts the device if it is one of these. */
void other_gpus_count(struct other_gpus *others, unsigned vendor, unsigned class_code);

/* "2 AMD GPUs are there; contend measures NVIDIA's"; "" if there are none. Returns buf. */
char *other_gpus_format(const struct other_gpus *others, char *buf, size_t size);

#endif
