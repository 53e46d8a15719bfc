#include "harness/machine/processor.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "harness/lib/str.h"
#include "harness/lib/sys/proc.h"

enum { ARM = 0x41, CAVIUM = 0x43, FUJITSU = 0x46, HISILICON = 0x48, NVIDIA = 0x4e, AMPERE = 0xc0 };

static const struct {
    unsigned implementer, part;
    const char *name;
} names[] = {{ARM, 0xd03, "Cortex-A53"},       {ARM, 0xd07, "Cortex-A57"},
             {ARM, 0xd08, "Cortex-A72"},       {ARM, 0xd0b, "Cortex-A76"},
             {ARM, 0xd42, "Cortex-A78AE"},     {ARM, 0xd0c, "Neoverse N1"},
             {ARM, 0xd49, "Neoverse N2"},      {ARM, 0xd8e, "Neoverse N3"},
             {ARM, 0xd40, "Neoverse V1"},      {ARM, 0xd4f, "Neoverse V2"},
             {ARM, 0xd84, "Neoverse V3"},      {CAVIUM, 0x0af, "ThunderX2"},
             {FUJITSU, 0x001, "A64FX"},        {HISILICON, 0xd01, "Kunpeng 920"},
             {NVIDIA, 0x004, "NVIDIA Carmel"}, {NVIDIA, 0x010, "NVIDIA Olympus"},
             {AMPERE, 0xac3, "Ampere-1"},      {AMPERE, 0xac4, "Ampere-1A"}};

const char *processor_name(const char *implementer, const char *part)
{
    unsigned long maker = strtoul(implementer, NULL, 0), number = strtoul(part, NULL, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].implementer == maker && names[i].part == number) {
            return str_fmt("%s", names[i].name);
        }
    return str_fmt("Arm processor, implementer 0x%02lx, part 0x%03lx", maker, number);
}

static bool read_cpuinfo(const char *root, const char *field, char *out, size_t size)
{
    return proc_read_field(root, "/proc/cpuinfo", field, ':', out, size);
}

static bool is_of_arm(const char *root, char implementer[static PROC_TEXT_MAX])
{
    return read_cpuinfo(root, "CPU implementer", implementer, PROC_TEXT_MAX);
}

void processor_model(const char *root, char *out, size_t size)
{
    char implementer[PROC_TEXT_MAX], part[PROC_TEXT_MAX];
    if (!read_cpuinfo(root, "model name", out, size) && is_of_arm(root, implementer) &&
        read_cpuinfo(root, "CPU part", part, sizeof(part)))
        (void)snprintf(out, size, "%s", processor_name(implementer, part));
}

/* The signature in CPUID leaf 0x40000000, if the processor reports a hypervisor. */
static double ask_processor(char *hypervisor, size_t size)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return NAN;
    if (!(ecx >> 31))
        return 0;
    char signature[13] = "";
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    memcpy(signature, &ebx, 4);
    memcpy(signature + 4, &ecx, 4);
    memcpy(signature + 8, &edx, 4);
    proc_copy_text(hypervisor, size, signature);
    return 1;
#else
    (void)hypervisor;
    (void)size;
    return NAN;
#endif
}

/* Amazon's bare-metal machines have its vendor name too, and ".metal" in the product name. */
static double ask_firmware(const char *root, char *hypervisor, size_t size)
{
    static const char *const made[] = {
        "QEMU", "KVM",       "Amazon EC2",      "Google Compute Engine", "VMware",
        "Xen",  "OpenStack", "Virtual Machine", "Apple Virtualization",  "Parallels"};
    char vendor[PROC_TEXT_MAX], product[PROC_TEXT_MAX], tree[PROC_TEXT_MAX];
    bool told = PROC_TEXT(root, vendor, "/sys/class/dmi/id/sys_vendor");
    (void)PROC_TEXT(root, product, "/sys/class/dmi/id/product_name");
    for (size_t i = 0; told && i < sizeof(made) / sizeof(made[0]); i++)
        if ((strstr(vendor, made[i]) || strstr(product, made[i])) && !strstr(product, ".metal")) {
            (void)snprintf(hypervisor, size, "%s", made[i]);
            return 1;
        }
    if (told)
        return 0;
    if (PROC_TEXT(root, tree, "/sys/firmware/devicetree/base/hypervisor/compatible") ||
        (PROC_TEXT(root, tree, "/sys/firmware/devicetree/base/compatible") &&
         strstr(tree, "virt"))) {
        (void)snprintf(hypervisor, size, "%s", tree);
        return 1;
    }
    return NAN;
}

double processor_is_virtual(const char *root, char *hypervisor, size_t size)
{
    char flags[4096], implementer[PROC_TEXT_MAX];
    hypervisor[0] = '\0';
    double asked = root[0] ? NAN : ask_processor(hypervisor, size);
    if (!isnan(asked))
        return asked;
    if (read_cpuinfo(root, "flags", flags, sizeof(flags)))
        return strstr(flags, "hypervisor") != NULL;
    return is_of_arm(root, implementer) ? ask_firmware(root, hypervisor, size) : NAN;
}
