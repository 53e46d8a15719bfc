#include "harness/machine/topo.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"
#include "harness/machine/topo_gpu.h"
#include "harness/machine/topo_source.h"

enum {
    LLC_MIN_LEVEL = 2, /* workers never share an L1 */
    PCI_VENDOR_NVIDIA = 0x10de,
    PCI_CLASS_VGA = 0x0300,
    PCI_CLASS_3D = 0x0302,
    MPOL_F_MEMS_ALLOWED_FLAG = 4 /* linux/mempolicy.h: ask for the allowed nodes */
};

/* Copies untrusted text without control characters, which would reach the terminal. */
static void copy_text(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
    size_t used = 0;
    for (size_t i = 0; to[i]; i++) {
        if ((unsigned char)to[i] < ' ' || to[i] == 0x7f)
            to[i] = '?';
        if (to[i] != ' ')
            used = i + 1;
    }
    to[used] = '\0'; /* some processor names end with spaces */
}

/* The outermost data cache of a CPU; without caches its package, or the machine. *level: its level,
 * 0 = no cache. */
static hwloc_obj_t find_llc(hwloc_obj_t pu, unsigned *level)
{
    hwloc_obj_t llc = NULL, package = NULL, top = pu;
    *level = 0;
    for (hwloc_obj_t at = pu->parent; at; at = at->parent) {
        if (hwloc_obj_type_is_dcache(at->type) && at->attr->cache.depth >= LLC_MIN_LEVEL) {
            llc = at;
            *level = at->attr->cache.depth;
        }
        if (at->type == HWLOC_OBJ_PACKAGE)
            package = at;
        top = at;
    }
    return llc ? llc : package ? package : top;
}

/* Numbers groups in the order of their members. */
static int number_group(hwloc_obj_t group, hwloc_obj_t *last, unsigned *count)
{
    if (group != *last)
        (*count)++;
    *last = group;
    return (int)*count - 1;
}

/* Last caches of a lower level than the machine's, as of low-power cores outside of the L3, are
 * numbered after the others. */
static void number_llcs(hwloc_topology_t hw, struct topo *topo)
{
    unsigned level, all = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        (void)find_llc(hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, i), &level);
        topo->llc_level = level > topo->llc_level ? level : topo->llc_level;
    }
    for (int last_level = 1; last_level >= 0; last_level--) {
        hwloc_obj_t llc = NULL;
        for (unsigned i = 0; i < topo->ncpus; i++) {
            hwloc_obj_t own = find_llc(hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, i), &level);
            if ((level == topo->llc_level) == last_level)
                topo->cpus[i].llc = number_group(own, &llc, &all);
        }
        if (last_level)
            topo->nllcs = all;
    }
}

static hwloc_obj_t ancestor_or(hwloc_topology_t hw, hwloc_obj_type_t type, hwloc_obj_t obj,
                               hwloc_obj_t otherwise)
{
    hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(hw, type, obj);
    return found ? found : otherwise;
}

static int fill_cpus(hwloc_topology_t hw, struct topo *topo, struct err *err)
{
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(hw);
    hwloc_obj_t root = hwloc_get_root_obj(hw), core = NULL, package = NULL;
    int n = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU);
    if (n < 1)
        return err_set(err, -EINVAL, "%.120s has no CPU", topo->origin);
    topo->cpus = calloc((size_t)n, sizeof(*topo->cpus));
    if (!topo->cpus)
        return err_set(err, -ENOMEM, "no memory for %d CPUs", n);
    for (int i = 0; i < n; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, (unsigned)i);
        struct topo_cpu *cpu = &topo->cpus[i];
        if (pu->os_index >= BITSET_BITS)
            return err_set(err, -ENOTSUP, "%.100s has a CPU number %u; at most %d are supported",
                           topo->origin, pu->os_index, BITSET_BITS - 1);
        cpu->os_cpu = pu->os_index;
        cpu->core = number_group(ancestor_or(hw, HWLOC_OBJ_CORE, pu, pu), &core, &topo->ncores);
        cpu->smt = i && cpu[-1].core == cpu->core ? cpu[-1].smt + 1 : 0;
        cpu->package =
            number_group(ancestor_or(hw, HWLOC_OBJ_PACKAGE, pu, root), &package, &topo->npackages);
        cpu->node = -1;
        cpu->allowed = hwloc_bitmap_isset(allowed, pu->os_index);
    }
    topo->ncpus = (unsigned)n;
    number_llcs(hw, topo);
    return 0;
}

