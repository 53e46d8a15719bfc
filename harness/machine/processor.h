/* Finds the processor's name, also on Arm, and whether the machine is virtual. */
#ifndef CONTEND_MACHINE_PROCESSOR_H
#define CONTEND_MACHINE_PROCESSOR_H

#include <stddef.h>

/*
 * Arm processors give numbers, such as "0x41" and "0xd4f": writes "Neoverse V2", or the numbers if
 * the processor is unknown. Source: Linux, arch/arm64/include/asm/cputype.h.
 */
const char *processor_name(const char *implementer, const char *part);

/* The model by /proc/cpuinfo below `root`; "" = unknown. */
void processor_model(const char *root, char *out, size_t size);

/*
 * 1 = runs under a visible hypervisor, 0 = none visible, NaN = unknown. hypervisor: its own name,
 * or "". On x86, CPUID tells (with a root, the flags of cpuinfo); on Arm, firmware does: names in
 * DMI, or the device tree.
 */
double processor_is_virtual(const char *root, char *hypervisor, size_t size);

#endif
