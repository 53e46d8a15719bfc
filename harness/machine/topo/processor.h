/* Finds the processor's name where that is not one line to be copied, and whether it is a name. */
#ifndef CONTEND_MACHINE_TOPO_PROCESSOR_H
#define CONTEND_MACHINE_TOPO_PROCESSOR_H

#include <stddef.h>

/*
 * Arm's processors say numbers, such as "0x41" and "0xd4f": "Neoverse V2", or the numbers of one
 * that is not known. Source: Linux, arch/arm64/include/asm/cputype.h.
 */
void processor_name(const char *implementer, const char *part, char *out, size_t size);

/* As /proc/cpuinfo has it, below `root`; "" = not told. */
void processor_model(const char *root, char *out, size_t size);

/*
 * 1 = a hypervisor shows itself, 0 = none does, NaN = unknown; which one, as it calls
 * itself, or "". On x86 CPUID tells (below a root, the flags of cpuinfo); on Arm, firmware: the
 * names in DMI, or the device tree.
 */
double processor_is_virtual(const char *root, char *hypervisor, size_t size);

#endif
