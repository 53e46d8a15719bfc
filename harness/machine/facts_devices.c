/* Devices on the PCI bus: links, errors, slots. Declared in facts.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/facts.h"
#include "harness/machine/other_gpus.h"

enum { NVIDIA = 0x10de, LANES_MOST = 32 };

static const char bus[] = "/sys/bus/pci/devices";

static bool read_of(const char *root, const char *bdf, const char *name, char *out, size_t size)
{
    return proc_read_text(root, out, size, "%s/%s/%s", bus, bdf, name);
}

/* "16.0 GT/s PCIe" or "8 GT/s"; "Unknown", as on virtual machines, is NaN. */
static double read_speed(const char *root, const char *bdf, const char *name)
{
    char text[64], *end;
    if (!read_of(root, bdf, name, text, sizeof(text)))
        return NAN;
    double gts = strtod(text, &end);
    return end == text || gts <= 0 || !isfinite(gts) ? (double)NAN : gts;
}

/* A device without a link reports 0 or 255. */
static int read_lanes(const char *root, const char *bdf, const char *name)
{
    char text[64];
    if (!read_of(root, bdf, name, text, sizeof(text)))
        return -1;
    long lanes = strtol(text, NULL, 10);
    return lanes < 1 || lanes > LANES_MOST ? -1 : (int)lanes;
}

/* Reads the last line of the file, such as "TOTAL_ERR_FATAL 0". */
static int64_t read_errors(const char *root, const char *bdf, const char *name, const char *total)
{
    char text[32];
    const char *path = str_fmt("%s/%s/%s", bus, bdf, name);
    if (!proc_read_field(root, path, total, ' ', text, sizeof(text)))
        return -1;
    long long count = strtoll(text, NULL, 10);
    return count < 0 ? -1 : count;
}

static unsigned long read_hex(const char *root, const char *bdf, const char *name)
{
    char text[32];
    return read_of(root, bdf, name, text, sizeof(text)) ? strtoul(text, NULL, 16) : 0;
}

static enum facts_kind kind_of(unsigned long vendor, unsigned long class_code)
{
    unsigned long class = class_code >> 8;
    if (vendor == NVIDIA && (class == 0x0300 || class == 0x0302))
        return FACTS_GPU;
    if (vendor == NVIDIA && class == 0x0680)
        return FACTS_NVSWITCH;
    if (class == 0x0200 || class == 0x0207)
        return FACTS_NIC;
    return class == 0x0108 ? FACTS_NVME : FACTS_OTHER;
}

static void read_driver(const char *root, const char *bdf, char *out, size_t size)
{
    char target[PATH_MAX];
    const char *path = str_fmt("%s%s/%s/driver", root, bus, bdf);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    out[0] = '\0';
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    proc_copy_text(out, size, slash ? slash + 1 : target);
    (void)text_one_line(out);
}

static void read_device(const char *root, const char *bdf, struct facts_device *device,
                        struct other_gpus *others)
{
    unsigned long vendor = read_hex(root, bdf, "vendor"), class = read_hex(root, bdf, "class");
    *device = (struct facts_device){.gts = NAN};
    proc_copy_text(device->bdf, sizeof(device->bdf), bdf);
    device->kind = kind_of(vendor, class);
    other_gpus_count(others, (unsigned)vendor, (unsigned)(class >> 8));
    read_driver(root, bdf, device->driver, sizeof(device->driver));
    device->gts = read_speed(root, bdf, "current_link_speed");
    device->gts_max = read_speed(root, bdf, "max_link_speed");
    device->lanes = read_lanes(root, bdf, "current_link_width");
    device->lanes_max = read_lanes(root, bdf, "max_link_width");
    device->lanes_slot = read_lanes(root, bdf, "../max_link_width");
    device->aer_fatal = read_errors(root, bdf, "aer_dev_fatal", "TOTAL_ERR_FATAL");
    device->aer_nonfatal = read_errors(root, bdf, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
    device->aer_correctable = read_errors(root, bdf, "aer_dev_correctable", "TOTAL_ERR_COR");
}

static bool is_address(const char *name)
{
    size_t colons = 0;
    for (const char *at = name; *at; at++) {
        if (!isxdigit((unsigned char)*at) && *at != ':' && *at != '.')
            return false;
        colons += *at == ':';
    }
    return colons == 2 && strlen(name) < PCI_BDF_MAX;
}

/* /sys/bus/pci/slots/NAME/address has "0000:3b:00": the device without its function. */
static void read_slots(const char *root, struct facts *facts)
{
    char address[PCI_BDF_MAX];
    const char *path = str_fmt("%s/sys/bus/pci/slots", root);
    DIR *dir = opendir(path);
    for (struct dirent *entry; (entry = file_next(&dir));) {
        if (entry->d_name[0] == '.')
            continue;
        if (!PROC_TEXT(root, address, "/sys/bus/pci/slots/%s/address", entry->d_name) ||
            !address[0])
            continue;
        for (size_t i = 0; i < facts->ndevices; i++) {
            struct facts_device *device = &facts->devices[i];
            if (strncmp(device->bdf, address, strlen(address)) != 0)
                continue;
            proc_copy_text(device->slot, sizeof(device->slot), entry->d_name);
            (void)text_one_line(device->slot);
        }
    }
}

static int by_address(const void *a, const void *b)
{
    const struct facts_device *x = a, *y = b;
    return strcmp(x->bdf, y->bdf);
}

int facts_read_pci(const char *root, struct facts *facts, struct err *err)
{
    size_t capacity = 0;
    struct other_gpus others = {0};
    const char *path = str_fmt("%s%s", root, bus);
    DIR *dir = opendir(path);
    if (!dir) {
        facts->pci = errno == EACCES ? FACTS_DENIED : FACTS_ABSENT;
        return 0;
    }
    int rc = 0;
    for (struct dirent *entry; !rc && (entry = readdir(dir));) {
        if (!is_address(entry->d_name))
            continue;
        struct facts_device *added = array_add(facts->devices, facts->ndevices, capacity);
        if (added)
            read_device(root, entry->d_name, added, &others);
        else
            rc = err_set(err, -ENOMEM, "no memory for the devices of the PCI bus");
    }
    (void)closedir(dir);
    facts->pci = FACTS_READ;
    (void)other_gpus_format(&others, facts->other_gpus, sizeof(facts->other_gpus));
    if (facts->ndevices)
        qsort(facts->devices, facts->ndevices, sizeof(*facts->devices), by_address);
    read_slots(root, facts);
    return rc;
}

const struct facts_device *facts_find_device(const struct facts *facts, const char *bdf)
{
    for (size_t i = 0; i < facts->ndevices; i++)
        if (strcasecmp(facts->devices[i].bdf, bdf) == 0)
            return &facts->devices[i];
    return NULL;
}

const char *facts_device_name(const struct facts_device *device)
{
    if (device->slot[0])
        return str_fmt("%s (slot %s)", device->bdf, device->slot);
    return str_fmt("%s", device->bdf);
}
