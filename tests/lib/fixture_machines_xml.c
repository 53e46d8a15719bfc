#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/bitset.h"
#include "harness/lib/text.h"
#include "tests/lib/fixture_machines.h"

enum {
    NODES_MAX = 64,
    KINDS = sizeof(((struct fixture_machine *)0)->cores) / sizeof(struct fixture_cores)
};

/* All nodes, those with CPUs first. */
struct node {
    unsigned os_node;
    unsigned long long bytes;
    const char *kind;
    int near; /* a node with CPUs, which may be itself; -1 = none */
};

struct writer {
    const struct fixture_machine *machine;
    unsigned package_cores, package_nodes, nodes, next_id;
    struct node node[NODES_MAX];
    struct bitset unlisted; /* os_node */
    struct strbuf out;
};

static const struct fixture_cores *kind_of(const struct fixture_machine *machine, unsigned core)
{
    const struct fixture_cores *kind = machine->cores;
    for (; core >= kind->count; kind++)
        core -= kind->count;
    return kind;
}

/* The number of cores and CPUs before this core in its package. */
static unsigned cpus_before(const struct fixture_machine *machine, unsigned core)
{
    unsigned n = 0;
    for (unsigned i = 0; i < core; i++)
        n += kind_of(machine, i)->threads;
    return n;
}

static unsigned os_cpu(const struct writer *w, unsigned package, unsigned core, unsigned thread)
{
    const struct fixture_machine *m = w->machine;
    unsigned cores = w->package_cores, all = cores * m->packages;
    unsigned index = package * cpus_before(m, cores) + cpus_before(m, core) + thread;
    switch (m->numbering) {
    case NUMBER_SIBLINGS_NEXT:
        return index;
    case NUMBER_PACKAGES_TURN:
        return thread * all + core * m->packages + package;
    case NUMBER_LISTED:
        return m->os_cpus[index];
    default:
        return thread * all + package * cores + core;
    }
}

/* The CPUs of cores [from, to) of the machine. */
static struct bitset cpus_of(const struct writer *w, unsigned from, unsigned to)
{
    struct bitset set = {0};
    for (unsigned core = from; core < to; core++) {
        unsigned package = core / w->package_cores, local = core % w->package_cores;
        for (unsigned t = 0; t < kind_of(w->machine, local)->threads; t++)
            bitset_set(&set, os_cpu(w, package, local, t));
    }
    return set;
}

/* The cores of a node that has CPUs. */
static void cores_of_node(const struct writer *w, unsigned node, unsigned *from, unsigned *to)
{
    unsigned span = w->machine->node_cores, package = node / w->package_nodes;
    *from = 0;
    *to = w->machine->packages * w->package_cores;
    if (!span)
        return;
    *from = package * w->package_cores + node % w->package_nodes * span;
    *to = *from + span;
    if (*to > (package + 1) * w->package_cores)
        *to = (package + 1) * w->package_cores;
}

static struct bitset cpus_of_node(const struct writer *w, unsigned i)
{
    unsigned from = 0, to = 0;
    if (w->node[i].near >= 0)
        cores_of_node(w, (unsigned)w->node[i].near, &from, &to);
    return cpus_of(w, from, to);
}

/* The nodes that contain these CPUs, and the nodes within them. */
static struct bitset nodes_of(const struct writer *w, const struct bitset *cpus)
{
    struct bitset set = {0};
    for (unsigned i = 0; i < w->nodes; i++) {
        struct bitset local = cpus_of_node(w, i);
        if (bitset_intersects(&local, cpus))
            bitset_set(&set, w->node[i].os_node);
    }
    return set;
}

/* In hwloc's notation of sets: words of 32 bits, the highest first. */
static void put_set(struct writer *w, const char *attribute, const struct bitset *set)
{
    int word = BITSET_BITS / 32 - 1;
    strbuf_addf(&w->out, " %s=\"", attribute);
    for (; word > 0 && !(unsigned)(set->word[word / 2] >> 32 * (word % 2)); word--)
        ;
    for (bool first = true; word >= 0; word--, first = false)
        strbuf_addf(&w->out, "%s0x%08x", first ? "" : ",",
                    (unsigned)(set->word[word / 2] >> 32 * (word % 2)));
    strbuf_addc(&w->out, '"');
}

