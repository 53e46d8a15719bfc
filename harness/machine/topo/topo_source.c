#include "harness/machine/topo/topo_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/base/bitset.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/topo/topo_root.h"
#include "harness/machine/topo/topo_xml.h"

enum {
    XML_MAX_BYTES = 64 << 20, /* the largest XML in hwloc's own tests has 3 MB */
    LOAD_LIMIT_S = 20         /* 4,096 CPUs load in well under a second */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Reads a whole file into a new buffer, with a NUL behind its *length bytes. */
static int read_file(const char *path, char **text, size_t *length, struct err *err)
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
    if (!rc && *text)
        (*text)[used] = '\0';
    *length = used;
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

/* The source to load, checked as far as it can be without hwloc. */
struct source {
    const char *description; /* synthetic, or NULL */
    struct topo_xml xml;     /* of a file, or empty; neither: this machine */
};

/*
 * We ask the drivers ourselves; these plugins would start CUDA, OpenCL and X behind our back. "pci"
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

/*
 * By hwloc's own parser, so that a file is read alike with and without hwloc's plugin for libxml2,
 * which moreover ignores what follows a comment. hwloc looks at the variable here; what we start
 * must not inherit it. One that is set stands.
 */
static int set_xml(hwloc_topology_t hw, const struct topo_xml *xml)
{
    static const char variable[] = "HWLOC_LIBXML_IMPORT";
    bool is_set = getenv(variable) != NULL;
    (void)setenv(variable, "0", 0);
    int rc = hwloc_topology_set_xmlbuffer(hw, xml->text, (int)xml->bytes + 1);
    if (!is_set)
        (void)unsetenv(variable);
    return rc;
}

/* 0, or -1 when hwloc does not understand the source. *hw is the caller's to destroy, or NULL. */
static int load(const struct source *source, hwloc_topology_t *hw)
{
    int rc = 0;
    *hw = NULL;
    if (hwloc_topology_init(hw))
        return -1;
    (void)hwloc_topology_set_flags(*hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    (void)hwloc_topology_set_io_types_filter(*hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (source->xml.text)
        rc = set_xml(*hw, &source->xml);
    else if (source->description)
        rc = hwloc_topology_set_synthetic(*hw, source->description);
    else
        set_this_machine(*hw);
    sigset_t before;
    signals_hold(&before); /* its plugins load drivers */
    rc = rc ? rc : hwloc_topology_load(*hw);
    signals_release(&before);
    return rc;
}

/* A load that a child tries before us, and how it ended. */
struct trial {
    const struct source *source;
    int pipe[2];    /* from the child's stderr; writes never block, what is too much is lost */
    char said[100]; /* why hwloc refuses, in its words; "" = it does not say, or all is well */
};

/* In a child. */
static int try_load(void *arg)
{
    const struct trial *trial = arg;
    hwloc_topology_t hw;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, STDOUT_FILENO);
    (void)dup2(trial->pipe[1], STDERR_FILENO);
    (void)setenv("HWLOC_XML_VERBOSE", "1", 1);
    (void)prctl(PR_SET_DUMPABLE, 0); /* a crash here is an answer, not worth a core file */
    (void)alarm(LOAD_LIMIT_S);
    return load(trial->source, &hw) ? 1 : 0;
}

/*
 * The reason is the last line before hwloc sums up; those before it tell what it ignores. hwloc
 * looks at its variable once a process: of a second XML it says nothing.
 */
static void read_reason(struct trial *trial)
{
    static const char from[] = "xmlbuffer: ";
    char text[4096];
    ssize_t n = read(trial->pipe[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] != '\0');
        line[length] = '\0';
        if (!strncmp(line, "Failed to parse", 15) || strstr(line, "discovery failed"))
            break;
        if (!strncmp(line, from, sizeof(from) - 1))
            line += sizeof(from) - 1;
        topo_xml_quote(trial->said, sizeof(trial->said), line, strlen(line));
        line = next;
    }
}

/* Runs the trial; *status is its end. */
static int run_trial(struct trial *trial, int *status, struct err *err)
{
    struct process child;
    if (pipe2(trial->pipe, O_CLOEXEC | O_NONBLOCK))
        return err_sys(err, -errno, "cannot make a pipe");
    int rc = process_start(&child, false, try_load, trial);
    (void)close(trial->pipe[1]);
    if (rc) {
        (void)err_sys(err, rc, "cannot start a process that tries the topology");
    } else {
        process_wait(&child, status);
        read_reason(trial);
    }
    (void)close(trial->pipe[0]);
    if (!rc && *status == PROCESS_STATUS_UNKNOWN)
        rc = err_set(err, -ECHILD, "nothing says how the process that tried the topology ended");
    return rc;
}

/*
 * Loads what comes from outside, of which a child has tried before us whether hwloc survives it: a
 * malformed XML can crash it (2.9's own parser runs into NULL where a CPU set is missing). -EINVAL:
 * hwloc does not understand it, and `said` has the reason.
 */
static int load_tried(struct source *source, hwloc_topology_t *hw, char *said, size_t size,
                      struct err *err)
{
    struct trial trial = {.source = source};
    int status = PROCESS_STATUS_UNKNOWN, rc = run_trial(&trial, &status, err);
    if (rc)
        return rc;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !load(source, hw))
        return 0;
    if (WIFSIGNALED(status))
        (void)snprintf(said, size, "it ends by signal %d%s%s", WTERMSIG(status),
                       trial.said[0] ? ": " : "", trial.said);
    else
        (void)snprintf(said, size, "%s", trial.said);
    return -EINVAL;
}

