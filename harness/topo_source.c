#include "harness/topo_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/bitset.h"

enum { XML_MAX_BYTES = 64 << 20 }; /* the largest XML in hwloc's own tests has 3 MB */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Reads a whole file into a new NUL-terminated buffer. *length includes the NUL. */
static int read_file(const char *path, char **text, int *length, struct err *err)
{
    int rc = 0;
    *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "cannot read the topology '%.120s'", path);
    size_t used = 0, capacity = 1 << 16;
    for (;;) {
        char *grown = used + 1 < capacity && *text ? *text : realloc(*text, capacity *= 2);
        if (!grown) {
            rc = err_set(err, -ENOMEM, "no memory for the topology '%.120s'", path);
            break;
        }
        *text = grown;
        ssize_t n = read(fd, *text + used, capacity - used - 1);
        if (n < 0)
            rc = err_sys(err, -errno, "cannot read the topology '%.120s'", path);
        if (n <= 0)
            break;
        used += (size_t)n;
        if (used > XML_MAX_BYTES) {
            rc = err_set(err, -EINVAL, "the topology '%.120s' is larger than %d MiB", path,
                         XML_MAX_BYTES >> 20);
            break;
        }
    }
    (void)close(fd);
    if (!rc)
        (*text)[used] = '\0';
    *length = (int)used + 1;
    return rc;
}

/*
 * How many CPUs a synthetic description asks for: the product of its levels. hwloc would build the
 * tree first and run out of memory.
 */
static unsigned long synthetic_cpus(const char *text)
{
    unsigned long product = 1;
    for (const char *at = text; *at;) {
        if (*at == '(' || *at == '[') {
            at += strcspn(at, *at == '(' ? ")" : "]");
            at += *at != '\0';
        } else if (*at == ':' || (isdigit((unsigned char)*at) &&
                                  (at == text || isspace((unsigned char)at[-1])))) {
            char *end;
            unsigned long n = strtoul(at + (*at == ':'), &end, 0);
            if (__builtin_mul_overflow(product, n, &product))
                return ~0UL;
            at = end;
        } else {
            at++;
        }
    }
    return product;
}

static int set_synthetic(hwloc_topology_t hw, const char *text, struct err *err)
{
    unsigned long cpus = synthetic_cpus(text);
    if (cpus > BITSET_BITS)
        return err_set(err, -EINVAL, "'%.80s' describes more than %d CPUs", text, BITSET_BITS);
    if (!text[0] || cpus == 0 || hwloc_topology_set_synthetic(hw, text))
        return err_set(err, -EINVAL,
                       "'%.80s' is neither a file nor a description such as "
                       "'package:2 l3:1 core:4 pu:2'",
                       text);
    return 0;
}

static int set_xml(hwloc_topology_t hw, const char *path, char **text, struct err *err)
{
    int length;
    int rc = read_file(path, text, &length, err);
    if (rc)
        return rc;
    if (hwloc_topology_set_xmlbuffer(hw, *text, length))
        return err_set(err, -EINVAL, "'%.120s' is not an hwloc XML topology", path);
    return 0;
}

/* We ask the drivers ourselves; hwloc's plugins would start CUDA, OpenCL and X behind our back. */
static void set_this_machine(hwloc_topology_t hw)
{
    static const char *const unwanted[] = {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"};
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        (void)hwloc_topology_set_components(hw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
}

bool topo_source_is_file(const char *text)
{
    struct stat st;
    return stat(text, &st) == 0 || ends_with(text, ".xml");
}

int topo_source_load(const char *xml, hwloc_topology_t *hw, struct err *err)
{
    char *text = NULL;
    int rc = 0;
    /* hwloc explains malformed input on stderr, in many lines; our one line is enough. */
    (void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
    *hw = NULL;
    if (hwloc_topology_init(hw))
        return err_set(err, -ENOMEM, "hwloc cannot start");
    (void)hwloc_topology_set_flags(*hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    (void)hwloc_topology_set_io_types_filter(*hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (!xml) {
        set_this_machine(*hw);
    } else if (topo_source_is_file(xml)) {
        rc = set_xml(*hw, xml, &text, err);
    } else {
        rc = set_synthetic(*hw, xml, err);
    }
    if (!rc && hwloc_topology_load(*hw))
        rc = xml ? err_set(err, -EINVAL, "'%.120s' is not a topology that hwloc can read", xml)
                 : err_sys(err, -errno, "hwloc cannot read this machine's topology");
    free(text);
    return rc;
}