static void bitset_from_hwloc(hwloc_const_bitmap_t from, struct bitset *to)
{
    memset(to, 0, sizeof(*to));
    if (from)
        for (int i = hwloc_bitmap_next(from, -1); i >= 0 && i < BITSET_BITS;
             i = hwloc_bitmap_next(from, i))
            bitset_set(to, (unsigned)i);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct topo_node *x = a, *y = b;
    return (x->os_node > y->os_node) - (x->os_node < y->os_node);
}

/* Adds nodes that are known only by their CPUs: an XML file lists no node without memory, or whose
 * memory was not allowed. `nodes` has room for one more of each CPU. */
static void add_unlisted(hwloc_topology_t hw, struct topo *topo)
{
    for (unsigned i = 0; i < topo->ncpus; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, i);
        int os_node = hwloc_bitmap_first(pu->complete_nodeset);
        if (hwloc_bitmap_first(pu->nodeset) >= 0 || os_node < 0 || os_node >= BITSET_BITS)
            continue;
        int node = topo_node_index(topo, (unsigned)os_node);
        if (node < 0) {
            node = (int)topo->nnodes++;
            topo->nodes[node] = (struct topo_node){.os_node = (unsigned)os_node, .unlisted = true};
        }
        bitset_set(&topo->nodes[node].cpus, pu->os_index);
    }
}

static int fill_nodes(hwloc_topology_t hw, struct topo *topo, struct err *err)
{
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(hw);
    int n = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE);
    bool sizes_known = false;
    if (n < 1)
        return 0;
    topo->nodes = calloc((size_t)n + topo->ncpus, sizeof(*topo->nodes));
    if (!topo->nodes)
        return err_set(err, -ENOMEM, "no memory for %d NUMA nodes", n);
    for (int i = 0; i < n; i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(hw, HWLOC_OBJ_NUMANODE, (unsigned)i);
        struct topo_node *node = &topo->nodes[i];
        if (obj->os_index >= BITSET_BITS)
            return err_set(err, -ENOTSUP, "%.100s has a NUMA node number %u; at most %d", //
                           topo->origin, obj->os_index, BITSET_BITS - 1);
        node->os_node = obj->os_index;
        node->memory_bytes = obj->attr->numanode.local_memory;
        node->allowed = hwloc_bitmap_isset(allowed, obj->os_index);
        bitset_from_hwloc(obj->cpuset, &node->cpus);
        if (obj->subtype && strcmp(obj->subtype, "DRAM") != 0)
            copy_text(node->kind, sizeof(node->kind), obj->subtype);
        sizes_known |= node->memory_bytes > 0;
    }
    topo->nnodes = (unsigned)n;
    add_unlisted(hw, topo);
    qsort(topo->nodes, topo->nnodes, sizeof(*topo->nodes), compare_nodes);
    /* If any node reports its size, 0 means no memory; else it means unknown. */
    for (unsigned i = 0; sizes_known && i < topo->nnodes; i++)
        topo->nodes[i].allowed &= topo->nodes[i].memory_bytes > 0;
    return 0;
}

/* Missing values stay 0, such as those of a node that hwloc does not list. */
static int fill_distances(hwloc_topology_t hw, struct topo *topo, struct err *err)
{
    struct hwloc_distances_s *found[1];
    unsigned n = 1;
    if (hwloc_distances_get_by_type(hw, HWLOC_OBJ_NUMANODE, &n, found,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) ||
        n == 0)
        return 0;
    size_t nodes = topo->nnodes;
    topo->distances = calloc(nodes * nodes, sizeof(*topo->distances));
    if (!topo->distances) {
        hwloc_distances_release(hw, found[0]);
        return err_set(err, -ENOMEM, "no memory for the distances of %zu nodes", nodes);
    }
    for (unsigned a = 0; a < found[0]->nbobjs; a++)
        for (unsigned b = 0; b < found[0]->nbobjs; b++) {
            hwloc_uint64_t value = found[0]->values[a * found[0]->nbobjs + b];
            int from = topo_node_index(topo, found[0]->objs[a]->os_index);
            int to = topo_node_index(topo, found[0]->objs[b]->os_index);
            if (from >= 0 && to >= 0)
                topo->distances[(size_t)from * nodes + (size_t)to] =
                    value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
        }
    hwloc_distances_release(hw, found[0]);
    return 0;
}