static void begin(struct writer *w, const char *type, int os_index, const struct bitset *cpus,
                  const struct bitset *nodes)
{
    strbuf_addf(&w->out, "<object type=\"%s\"", type);
    if (os_index >= 0)
        strbuf_addf(&w->out, " os_index=\"%d\"", os_index);
    put_set(w, "cpuset", cpus);
    put_set(w, "complete_cpuset", cpus);
    struct bitset listed = *nodes;
    bitset_andnot(&listed, &w->unlisted);
    put_set(w, "nodeset", &listed);
    put_set(w, "complete_nodeset", nodes);
    strbuf_addf(&w->out, " gp_index=\"%u\"", ++w->next_id);
}

static void put_end(struct writer *w)
{
    strbuf_adds(&w->out, "</object>\n");
}

/* The nodes near a node with CPUs, that node first; or those near none. */
static void put_nodes(struct writer *w, int near)
{
    for (unsigned i = 0; i < w->nodes; i++) {
        const struct node *node = &w->node[i];
        struct bitset cpus = cpus_of_node(w, i), self = {0};
        if (node->near != near || bitset_test(&w->unlisted, node->os_node))
            continue;
        bitset_set(&self, node->os_node);
        begin(w, "NUMANode", (int)node->os_node, &cpus, &self);
        if (node->kind)
            strbuf_addf(&w->out, " subtype=\"%s\"", node->kind);
        strbuf_addf(&w->out, " local_memory=\"%llu\"/>\n", node->bytes);
    }
}

/* Each GPU sits below a bridge of its own. */
static void put_gpus(struct writer *w, int node)
{
    static const char bridge[] = "<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" "
                                 "depth=\"0\" bridge_pci=\"%.4s:[%.2s-%.2s]\">\n";
    for (const struct fixture_gpu *gpu = w->machine->gpus; gpu->bdf; gpu++) {
        if (gpu->node != node)
            continue;
        strbuf_addf(&w->out, bridge, ++w->next_id, gpu->bdf, gpu->bdf + 5, gpu->bdf + 5);
        strbuf_addf(&w->out,
                    "<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"%s\" "
                    "pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"0.000000\">\n"
                    "<info name=\"PCIDevice\" value=\"%s\"/>\n</object>\n</object>\n",
                    ++w->next_id, gpu->bdf, w->machine->gpu ? w->machine->gpu : "GPU");
    }
}

static void begin_cache(struct writer *w, int level, unsigned kib, const struct bitset *cpus,
                        const struct bitset *nodes)
{
    char type[] = "L0Cache";
    type[1] = (char)('0' + level);
    begin(w, type, -1, cpus, nodes);
    strbuf_addf(&w->out,
                " cache_size=\"%u\" depth=\"%d\" cache_type=\"%d\" cache_linesize=\"64\">\n",
                kib << 10, level, level == 1);
}

static void put_core(struct writer *w, unsigned core, const struct bitset *nodes)
{
    unsigned package = core / w->package_cores, local = core % w->package_cores;
    struct bitset cpus = cpus_of(w, core, core + 1);
    begin(w, "Core", (int)local, &cpus, nodes);
    strbuf_adds(&w->out, ">\n");
    for (unsigned t = 0; t < kind_of(w->machine, local)->threads; t++) {
        struct bitset one = {0};
        unsigned cpu = os_cpu(w, package, local, t);
        bitset_set(&one, cpu);
        begin(w, "PU", (int)cpu, &one, nodes);
        strbuf_adds(&w->out, "/>\n");
    }
    put_end(w);
}

/* The levels between package and core, the widest first. */
enum level { LEVEL_OUTER_L3, LEVEL_NODE, LEVEL_INNER_L3, LEVEL_L2, LEVEL_L1, LEVEL_CORE };

