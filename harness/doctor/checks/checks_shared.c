/* Bound workers that share cores. Declared in host_checks.h. Pure. */
#include <math.h>

#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/doctor/checks/host_checks.h"
#include "harness/lib/str.h"

/*
 * Throughput of a core with two busy threads, relative to one: Intel, "Hyper-Threading Technology".
 */
static const double siblings_do = 1.3;

/* True if its mask is not all CPUs. */
static bool is_bound(const struct checker *checker, size_t group)
{
    return !bitset_subset(&checker->view->online, &checker->groups[group].cpus);
}

static double use_of(const struct checker *checker, size_t group)
{
    const struct check_group *one = &checker->groups[group];
    unsigned cpus = bitset_count(&one->cpus);
    return cpus ? fmin(one->oncpu_s / checker->view->wall_s / cpus, 1) : 0;
}

/* Adds the CPUs of `of` whose core also has a CPU of `with`. */
static void find_beside(const struct topo *topo, const struct bitset *of, const struct bitset *with,
                        struct bitset *found)
{
    struct bitset core;
    for (unsigned at = 0; topo_next_core(topo, &at, &core);)
        if (bitset_intersects(&core, with)) {
            bitset_and(&core, of);
            bitset_or(found, &core);
        }
}

/* The first CPUs of cores in the group's home that no worker may use. */
static void find_free_cores(const struct checker *checker, size_t group, struct bitset *cpus)
{
    const struct topo *topo = host_topo(checker->view);
    struct bitset used = checker->cpus_given, taken = {0}, home;
    allocate_home(checker, group, &home);
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_or(&used, &checker->groups[g].cpus);
    find_beside(topo, &home, &used, &taken);
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].smt == 0 && bitset_test(&home, topo->cpus[i].os_cpu) &&
            !bitset_test(&taken, topo->cpus[i].os_cpu))
            bitset_set(cpus, topo->cpus[i].os_cpu);
}

/* Its CPUs, with shared ones replaced by free ones, which are then given. */
static struct bitset unshared(struct checker *checker, size_t group, const struct bitset *shared,
                              const struct bitset *free_cores)
{
    struct bitset mask = checker->groups[group].cpus;
    unsigned n = bitset_count(shared), added = 0;
    bitset_andnot(&mask, shared);
    for (int cpu = bitset_next(free_cores, 0); cpu >= 0 && added < n;
         cpu = bitset_next(free_cores, (unsigned)cpu + 1), added++) {
        bitset_set(&mask, (unsigned)cpu);
        bitset_set(&checker->cpus_given, (unsigned)cpu);
    }
    return mask;
}

static void report_siblings(struct checker *checker, size_t a, size_t b,
                            const struct bitset *shared)
{
    const struct check_group *one = &checker->groups[a], *other = &checker->groups[b];
    const struct view_process *who[] = {one->lead, other->lead};
    struct bitset free_cores = {0};
    char command[420] = "";
    unsigned n = bitset_count(shared);
    double lost = (2 - siblings_do) * n * use_of(checker, a) * use_of(checker, b);
    double share = lost * checker->view->wall_s / (one->oncpu_s + other->oncpu_s);
    find_free_cores(checker, b, &free_cores);
    if (bitset_empty(&free_cores) || share < HOST_LEAST)
        return;
    const struct bitset mask = unshared(checker, b, shared, &free_cores);
    if (!check_append_taskset(checker, b, &mask, command, sizeof(command)))
        command[0] = '\0';
    const char *evidence =
        str_fmt("siblings: CPUs %s of %d", bitset_format(shared), (int)other->lead->pid);
    const struct finding_parts parts =
        finding_parts_bind(fmin(share, 1), who, 2, evidence, command);
    checker_report(checker, &parts,
                   "they share %u core%s as SMT siblings, though %u core%s no worker (%s).", n,
                   n == 1 ? "" : "s", bitset_count(&free_cores),
                   bitset_count(&free_cores) == 1 ? " has" : "s have", evidence);
}

void check_siblings(struct checker *checker)
{
    const struct topo *topo = host_topo(checker->view);
    for (size_t a = 0; topo && a < checker->ngroups; a++)
        for (size_t b = a + 1; b < checker->ngroups && is_bound(checker, a); b++) {
            struct bitset shared = {0};
            if (!is_bound(checker, b) ||
                bitset_intersects(&checker->groups[a].cpus, &checker->groups[b].cpus))
                continue;
            find_beside(topo, &checker->groups[b].cpus, &checker->groups[a].cpus, &shared);
            if (!bitset_empty(&shared))
                report_siblings(checker, a, b, &shared);
        }
}