static void read_kind(const struct hwloc_info_s *infos, unsigned n, struct topo_kind *kind)
{
    *kind = (struct topo_kind){0};
    for (unsigned i = 0; i < n; i++) {
        const char *name = infos[i].name, *value = infos[i].value;
        if (!strcmp(name, "LinuxCapacity"))
            kind->capacity = strtod(value, NULL);
        else if (!strcmp(name, "FrequencyMaxMHz"))
            kind->max_mhz = strtod(value, NULL);
        else if (!strcmp(name, "FrequencyBaseMHz"))
            kind->base_mhz = strtod(value, NULL);
        else if (!strcmp(name, "CoreType"))
            copy_text(kind->design, sizeof(kind->design), value);
    }
}

static void fill_kinds(hwloc_topology_t hw, struct topo *topo)
{
    struct topo_kind kinds[TOPO_KINDS_MAX];
    int n = hwloc_cpukinds_get_nr(hw, 0), merged[TOPO_KINDS_MAX] = {0};
    unsigned used = 0;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    for (int kind = 0; cpus && kind < n && used < TOPO_KINDS_MAX; kind++) {
        struct hwloc_info_s *infos = NULL;
        unsigned ninfos = 0;
        int efficiency = -1;
        bool found = false;
        if (hwloc_cpukinds_get_info(hw, (unsigned)kind, cpus, &efficiency, &ninfos, &infos, 0))
            continue;
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (hwloc_bitmap_isset(cpus, topo->cpus[i].os_cpu)) {
                topo->cpus[i].kind = (int)used;
                found = true;
            }
        read_kind(infos, ninfos, &kinds[used]);
        kinds[used].efficiency = efficiency;
        used += found;
    }
    hwloc_bitmap_free(cpus);
    topo->nkinds = topo_kinds_merge(kinds, used, merged);
    for (unsigned i = 0; i < topo->ncpus; i++)
        topo->cpus[i].kind = merged[topo->cpus[i].kind];
}

/* Counts equal caches together; a hybrid machine has several kinds on one level. */
static void count_cache(struct topo *topo, const struct topo_cache *cache)
{
    const unsigned room = sizeof(topo->caches) / sizeof(topo->caches[0]);
    for (unsigned i = 0; i < topo->ncaches; i++) {
        struct topo_cache *known = &topo->caches[i];
        if (known->level == cache->level && known->size_bytes == cache->size_bytes &&
            known->cpus == cache->cpus) {
            known->count++;
            return;
        }
    }
    if (topo->ncaches < room)
        topo->caches[topo->ncaches++] = *cache;
}

static void fill_caches(hwloc_topology_t hw, struct topo *topo)
{
    for (unsigned level = 1; level <= 5; level++) {
        int depth = hwloc_get_cache_type_depth(hw, level, HWLOC_OBJ_CACHE_DATA);
        for (hwloc_obj_t obj = NULL;
             depth >= 0 && (obj = hwloc_get_next_obj_by_depth(hw, depth, obj));) {
            struct topo_cache cache = {.level = (int)level,
                                       .size_bytes = obj->attr->cache.size,
                                       .count = 1,
                                       .cpus = (unsigned)hwloc_bitmap_weight(obj->cpuset)};
            if (cache.cpus)
                count_cache(topo, &cache);
        }
    }
}

/* The ordinal in an OS device name such as "cuda3", or -1. */
static int device_ordinal(hwloc_obj_t pci, const char *prefix)
{
    for (hwloc_obj_t io = pci->io_first_child; io; io = io->next_sibling) {
        size_t n = strlen(prefix);
        if (io->type == HWLOC_OBJ_OS_DEVICE && io->name && !strncmp(io->name, prefix, n) &&
            io->name[n] >= '0' && io->name[n] <= '9')
            return (int)strtol(io->name + n, NULL, 10);
    }
    return -1;
}