/* The number of cores below one object of a level; 0 = no such level here. */
static unsigned span_of(const struct writer *w, enum level level, unsigned core)
{
    const struct fixture_machine *m = w->machine;
    const struct fixture_cores *kind = kind_of(m, core % w->package_cores);
    switch (level) {
    case LEVEL_OUTER_L3:
        return !kind->no_l3 && m->node_cores && m->l3_cores > m->node_cores ? m->l3_cores : 0;
    case LEVEL_NODE:
        return m->node_cores < w->package_cores ? m->node_cores : 0;
    case LEVEL_INNER_L3:
        return !kind->no_l3 && !(m->node_cores && m->l3_cores > m->node_cores) ? m->l3_cores : 0;
    case LEVEL_L2:
        return kind->l2_cores;
    default:
        return 1;
    }
}

static void put_level(struct writer *w, enum level level, unsigned from, unsigned to)
{
    const struct fixture_machine *m = w->machine;
    for (unsigned next; from < to; from = next) {
        unsigned span = span_of(w, level, from);
        const struct fixture_cores *kind = kind_of(m, from % w->package_cores);
        next = span && from + span < to ? from + span : to;
        /* Cores that lack this level, up to the next core that has it. */
        for (unsigned i = from; !span && i < next; i++)
            if (span_of(w, level, i))
                next = i;
        struct bitset cpus = cpus_of(w, from, next), nodes = nodes_of(w, &cpus);
        if (level == LEVEL_CORE) {
            put_core(w, from, &nodes);
            continue;
        }
        int node = (int)(from / w->package_cores * w->package_nodes);
        if (level == LEVEL_NODE && span) {
            node += (int)(from % w->package_cores / span);
            begin(w, "Group", -1, &cpus, &nodes);
            strbuf_adds(&w->out, " kind=\"1001\" subkind=\"0\">\n");
            put_nodes(w, node);
        } else if (span) {
            unsigned kib = level == LEVEL_L1   ? kind->l1d_kib
                           : level == LEVEL_L2 ? kind->l2_kib
                                               : m->l3_mib << 10;
            begin_cache(w, level == LEVEL_L1 ? 1 : level == LEVEL_L2 ? 2 : 3, kib, &cpus, &nodes);
        }
        put_level(w, level + 1, from, next);
        if (level == LEVEL_NODE && span)
            put_gpus(w, node);
        if (span)
            put_end(w);
    }
}

static void put_package(struct writer *w, unsigned package)
{
    const struct fixture_machine *m = w->machine;
    unsigned from = package * w->package_cores, to = from + w->package_cores;
    struct bitset cpus = cpus_of(w, from, to), nodes = nodes_of(w, &cpus);
    bool is_node = m->node_cores == w->package_cores;
    begin(w, "Package", (int)package, &cpus, &nodes);
    strbuf_adds(&w->out, ">\n");
    if (m->cpu)
        strbuf_addf(&w->out, "<info name=\"CPUModel\" value=\"%s\"/>\n", m->cpu);
    if (is_node)
        put_nodes(w, (int)package);
    put_level(w, LEVEL_OUTER_L3, from, to);
    if (is_node)
        put_gpus(w, (int)package);
    put_end(w);
}

static struct bitset allowed(const char *list, const struct bitset *all)
{
    struct bitset set = {0};
    if (list && bitset_parse(list, &set, NULL))
        abort();
    return list ? set : *all;
}

static void put_machine(struct writer *w)
{
    const struct fixture_machine *m = w->machine;
    struct bitset cpus = cpus_of(w, 0, m->packages * w->package_cores), nodes = {0};
    for (unsigned i = 0; i < w->nodes; i++)
        if (!bitset_test(&w->unlisted, w->node[i].os_node))
            bitset_set(&nodes, w->node[i].os_node);
    struct bitset cpus_allowed = allowed(m->allowed_cpus, &cpus);
    struct bitset nodes_allowed = allowed(m->allowed_nodes, &nodes);
    bitset_or(&nodes, &w->unlisted);
    begin(w, "Machine", 0, &cpus, &nodes);
    put_set(w, "allowed_cpuset", &cpus_allowed);
    put_set(w, "allowed_nodeset", &nodes_allowed);
    strbuf_adds(&w->out, ">\n");
    if (!m->node_cores)
        put_nodes(w, 0);
    put_nodes(w, -1);
    for (unsigned p = 0; p < m->packages; p++)
        put_package(w, p);
    if (!m->node_cores)
        put_gpus(w, 0);
    put_gpus(w, -1);
    put_end(w);
}

