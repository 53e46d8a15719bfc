/* PCI addresses as text. */
#ifndef CONTEND_LIB_PCI_H
#define CONTEND_LIB_PCI_H

enum { PCI_BDF_MAX = 32 };

/*
 * Converts any PCI address ("00000000:3B:00.0", "3b:00.0") to "0000:3b:00.0". -EINVAL: not an
 * address. The result is safe in a path.
 */
int pci_bdf_normalise(const char *text, char bdf[PCI_BDF_MAX]);

#endif
