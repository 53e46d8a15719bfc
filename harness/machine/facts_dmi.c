/*
 * The firmware's tables of sockets and memory modules: SMBIOS structures of type 4 and 17. Only
 * root may read the tables. Declared in facts.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"
#include "harness/machine/facts.h"

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