static unsigned distance(const struct writer *w, unsigned a, unsigned b)
{
    const struct fixture_machine *m = w->machine;
    bool same = a / w->package_nodes == b / w->package_nodes;
    return m->distances ? m->distances[a * w->nodes + b] : a == b ? 10 : same ? m->near : m->far;
}

static void put_distances(struct writer *w)
{
    struct strbuf text = {0};
    unsigned n = w->nodes;
    if (!w->machine->distances && !w->machine->far)
        return;
    strbuf_addf(&w->out,
                "<distances2 type=\"NUMANode\" nbobjs=\"%u\" kind=\"5\" name=\"NUMALatency\" "
                "indexing=\"os\">\n",
                n);
    for (unsigned i = 0; i < n; i++)
        strbuf_addf(&text, "%u ", w->node[i].os_node);
    strbuf_addf(&w->out, "<indexes length=\"%zu\">%s</indexes>\n", text.length, text.text);
    for (unsigned a = 0; a < n; a++) {
        strbuf_free(&text);
        for (unsigned b = 0; b < n; b++)
            strbuf_addf(&text, "%u ", distance(w, a, b));
        strbuf_addf(&w->out, "<u64values length=\"%zu\">%s</u64values>\n", text.length, text.text);
    }
    strbuf_free(&text);
    strbuf_adds(&w->out, "</distances2>\n");
}

static void put_kinds(struct writer *w)
{
    const struct fixture_machine *m = w->machine;
    unsigned from = 0;
    for (unsigned k = 0; k < KINDS && m->cores[k].max_mhz; k++) {
        const struct fixture_cores *cores = &m->cores[k];
        struct bitset cpus = cpus_of(w, from, from + cores->count);
        from += cores->count;
        strbuf_adds(&w->out, "<cpukind");
        put_set(w, "cpuset", &cpus);
        if (cores->capacity)
            strbuf_addf(&w->out,
                        " forced_efficiency=\"%u\">\n<info name=\"LinuxCapacity\" "
                        "value=\"%u\"/>\n",
                        cores->capacity, cores->capacity);
        else
            strbuf_addf(&w->out, ">\n<info name=\"CoreType\" value=\"%s\"/>\n",
                        cores->atom ? "IntelAtom" : "IntelCore");
        strbuf_addf(&w->out, "<info name=\"FrequencyMaxMHz\" value=\"%u\"/>\n</cpukind>\n",
                    cores->max_mhz);
    }
}

static void count(struct writer *w)
{
    const struct fixture_machine *m = w->machine;
    for (unsigned k = 0; k < KINDS; k++)
        w->package_cores += m->cores[k].count;
    w->package_nodes = m->node_cores ? (w->package_cores + m->node_cores - 1) / m->node_cores : 1;
    unsigned with_cpus = m->node_cores ? m->packages * w->package_nodes : 1;
    for (unsigned i = 0; i < with_cpus; i++)
        w->node[w->nodes++] = (struct node){
            i, (unsigned long long)(m->nodes_gib ? m->nodes_gib[i] : m->node_gib) << 30, NULL,
            (int)i};
    for (const struct fixture_memory *extra = m->extra; extra->gib; extra++)
        w->node[w->nodes++] = (struct node){extra->os_node, (unsigned long long)extra->gib << 30,
                                            extra->kind, extra->near};
    for (unsigned i = 0; i < w->nodes && m->lists_no_empty_node; i++)
        if (!w->node[i].bytes)
            bitset_set(&w->unlisted, w->node[i].os_node);
}

char *fixture_machine_xml(const struct fixture_machine *machine)
{
    struct writer w = {.machine = machine};
    count(&w);
    strbuf_adds(&w.out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n");
    put_machine(&w);
    put_distances(&w);
    put_kinds(&w);
    strbuf_adds(&w.out, "</topology>\n");
    char *text = strbuf_take(&w.out);
    if (!text)
        abort();
    return text;
}

void fixture_machine_write(const struct fixture_machine *machine, char *path)
{
    char *text = fixture_machine_xml(machine);
    int fd = mkstemps(path, 4);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    (void)close(fd);
    free(text);
}
