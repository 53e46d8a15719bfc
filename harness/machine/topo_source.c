#include "harness/machine/topo_source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"

/*
 * Makes a root for hwloc that lacks /sys/devices/system/cpu/online, so that hwloc checks each CPU.
 *
 * In a container, lxcfs renumbers that list (0-3 for CPUs 12-15), while affinity masks, cgroups and
 * all other files have the host's numbers. hwloc would believe the list.
 *
 *   rc = topo_root_make(&root, &err);
 *   ... hwloc_topology_load with HWLOC_FSROOT=root.path ...
 *   topo_root_remove(&root);
 */

struct topo_root {
    char path[PATH_MAX]; /* a directory of links in TMPDIR, /tmp or /dev/shm; "" = none */
};

static void topo_root_remove(const struct topo_root *root);

/* Directories of the root. `except` is no link: it is the next directory, or the hidden file. */
static const struct {
    const char *path, *except;
} levels[] = {{"", "sys"},
              {"/sys", "devices"},
              {"/sys/devices", "system"},
              {"/sys/devices/system", "cpu"},
              {"/sys/devices/system/cpu", "online"}};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

static bool is_link(int level, const char *name)
{
    if (name[0] == '.' || strcmp(name, levels[level].except) == 0)
        return false;
    return level > 0 || strcmp(name, "proc") == 0;
}

static int join(char *to, const char *root, const char *dir, const char *name)
{
    int n = snprintf(to, PATH_MAX, "%s%s/%s", root, dir, name);
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Links all entries of the machine's own directory. */
static int fill(const struct topo_root *root, int level)
{
    char from[PATH_MAX], to[PATH_MAX];
    const char *path = levels[level].path;
    int rc = 0;
    DIR *dir = opendir(level ? path : "/");
    if (!dir)
        return -errno;
    for (struct dirent *entry; !rc && (entry = readdir(dir));) {
        if (!is_link(level, entry->d_name))
            continue;
        rc = join(from, "", path, entry->d_name);
        if (!rc)
            rc = join(to, root->path, path, entry->d_name);
        if (!rc && symlink(from, to))
            rc = -errno;
    }
    (void)closedir(dir);
    return rc;
}

static int make_in(const char *where, struct topo_root *root)
{
    char path[PATH_MAX];
    int n = snprintf(root->path, sizeof(root->path), "%s/contend-root-XXXXXX", where);
    int rc = n >= (int)sizeof(root->path) ? -ENAMETOOLONG : mkdtemp(root->path) ? 0 : -errno;
    if (rc)
        root->path[0] = '\0';
    for (int i = 0; i < LEVELS && !rc; i++) {
        rc = join(path, root->path, levels[i].path, "");
        if (!rc && i && mkdir(path, 0700))
            rc = -errno;
        if (!rc)
            rc = fill(root, i);
    }
    if (rc) {
        topo_root_remove(root);
        root->path[0] = '\0';
    }
    return rc;
}

/* -errno if no directory can be made. Remove it also after an error. */
static int topo_root_make(struct topo_root *root, struct err *err)
{
    const char *given = getenv("TMPDIR");
    const char *const places[] = {given && *given ? given : "/tmp", "/tmp", "/dev/shm"};
    int rc = -ENOENT;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && rc; i++)
        rc = make_in(places[i], root);
    return rc ? err_sys(err, rc,
                        "/sys/devices/system/cpu/online lacks CPUs that this process may use, as "
                        "under lxcfs; to read past it takes a directory: set TMPDIR to one that "
                        "can be written")
              : 0;
}

static void topo_root_remove(const struct topo_root *root)
{
    char path[PATH_MAX], name[PATH_MAX];
    for (int i = LEVELS; root->path[0] && i-- > 0;) {
        if (join(path, root->path, levels[i].path, ""))
            continue;
        DIR *dir = opendir(path);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (is_link(i, entry->d_name) && !join(name, path, "", entry->d_name))
                (void)unlink(name);
        if (dir)
            (void)closedir(dir);
        (void)rmdir(path);
    }
}

