#include "harness/lib/pci.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_field(const char **at, unsigned long max, char behind, unsigned long *value)
{
    size_t digits = strspn(*at, "0123456789abcdefABCDEF");
    if (digits < 1 || digits > 8 || (*at)[digits] != behind)
        return false;
    *value = strtoul(*at, NULL, 16);
    *at += digits + (behind != '\0');
    return *value <= max;
}

int pci_bdf_normalise(const char *text, char bdf[PCI_BDF_MAX])
{
    unsigned long domain = 0, bus, device, function;
    const char *at = text, *colon = strchr(text, ':');
    bool has_domain = colon && strchr(colon + 1, ':');
    bdf[0] = '\0';
    if ((has_domain && !read_field(&at, UINT32_MAX, ':', &domain)) ||
        !read_field(&at, 0xff, ':', &bus) || !read_field(&at, 0x1f, '.', &device) ||
        !read_field(&at, 0x7, '\0', &function))
        return -EINVAL;
    (void)snprintf(bdf, PCI_BDF_MAX, "%04lx:%02lx:%02lx.%lx", domain, bus, device, function);
    return 0;
}
