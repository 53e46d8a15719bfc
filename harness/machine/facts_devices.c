#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/facts.h"
#include "harness/machine/topo.h"

/* Devices on the PCI bus: links, errors, slots. Declared in facts.h. */

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

/*
 * The firmware's tables of sockets and memory modules: SMBIOS structures of type 4 and 17. Only
 * root may read the tables. Declared in facts.h.
 */

enum { TABLES_MOST = 1 << 20, TYPE_SOCKET = 4, TYPE_DIMM = 17, TYPE_END = 127, HEADER = 4 };

/* One structure: its formatted part, and the strings after it, each ended by a 0. */
struct dmi {
    const unsigned char *at;
    size_t length;
    const char *strings;
    size_t strings_size;
};

static unsigned get(const struct dmi *dmi, size_t offset, size_t bytes, unsigned otherwise)
{
    unsigned value = 0;
    if (offset + bytes > dmi->length)
        return otherwise;
    for (size_t i = 0; i < bytes; i++)
        value |= (unsigned)dmi->at[offset + i] << (8 * i);
    return value;
}

/* Copies the string whose number is at `offset`; 1 = the first. */
static void get_text(const struct dmi *dmi, size_t offset, char *out, size_t size)
{
    unsigned number = get(dmi, offset, 1, 0);
    const char *at = dmi->strings, *end = dmi->strings + dmi->strings_size;
    out[0] = '\0';
    for (; number > 1 && at < end; number--)
        at += strnlen(at, (size_t)(end - at)) + 1;
    if (!number || at >= end)
        return;
    (void)snprintf(out, size, "%.*s", (int)strnlen(at, (size_t)(end - at)), at);
    (void)text_one_line(out);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
}

/* 0xffff = unknown; 0x7fff = use the extended field; bit 15 = KiB. */
static int64_t dimm_size_mib(const struct dmi *dmi)
{
    unsigned size = get(dmi, 0x0c, 2, 0xffff);
    if (size == 0xffff)
        return -1;
    if (size == 0x7fff)
        return get(dmi, 0x1c, 4, 0) & 0x7fffffff;
    return size & 0x8000 ? (int64_t)(size & 0x7fff) / 1024 : (int64_t)size;
}

/* 0xffff = use the extended field; 0 = unknown. */
static int dimm_mts(const struct dmi *dmi, size_t offset, size_t extended)
{
    unsigned mts = get(dmi, offset, 2, 0);
    if (mts == 0xffff)
        mts = get(dmi, extended, 4, 0) & 0x7fffffff;
    return mts == 0 || mts > 100000 ? -1 : (int)mts;
}

static int add_dimm(const struct dmi *dmi, size_t *capacity, struct facts *facts)
{
    struct facts_dimm *dimm = array_add(facts->dimms, facts->ndimms, *capacity);
    if (!dimm)
        return -ENOMEM;
    unsigned bits = get(dmi, 0x0a, 2, 0xffff);
    *dimm = (struct facts_dimm){.size_mib = dimm_size_mib(dmi),
                                .rated_mts = dimm_mts(dmi, 0x15, 0x54),
                                .configured_mts = dimm_mts(dmi, 0x20, 0x58),
                                .data_bits = bits == 0xffff || bits == 0 ? -1 : (int)bits};
    get_text(dmi, 0x10, dimm->locator, sizeof(dimm->locator));
    get_text(dmi, 0x11, dimm->bank, sizeof(dimm->bank));
    return 0;
}

/* Cores: 0 = unknown, 0xff = use the two-byte field. */
static int socket_cores(const struct dmi *dmi, size_t offset, size_t wide)
{
    unsigned cores = get(dmi, offset, 1, 0);
    if (cores == 0xff)
        cores = get(dmi, wide, 2, 0xff);
    return cores == 0 || cores == 0xffff ? -1 : (int)cores;
}

static int add_socket(const struct dmi *dmi, size_t *capacity, struct facts *facts)
{
    struct facts_socket *socket = array_add(facts->sockets, facts->nsockets, *capacity);
    if (!socket)
        return -ENOMEM;
    unsigned status = get(dmi, 0x18, 1, 0);
    *socket = (struct facts_socket){.populated = status & 0x40,
                                    .enabled = (status & 7) == 1 || (status & 7) == 0,
                                    .cores = socket_cores(dmi, 0x23, 0x2a),
                                    .cores_enabled = socket_cores(dmi, 0x24, 0x2c)};
    get_text(dmi, 0x04, socket->name, sizeof(socket->name));
    return 0;
}

