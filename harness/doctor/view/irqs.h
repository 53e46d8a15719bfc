/*
 * Interrupts of devices: how many of them each CPU serves. Those of the CPUs themselves (timers,
 * rescheduling) are not among them. Sources: Documentation/filesystems/proc.rst (interrupts),
 * core-api/irq/irq-affinity.rst of the kernel.
 */
#ifndef CONTEND_DOCTOR_VIEW_IRQS_H
#define CONTEND_DOCTOR_VIEW_IRQS_H

#include <stddef.h>

#include "harness/lib/base/err.h"

struct irq {
    unsigned number;
    char device[48];    /* "nvme0q3", "virtio1-req.0": whose it is */
    char effective[64]; /* CPUs that it is sent to now; "" = not read, or not told */
    double *served;     /* owned, of each CPU of the list: a count, later a second */
};

/* Zeroed = none. */
struct irqs {
    unsigned ncpus;
    unsigned *os_cpu; /* owned */
    size_t n, capacity;
    struct irq *irq; /* owned */
};

/* A missing file is no error. Free with irqs_free, also after an error: -ENOMEM only. */
int irqs_read(const char *root, struct irqs *irqs, struct err *err);
void irqs_free(struct irqs *irqs);

/* Leaves the difference a second in *irqs; one that was not there before counts as from 0. */
void irqs_subtract(struct irqs *irqs, const struct irqs *before, double seconds);

/* Fills `effective` of those that come often. */
void irqs_read_affinity(const char *root, struct irqs *irqs);

#endif