static bool is_gpu(hwloc_obj_t pci)
{
    const struct hwloc_pcidev_attr_s *attr = &pci->attr->pcidev;
    bool display = attr->class_id == PCI_CLASS_VGA || attr->class_id == PCI_CLASS_3D;
    return (display && attr->vendor_id == PCI_VENDOR_NVIDIA) || device_ordinal(pci, "cuda") >= 0 ||
           device_ordinal(pci, "nvml") >= 0;
}

/* The first value of this key in the device and its OS devices, or NULL. */
static const char *device_info(hwloc_obj_t pci, const char *key)
{
    const char *value = hwloc_obj_get_info_by_name(pci, key);
    for (hwloc_obj_t io = pci->io_first_child; io && !value; io = io->next_sibling)
        value = hwloc_obj_get_info_by_name(io, key);
    return value;
}

/*
 * A GPU is near the node of its closest non-I/O ancestor, unless that is the whole machine: hwloc
 * puts devices of unknown locality there.
 */
static void locate_gpu(hwloc_topology_t hw, hwloc_obj_t pci, struct topo *topo,
                       struct topo_gpu *gpu)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(hw, pci);
    gpu->node = -1;
    if (!near || hwloc_bitmap_isequal(near->cpuset, hwloc_get_root_obj(hw)->cpuset))
        return;
    bitset_from_hwloc(near->cpuset, &gpu->cpus);
    gpu->node = topo_node_of_cpus(topo, &gpu->cpus);
    gpu->source = gpu->node >= 0 ? TOPO_HWLOC : TOPO_UNKNOWN;
}

static int compare_gpus(const void *a, const void *b)
{
    const struct topo_gpu *x = a, *y = b;
    if (x->cuda_ordinal != y->cuda_ordinal) /* -1 sorts last */
        return (unsigned)x->cuda_ordinal < (unsigned)y->cuda_ordinal ? -1 : 1;
    return strcmp(x->pci_bdf, y->pci_bdf);
}

static int fill_gpus(hwloc_topology_t hw, struct topo *topo, struct err *err)
{
    bool named = false;
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(hw, pci));) {
        other_gpus_count(&topo->other_gpus, pci->attr->pcidev.vendor_id,
                         pci->attr->pcidev.class_id);
        if (!is_gpu(pci))
            continue;
        struct topo_gpu *gpu = topo_add_gpu(topo);
        if (!gpu)
            return err_set(err, -ENOMEM, "no memory for %u GPUs", topo->ngpus + 1);
        const struct hwloc_pcidev_attr_s *attr = &pci->attr->pcidev;
        (void)snprintf(gpu->pci_bdf, sizeof(gpu->pci_bdf), "%04x:%02x:%02x.%01x", attr->domain,
                       attr->bus, attr->dev, attr->func);
        const char *model = device_info(pci, "GPUModel");
        copy_text(gpu->name, sizeof(gpu->name), model ? model : device_info(pci, "PCIDevice"));
        copy_text(gpu->uuid, sizeof(gpu->uuid), device_info(pci, "NVIDIAUUID"));
        gpu->cuda_ordinal = device_ordinal(pci, "cuda");
        named |= gpu->cuda_ordinal >= 0;
        locate_gpu(hw, pci, topo, gpu);
    }
    if (topo->ngpus)
        qsort(topo->gpus, topo->ngpus, sizeof(*topo->gpus), compare_gpus);
    for (unsigned i = 0; i < topo->ngpus && !named; i++)
        topo->gpus[i].cuda_ordinal = (int)i;
    return 0;
}

/* hwloc applies the cgroup; the affinity mask, by taskset or a batch system, is a further limit. */
static void apply_affinity(struct topo *topo)
{
    struct bitset set;
    if (!affinity_get(0, &set))
        for (unsigned i = 0; i < topo->ncpus; i++)
            topo->cpus[i].allowed &= bitset_test(&set, topo->cpus[i].os_cpu);
    memset(&set, 0, sizeof(set));
    /* If a container refuses this call, the cgroup's limit stands. */
    if (syscall(SYS_get_mempolicy, NULL, set.word, (unsigned long)BITSET_BITS, NULL,
                MPOL_F_MEMS_ALLOWED_FLAG) == 0)
        for (unsigned i = 0; i < topo->nnodes; i++)
            topo->nodes[i].allowed &= bitset_test(&set, topo->nodes[i].os_node);
}

