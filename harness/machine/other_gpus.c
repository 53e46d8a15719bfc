#include "harness/machine/other_gpus.h"

#include <stdbool.h>
#include <stdio.h>

/* PCI class codes: pci_ids.h of the kernel. */
enum { CLASS_DISPLAY = 0x03, CLASS_VGA = 0x0300, CLASS_ACCELERATOR = 0x1200 };

static const struct {
    unsigned vendor;
    const char *name, *kind;
} vendors[OTHER_GPU_VENDORS] = {
    {0x1002, "AMD", "GPU"}, {0x8086, "Intel", "GPU"}, {0x1da3, "Habana", "accelerator"}};

void other_gpus_count(struct other_gpus *others, unsigned vendor, unsigned class_code)
{
    /* Intel's VGA devices are CPU graphics; its server GPUs are "display controllers". */
    bool is_graphics = vendor == vendors[1].vendor && class_code == CLASS_VGA;
    if ((class_code >> 8 != CLASS_DISPLAY && class_code != CLASS_ACCELERATOR) || is_graphics)
        return;
    for (int i = 0; i < OTHER_GPU_VENDORS; i++)
        others->of[i] += vendors[i].vendor == vendor;
}

char *other_gpus_format(const struct other_gpus *others, char *buf, size_t size)
{
    size_t used = 0;
    unsigned all = 0;
    buf[0] = '\0';
    for (int i = 0; i < OTHER_GPU_VENDORS; i++) {
        unsigned n = others->of[i];
        if (n && used < size)
            used += (size_t)snprintf(buf + used, size - used, "%s%u %s %s%s", all ? ", " : "", n,
                                     vendors[i].name, vendors[i].kind, n == 1 ? "" : "s");
        all += n;
    }
    if (all && used < size)
        (void)snprintf(buf + used, size - used, " %s there; contend measures NVIDIA's",
                       all == 1 ? "is" : "are");
    return buf;
}