enum { LOAD_LIMIT_S = 20 }; /* 4,096 CPUs load in well under a second */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/*
 * Number of CPUs in a synthetic description: the product of its levels. Checked first, because
 * hwloc would build the tree and run out of memory.
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

/* The source to load; both NULL = this machine. */
struct source {
    const char *description; /* synthetic, or NULL */
    const char *path;        /* of an XML file, or NULL */
};

/*
 * Excludes plugins that would start CUDA, OpenCL and X: contend queries the drivers itself. "pci"
 * leaks, and hwloc reads the PCI bus from sysfs without it.
 */
static void set_this_machine(hwloc_topology_t hw)
{
    static const char *const unwanted[] = {"cuda", "nvml",      "opencl", "gl",
                                           "rsmi", "levelzero", "pci"};
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        (void)hwloc_topology_set_components(hw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
}

/* -1 if hwloc does not understand the source. The caller destroys *hw unless it is NULL. */
static int load(const struct source *source, hwloc_topology_t *hw)
{
    int rc = 0;
    *hw = NULL;
    if (hwloc_topology_init(hw))
        return -1;
    (void)hwloc_topology_set_flags(*hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    (void)hwloc_topology_set_io_types_filter(*hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (source->path)
        rc = hwloc_topology_set_xml(*hw, source->path);
    else if (source->description)
        rc = hwloc_topology_set_synthetic(*hw, source->description);
    else
        set_this_machine(*hw);
    sigset_t before;
    signals_block(&before); /* hwloc's plugins load drivers */
    rc = rc ? rc : hwloc_topology_load(*hw);
    signals_restore(&before);
    return rc;
}

/* Runs in a child process. */
static int try_load(void *arg)
{
    hwloc_topology_t hw;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDOUT_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    (void)prctl(PR_SET_DUMPABLE, 0); /* a crash is an expected answer: no core file */
    (void)alarm(LOAD_LIMIT_S);
    return load(arg, &hw) ? 1 : 0;
}

/*
 * Loads an untrusted source after a child process has tried it: a malformed XML can crash hwloc
 * (2.9's own parser dereferences NULL if a CPU set is missing). -EINVAL: hwloc cannot read it.
 */
static int load_tried(struct source source, hwloc_topology_t *hw, struct err *err)
{
    struct process child;
    int status = PROCESS_STATUS_UNKNOWN, rc = process_start(&child, false, try_load, &source);
    if (rc)
        return err_sys(err, rc, "cannot start a process that tries the topology");
    (void)process_end(&child, LOAD_LIMIT_S + 1, &status);
    if (status == PROCESS_STATUS_UNKNOWN)
        return err_set(err, -ECHILD, "nothing says how the process that tried the topology ended");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && !load(&source, hw) ? 0 : -EINVAL;
}

bool topo_source_is_file(const char *xml)
{
    struct stat st;
    return stat(xml, &st) == 0 || ends_with(xml, ".xml");
}

/* The major version of hwloc's XML format that the file states; 0 = none. */
static unsigned long xml_version(const char *path)
{
    static const char element[] = "<topology", attribute[] = "version=";
    char head[4096];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
    if (fd >= 0)
        (void)close(fd);
    head[n > 0 ? n : 0] = '\0';
    char *at = strstr(head, element);
    if (!at)
        return 0;
    at[strcspn(at, ">")] = '\0';
    at = strstr(at, attribute);
    return at ? strtoul(at + strlen(attribute) + 1, NULL, 10) : 0; /* 1: the quote */
}

static int load_file(const char *path, hwloc_topology_t *hw, struct err *err)
{
    const unsigned own = hwloc_get_api_version() >> 16;
    if (access(path, R_OK))
        return err_sys(err, -errno, "cannot read the topology '%.120s'", path);
    int rc = load_tried((struct source){.path = path}, hw, err);
    if (rc != -EINVAL)
        return rc;
    unsigned long version = xml_version(path);
    if (version > own)
        return err_set(err, rc,
                       "'%.110s' is a file of hwloc %lu, and contend has hwloc %u; lstopo of hwloc "
                       "%lu converts it: 'lstopo -i FILE --export-xml-flags v%u NEW.xml'",
                       path, version, own, version, own);
    return err_set(err, rc,
                   "hwloc %u cannot read '%.120s' as a topology XML; 'lstopo FILE.xml' writes one",
                   own, path);
}

static int load_description(const char *text, hwloc_topology_t *hw, struct err *err)
{
    unsigned long cpus = synthetic_cpus(text);
    if (cpus > BITSET_BITS)
        return err_set(err, -EINVAL, "'%.80s' describes more than %d CPUs", text, BITSET_BITS);
    int rc = text[0] && cpus ? load_tried((struct source){.description = text}, hw, err) : -EINVAL;
    return rc != -EINVAL ? rc
                         : err_set(err, rc,
                                   "'%.80s' is neither a file nor a description such as "
                                   "'package:2 l3:1 core:4 pu:2'",
                                   text);
}

/* CPUs that this process may use but that hwloc does not list. hw: NULL = lists none. */
static void find_hidden(hwloc_topology_t hw, struct bitset *hidden)
{
    hwloc_const_bitmap_t listed = hw ? hwloc_topology_get_topology_cpuset(hw) : NULL;
    struct bitset mask;
    *hidden = (struct bitset){0};
    if (affinity_get(0, &mask))
        return;
    for (int cpu = bitset_next(&mask, 0); cpu >= 0; cpu = bitset_next(&mask, (unsigned)cpu + 1))
        if (!listed || !hwloc_bitmap_isset(listed, (unsigned)cpu))
            bitset_set(hidden, (unsigned)cpu);
}

/* Loads this machine without its list of online CPUs, which lacks CPUs that we may use. */
static int load_past_online(hwloc_topology_t *hw, struct err *err)
{
    static const char variable[] = "HWLOC_FSROOT", ours[] = "HWLOC_THISSYSTEM";
    struct source this_machine = {0};
    struct topo_root root = {""};
    int rc = topo_root_make(&root, err);
    if (rc)
        return rc;
    hwloc_topology_destroy(*hw);
    (void)setenv(variable, root.path, 1);
    (void)setenv(ours, "1", 1);
    if (load(&this_machine, hw))
        rc = err_set(err, -EIO, "hwloc cannot read this machine's topology");
    (void)unsetenv(variable);
    (void)unsetenv(ours);
    topo_root_remove(&root);
    return rc;
}

int topo_source_load(const char *xml, hwloc_topology_t *hw, struct bitset *hidden, struct err *err)
{
    struct source this_machine = {0};
    *hw = NULL;
    *hidden = (struct bitset){0};
    /* Stops hwloc's long messages on stderr; our own message is one line. */
    (void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (xml)
        return topo_source_is_file(xml) ? load_file(xml, hw, err) : load_description(xml, hw, err);
    int rc = affinity_check();
    if (rc) /* hwloc would retry forever with ever more CPUs */
        return err_sys(err, rc,
                       "the kernel does not tell which CPUs this process may use "
                       "(sched_getaffinity; under a sandbox?)");
    bool failed = load(&this_machine, hw); /* fails if the online list has no existing CPU */
    find_hidden(failed ? NULL : *hw, hidden);
    bool elsewhere = getenv("HWLOC_FSROOT") || getenv("HWLOC_THISSYSTEM"); /* set by the caller */
    if (!bitset_empty(hidden) && !elsewhere)
        return load_past_online(hw, err);
    return failed ? err_set(err, -EIO, "hwloc cannot read this machine's topology") : 0;
}