static void lift_limits(struct topo *topo)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        topo->cpus[i].allowed = true;
    for (unsigned i = 0; i < topo->nnodes; i++)
        topo->nodes[i].allowed = topo_has_memory(topo, i);
}

static bool runs_under_hypervisor(void)
{
    char name[64];
    return processor_is_virtual("", name, sizeof(name)) > 0;
}

static const char *info_of(hwloc_topology_t hw, const char *name)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(hw, HWLOC_OBJ_PACKAGE, 0);
    const char *found = package ? hwloc_obj_get_info_by_name(package, name) : NULL;
    return found ? found : hwloc_obj_get_info_by_name(hwloc_get_root_obj(hw), name);
}

static void fill_model(hwloc_topology_t hw, struct topo *topo)
{
    const char *model = info_of(hw, "CPUModel");
    const char *implementer = info_of(hw, "CPUImplementer"), *part = info_of(hw, "CPUPart");
    if (!model && implementer && part)
        text_set(topo->cpu_model, "%s", processor_name(implementer, part));
    else
        copy_text(topo->cpu_model, sizeof(topo->cpu_model), model);
}

static int fill_topo(hwloc_topology_t hw, struct topo *topo, struct err *err)
{
    int rc = fill_cpus(hw, topo, err);
    if (!rc)
        rc = fill_nodes(hw, topo, err);
    if (!rc)
        rc = fill_distances(hw, topo, err);
    if (!rc)
        rc = topo_nearest_nodes(topo, err);
    if (rc)
        return rc;
    fill_kinds(hw, topo);
    fill_caches(hw, topo);
    fill_model(hw, topo);
    return fill_gpus(hw, topo, err);
}

/*
 * If there is only one node, it has all of the machine's memory. A kernel that initializes pages on
 * demand reports only initialized pages for the node, but all pages for the machine.
 */
static void take_memory(struct topo *topo, double machine_bytes)
{
    struct topo_node *node = topo->nodes;
    if (topo->nnodes != 1 || !node->memory_bytes || isnan(machine_bytes) ||
        fabs((double)node->memory_bytes - machine_bytes) < 0.1 * machine_bytes)
        return;
    node->node_bytes = node->memory_bytes;
    node->memory_bytes = (uint64_t)machine_bytes;
}

static void name_origin(const char *xml, struct topo *topo)
{
    char text[sizeof(topo->origin)];
    (void)snprintf(text, sizeof(text), "%s%.*s",
                   !xml                       ? "this machine"
                   : topo_source_is_file(xml) ? "xml "
                                              : "synthetic ",
                   (int)sizeof(text) - 16, xml ? xml : "");
    copy_text(topo->origin, sizeof(topo->origin), text);
}

int topo_load(const struct topo_options *options, struct topo *topo, struct err *err)
{
    hwloc_topology_t hw;
    memset(topo, 0, sizeof(*topo));
    int rc = topo_source_load(options->xml, &hw, &topo->hidden, err);
    name_origin(options->xml, topo);
    if (!rc)
        rc = fill_topo(hw, topo, err);
    if (!rc && !options->xml && hwloc_topology_is_thissystem(hw)) {
        topo->is_this_machine = true;
        take_memory(topo, proc_read_memory_bytes("", "MemTotal"));
        topo->hypervisor = runs_under_hypervisor();
        if (!topo->cpu_model[0]) /* hwloc has no model for Arm */
            processor_model("", topo->cpu_model, sizeof(topo->cpu_model));
        if (options->for_others)
            lift_limits(topo);
        else
            apply_affinity(topo);
        (void)proc_read_list("", &topo->isolated, "/sys/devices/system/cpu/isolated");
        if (options->probe_gpus)
            rc = topo_probe_gpus(options->only_order, topo, err);
        else
            topo->ngpus = 0; /* without a driver, workers cannot use the GPU */
    }
    if (!rc && options->fake_gpus)
        rc = topo_fake_gpus(topo, options->fake_gpus, err);
    if (hw)
        hwloc_topology_destroy(hw);
    return rc;
}
