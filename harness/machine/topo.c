#include "harness/machine/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Queries of a loaded topology. */

void topo_free(struct topo *topo)
{
    if (!topo)
        return;
    free(topo->cpus);
    free(topo->nodes);
    for (unsigned i = 0; i < topo->ngpus; i++)
        free(topo->gpus[i].health);
    free(topo->gpus);
    free(topo->distances);
    memset(topo, 0, sizeof(*topo));
}

void topo_allowed_cpus(const struct topo *topo, struct bitset *set)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].allowed)
            bitset_set(set, topo->cpus[i].os_cpu);
}

int topo_node_index(const struct topo *topo, unsigned os_node)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (topo->nodes[i].os_node == os_node)
            return (int)i;
    return -1;
}

bool topo_has_memory(const struct topo *topo, unsigned node)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (topo->nodes[i].memory_bytes)
            return topo->nodes[node].memory_bytes > 0;
    return !topo->nodes[node].unlisted;
}

unsigned topo_visible_gpus(const struct topo *topo)
{
    unsigned n = 0;
    while (n < topo->ngpus && topo->gpus[n].cuda_ordinal >= 0)
        n++;
    return n;
}

static bool is_before_on_bus(const struct topo_gpu *gpu, const struct topo_gpu *other)
{
    size_t length = strlen(gpu->pci_bdf), others = strlen(other->pci_bdf);
    return length == others ? strcmp(gpu->pci_bdf, other->pci_bdf) < 0 : length < others;
}

unsigned topo_gpu_bus_number(const struct topo *topo, const struct topo_gpu *gpu)
{
    unsigned before = 0, visible = topo_visible_gpus(topo);
    for (unsigned i = 0; i < visible; i++)
        before += is_before_on_bus(&topo->gpus[i], gpu);
    return before;
}

bool topo_next_core(const struct topo *topo, unsigned *at, struct bitset *core)
{
    unsigned first = *at;
    *core = (struct bitset){0};
    for (; *at < topo->ncpus && topo->cpus[*at].core == topo->cpus[first].core; (*at)++)
        bitset_set(core, topo->cpus[*at].os_cpu);
    return *at > first;
}

const char *topo_kind_name(const struct topo *topo, int kind)
{
    bool weakest = kind == 0, two = topo->nkinds == 2;
    return weakest                        ? (two ? "efficiency" : "slowest")
           : kind < (int)topo->nkinds - 1 ? "middle"
                                          : (two ? "performance" : "fastest");
}

bool topo_mixes_cores(const struct topo *topo, const struct bitset *cpus)
{
    int first = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        if (!bitset_test(cpus, topo->cpus[i].os_cpu))
            continue;
        first = first < 0 ? topo->cpus[i].kind : first;
        if (topo->cpus[i].kind != first)
            return true;
    }
    return false;
}

void topo_threads_per_core(const struct topo *topo, unsigned *min, unsigned *max)
{
    *min = *max = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        bool last = i + 1 == topo->ncpus || topo->cpus[i + 1].core != topo->cpus[i].core;
        unsigned threads = (unsigned)topo->cpus[i].smt + 1;
        if (last && (*min == 0 || threads < *min))
            *min = threads;
        if (last && threads > *max)
            *max = threads;
    }
}

const char *topo_source_name(enum topo_source source)
{
    static const char *const names[] = {[TOPO_UNKNOWN] = "unknown",
                                        [TOPO_SYSFS] = "sysfs",
                                        [TOPO_NVML] = "nvml",
                                        [TOPO_HWLOC] = "hwloc",
                                        [TOPO_OPTION] = "option"};
    return names[source];
}

/*
 * The nearest of a CPU's local nodes with memory: ordinary memory comes first, then the fewest
 * CPUs. `weights` has the number of local CPUs of each node. -1: no local node has memory.
 */
static int local_node(const struct topo *topo, const unsigned *weights, unsigned os_cpu)
{
    int best = -1;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        const struct topo_node *node = &topo->nodes[i];
        if (!bitset_test(&node->cpus, os_cpu) || !topo_has_memory(topo, i))
            continue;
        bool special = node->kind[0], best_special = best >= 0 && topo->nodes[best].kind[0];
        if (best < 0 || special < best_special ||
            (special == best_special && weights[i] < weights[best]))
            best = (int)i;
    }
    return best;
}

int topo_own_node(const struct topo *topo, const struct topo_cpu *cpu)
{
    if (cpu->node >= 0 && cpu->node < (int)topo->nnodes &&
        bitset_test(&topo->nodes[cpu->node].cpus, cpu->os_cpu))
        return cpu->node;
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (bitset_test(&topo->nodes[i].cpus, cpu->os_cpu))
            return (int)i;
    return -1;
}

int topo_node_of_cpus(const struct topo *topo, const struct bitset *cpus)
{
    int node = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        if (!bitset_test(cpus, topo->cpus[i].os_cpu))
            continue;
        int own = topo_own_node(topo, &topo->cpus[i]);
        if (own < 0 || (node >= 0 && own != node))
            return -1;
        node = own;
    }
    return node;
}

static bool may_use(const struct topo *topo, unsigned node, bool only_allowed)
{
    return only_allowed ? topo->nodes[node].allowed : topo_has_memory(topo, node);
}

/* Orders candidates for the memory of node `own`: ordinary memory, then distance, then package. */
static uint64_t farness(const struct topo *topo, int own, unsigned node)
{
    const struct topo_node *to = &topo->nodes[node];
    bool known = own >= 0;
    uint64_t distance =
        known && topo->distances ? topo->distances[(size_t)own * topo->nnodes + node] : 0;
    bool elsewhere = known && topo->nodes[own].package != to->package;
    return (uint64_t)(to->kind[0] != '\0') << 34 | distance << 1 | elsewhere;
}

