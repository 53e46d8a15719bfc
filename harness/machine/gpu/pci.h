/* PCI addresses as text. */
#ifndef CONTEND_MACHINE_GPU_PCI_H
#define CONTEND_MACHINE_GPU_PCI_H

#include "harness/contract/bench.h"

/*
 * Any PCI address ("00000000:3B:00.0", "3b:00.0") -> "0000:3b:00.0". -EINVAL when it is none; the
 * result is safe to put into a path.
 */
int pci_bdf_normalise(const char *text, char bdf[PCI_BDF_MAX]);

#endif