bool topo_source_is_file(const char *xml)
{
    struct stat st;
    return stat(xml, &st) == 0 || ends_with(xml, ".xml");
}

static int load_file(const char *path, hwloc_topology_t *hw, struct err *err)
{
    struct source source = {0};
    unsigned library = hwloc_get_api_version() >> 16;
    char *text, said[128] = "";
    size_t length = 0;
    int rc = read_file(path, &text, &length, err);
    if (!rc)
        rc = topo_xml_normalise(path, text, length, &source.xml, err);
    free(text);
    const struct topo_xml *xml = &source.xml;
    if (!rc && (rc = load_tried(&source, hw, said, sizeof(said), err)) == -EINVAL) {
        if (xml->major > library)
            (void)err_set(err, rc,
                          "hwloc %u cannot read '%.80s', a topology XML of version %u.%u; export "
                          "it for hwloc 2: lstopo --export-xml-flags v2 FILE.xml",
                          library, path, xml->major, xml->minor);
        else
            (void)err_set(err, rc,
                          "hwloc %u cannot read '%.80s', a topology XML of version %u.%u%s%s",
                          library, path, xml->major, xml->minor, said[0] ? ": " : "", said);
    }
    topo_xml_free(&source.xml);
    return rc;
}

static int load_description(const char *text, hwloc_topology_t *hw, struct err *err)
{
    struct source source = {.description = text};
    char said[128];
    unsigned long cpus = synthetic_cpus(text);
    if (cpus > BITSET_BITS)
        return err_set(err, -EINVAL, "'%.80s' describes more than %d CPUs", text, BITSET_BITS);
    int rc = text[0] && cpus ? load_tried(&source, hw, said, sizeof(said), err) : -EINVAL;
    if (rc == -EINVAL)
        (void)err_set(err, rc,
                      "'%.80s' is neither a file nor a description such as "
                      "'package:2 l3:1 core:4 pu:2'",
                      text);
    return rc;
}

/* CPUs that this process may use, and that hwloc, or NULL, does not list. */
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

/* CPUs that this process may use exist, even if the list of online CPUs lacks them. */
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
    /* hwloc explains what it dislikes on stderr, in many lines; our one line is enough. */
    (void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (xml)
        return topo_source_is_file(xml) ? load_file(xml, hw, err) : load_description(xml, hw, err);
    int rc = affinity_check();
    if (rc) /* hwloc would ask again and again, with ever more CPUs */
        return err_sys(err, rc,
                       "the kernel does not tell which CPUs this process may use "
                       "(sched_getaffinity; under a sandbox?)");
    bool failed = load(&this_machine, hw); /* as where the list names no CPU that there is */
    find_hidden(failed ? NULL : *hw, hidden);
    bool elsewhere = getenv("HWLOC_FSROOT") || getenv("HWLOC_THISSYSTEM"); /* by the caller */
    if (!bitset_empty(hidden) && !elsewhere)
        return load_past_online(hw, err);
    return failed ? err_set(err, -EIO, "hwloc cannot read this machine's topology") : 0;
}