/* See topo_memory_node. Without `only_allowed`, any node with memory. */
static int find_memory(const struct topo *topo, int own, bool only_allowed)
{
    uint64_t least = UINT64_MAX;
    unsigned ties = 0, turn = 0;
    if (own >= 0 && may_use(topo, (unsigned)own, only_allowed))
        return own;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        if (!may_use(topo, i, only_allowed)) {
            turn += (int)i < own && !bitset_empty(&topo->nodes[i].cpus);
            continue;
        }
        uint64_t far = farness(topo, own, i);
        ties = far < least ? 1 : ties + (far == least);
        least = far < least ? far : least;
    }
    turn = ties ? turn % ties : 0;
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (may_use(topo, i, only_allowed) && farness(topo, own, i) == least && turn-- == 0)
            return (int)i;
    return -1;
}

int topo_memory_node(const struct topo *topo, int own)
{
    return find_memory(topo, own, true);
}

static void find_packages(struct topo *topo)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        topo->nodes[i].package = -1;
    for (unsigned i = topo->ncpus; i-- > 0;)
        for (unsigned n = 0; n < topo->nnodes; n++)
            if (bitset_test(&topo->nodes[n].cpus, topo->cpus[i].os_cpu))
                topo->nodes[n].package = topo->cpus[i].package;
}

int topo_nearest_nodes(struct topo *topo, struct err *err)
{
    unsigned *weights = calloc(topo->nnodes + 1, sizeof(*weights));
    bool *nearest = calloc(topo->nnodes + 1, sizeof(*nearest));
    if (!weights || !nearest) {
        free(weights);
        free(nearest);
        return err_set(err, -ENOMEM, "no memory for %u NUMA nodes", topo->nnodes);
    }
    find_packages(topo);
    for (unsigned i = 0; i < topo->nnodes; i++)
        weights[i] = bitset_count(&topo->nodes[i].cpus);
    for (unsigned i = 0; i < topo->ncpus; i++) {
        struct topo_cpu *cpu = &topo->cpus[i];
        cpu->node = local_node(topo, weights, cpu->os_cpu);
        if (cpu->node < 0)
            cpu->node = find_memory(topo, topo_own_node(topo, cpu), false);
        if (cpu->node >= 0)
            nearest[cpu->node] = true;
    }
    /* hwloc gives memory-only nodes the CPUs around them; here they have no CPUs. */
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (!nearest[i] && topo_has_memory(topo, i)) {
            topo->nodes[i].cpus = (struct bitset){0};
            topo->nodes[i].package = -1;
        }
    free(weights);
    free(nearest);
    return 0;
}

/*
 * Measured capacities of cores of one design differ by up to 3% (997 and 1024 on a DGX Spark), and
 * clocks of the best cores by 5% (Turbo Boost Max). Between designs lie 20% and more.
 */
static const double like_least = 0.9;

/* True if both are unknown. */
static bool is_near(double a, double b)
{
    return a < b ? a >= like_least * b : b >= like_least * a;
}

static bool is_one_kind(const struct topo_kind *a, const struct topo_kind *b)
{
    if (a->capacity > 0 && b->capacity > 0)
        return is_near(a->capacity, b->capacity);
    return a->max_mhz + a->base_mhz > 0 && strcmp(a->design, b->design) == 0 &&
           is_near(a->max_mhz, b->max_mhz) && is_near(a->base_mhz, b->base_mhz);
}

enum rank { BY_CAPACITY, BY_EFFICIENCY, BY_CLOCK, RANKS };

/* 0 = unknown. */
static double speed_of(const struct topo_kind *kind, enum rank rank)
{
    return rank == BY_CAPACITY     ? kind->capacity
           : rank == BY_EFFICIENCY ? kind->efficiency + 1
                                   : kind->max_mhz;
}

/* The first rank that all kinds have; RANKS = none. */
static enum rank find_rank(const struct topo_kind *kinds, unsigned n)
{
    enum rank rank = BY_CAPACITY;
    for (; rank < RANKS; rank++) {
        unsigned i = 0;
        while (i < n && speed_of(&kinds[i], rank) > 0)
            i++;
        if (i == n)
            break;
    }
    return rank;
}

/* The fastest kind that is not merged yet (-1); n = none. */
static unsigned find_next(const struct topo_kind *kinds, unsigned n, enum rank rank,
                          const int *merged)
{
    unsigned next = n;
    for (unsigned i = 0; i < n; i++) {
        double speed = speed_of(&kinds[i], rank);
        double most = next < n ? speed_of(&kinds[next], rank) : -1;
        if (merged[i] < 0 &&
            (speed > most || (!(speed < most) && kinds[i].base_mhz > kinds[next].base_mhz)))
            next = i;
    }
    return next;
}

unsigned topo_kinds_merge(const struct topo_kind *kinds, unsigned n, int *merged)
{
    const enum rank rank = find_rank(kinds, n);
    unsigned fastest = n, count = 0, next;
    for (unsigned i = 0; i < n; i++)
        merged[i] = rank == RANKS ? 0 : -1;
    while ((next = find_next(kinds, n, rank, merged)) < n) {
        if (fastest == n || !is_one_kind(&kinds[next], &kinds[fastest])) {
            fastest = next;
            count++;
        }
        merged[next] = (int)count;
    }
    for (unsigned i = 0; i < n && rank < RANKS; i++)
        merged[i] = (int)count - merged[i];
    return count ? count : 1;
}

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