/* End of the structure at `at`, including its strings; 0 = truncated. */
static size_t end_of(const unsigned char *tables, size_t size, size_t at)
{
    size_t end = at + tables[at + 1];
    while (end + 1 < size && (tables[end] || tables[end + 1]))
        end++;
    return end + 2 <= size ? end + 2 : 0;
}

static int parse(const unsigned char *tables, size_t size, struct facts *facts)
{
    size_t dimms = 0, sockets = 0;
    int rc = 0;
    for (size_t at = 0; !rc && at + HEADER <= size && tables[at] != TYPE_END;) {
        size_t length = tables[at + 1];
        if (length < HEADER || at + length > size)
            break;
        size_t end = end_of(tables, size, at);
        if (!end)
            break;
        const struct dmi dmi = {.at = tables + at,
                                .length = length,
                                .strings = (const char *)tables + at + length,
                                .strings_size = end - at - length};
        if (tables[at] == TYPE_DIMM)
            rc = add_dimm(&dmi, &dimms, facts);
        else if (tables[at] == TYPE_SOCKET)
            rc = add_socket(&dmi, &sockets, facts);
        at = end;
    }
    return rc;
}

static size_t read_all(int fd, unsigned char *to, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t n = read(fd, to + used, size - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    return used;
}

int facts_read_dmi(const char *root, struct facts *facts, struct err *err)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/sys/firmware/dmi/tables/DMI", root);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        facts->dmi = errno == EACCES || errno == EPERM ? FACTS_DENIED : FACTS_ABSENT;
        return 0;
    }
    unsigned char *tables = malloc(TABLES_MOST);
    int rc = tables ? parse(tables, read_all(fd, tables, TABLES_MOST), facts) : -ENOMEM;
    free(tables);
    (void)close(fd);
    facts->dmi = FACTS_READ;
    return rc ? err_set(err, rc, "no memory for the firmware's tables") : 0;
}

/* Ports of RDMA devices: state, rate, errors. Declared in facts.h. */

/* The number before ": ACTIVE" or " Gb/sec (4X NDR)"; NaN = none. */
static double read_first_number(const char *port, const char *file)
{
    char text[PROC_TEXT_MAX], *end;
    if (!PROC_TEXT("", text, "%s/%s", port, file))
        return NAN;
    double number = strtod(text, &end);
    return end == text || !isfinite(number) ? (double)NAN : number;
}

static int read_code(const char *port, const char *file)
{
    double code = read_first_number(port, file);
    return code >= 0 && code < INT_MAX ? (int)code : -1;
}

static void read_port(const char *path, struct facts_port *port)
{
    const char *device = str_fmt("%s", path);
    char *number = strrchr(device, '/') + 1, *ports = number - strlen("/ports/");
    *ports = '\0';
    const char *name = strrchr(device, '/') + 1;
    *port = (struct facts_port){.rate_gbps = read_first_number(path, "rate")};
    (void)snprintf(port->name, sizeof(port->name), "%.40s port %.8s", name, number);
    (void)text_one_line(port->name);
    if (!PROC_TEXT("", port->model, "%s/board_id", device))
        (void)PROC_TEXT("", port->model, "%s/hca_type", device);
    port->state = read_code(path, "state");
    port->physical = read_code(path, "phys_state");
    port->symbol_errors = proc_read_number("", "%s/counters/symbol_error", path);
    port->recoveries = proc_read_number("", "%s/counters/link_error_recovery", path);
    port->downs = proc_read_number("", "%s/counters/link_downed", path);
    port->receive_errors = proc_read_number("", "%s/counters/port_rcv_errors", path);
}

int facts_read_rdma(const char *root, struct facts *facts, struct err *err)
{
    size_t capacity = 0;
    glob_t found = {0};
    int rc = 0;
    const char *pattern = str_fmt("%s/sys/class/infiniband/*/ports/*", root);
    (void)glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
        struct facts_port *added = array_add(facts->ports, facts->nports, capacity);
        if (added)
            read_port(found.gl_pathv[i], added);
        else
            rc = err_set(err, -ENOMEM, "no memory for the ports of RDMA devices");
    }
    globfree(&found);
    return rc;
}
