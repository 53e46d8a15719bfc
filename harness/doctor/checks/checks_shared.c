/* Workers that are bound, and what of the hardware they share. Declared in host_checks.h. Pure. */
#include <math.h>
#include <stdio.h>

#include "harness/doctor/check/cpu_allocator.h"
#include "harness/doctor/check/host_checks.h"

/* Two busy threads of one core do as much as 1.3 alone: Intel, "Hyper-Threading Technology". */
static const double siblings_do = 1.3;

/* By somebody: not wherever there is a CPU. */
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

/* CPUs of `of` whose core, or last-level cache, has a CPU of `with`, too. */
static void find_beside(const struct topo *topo, bool caches, const struct bitset *of,
                        const struct bitset *with, struct bitset *found)
{
    struct bitset units = {0};
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (bitset_test(with, cpu->os_cpu))
            bitset_set(&units, (unsigned)(caches ? cpu->llc : cpu->core));
    }
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (bitset_test(of, cpu->os_cpu) &&
            bitset_test(&units, (unsigned)(caches ? cpu->llc : cpu->core)))
            bitset_set(found, cpu->os_cpu);
    }
}

/* The first CPUs of cores on which no worker may run, where this one is at home. */
static void find_free_cores(const struct checker *checker, size_t group, struct bitset *cpus)
{
    const struct topo *topo = host_topo(checker->view);
    struct bitset used = checker->given, taken = {0}, home;
    allocate_home(checker, group, &home);
    for (size_t g = 0; g < checker->ngroups; g++)
        bitset_or(&used, &checker->groups[g].cpus);
    find_beside(topo, false, &home, &used, &taken);
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].smt == 0 && bitset_test(&home, topo->cpus[i].os_cpu) &&
            !bitset_test(&taken, topo->cpus[i].os_cpu))
            bitset_set(cpus, topo->cpus[i].os_cpu);
}

/* Its CPUs, but for those that it shares; for these the first free ones, which nobody else gets. */
static struct bitset unshared(struct checker *checker, size_t group, const struct bitset *shared,
                              const struct bitset *free_cores)
{
    struct bitset mask = checker->groups[group].cpus;
    unsigned n = bitset_count(shared), added = 0;
    bitset_andnot(&mask, shared);
    for (int cpu = bitset_next(free_cores, 0); cpu >= 0 && added < n;
         cpu = bitset_next(free_cores, (unsigned)cpu + 1), added++) {
        bitset_set(&mask, (unsigned)cpu);
        bitset_set(&checker->given, (unsigned)cpu);
    }
    return mask;
}

static void say_siblings(struct checker *checker, size_t a, size_t b, const struct bitset *shared)
{
    const struct check_group *one = &checker->groups[a], *other = &checker->groups[b];
    const struct view_process *who[] = {one->lead, other->lead};
    struct bitset free_cores = {0};
    char command[420] = "", list[128], evidence[200];
    unsigned n = bitset_count(shared);
    double lost = (2 - siblings_do) * n * use_of(checker, a) * use_of(checker, b);
    double share = lost * checker->view->wall_s / (one->oncpu_s + other->oncpu_s);
    find_free_cores(checker, b, &free_cores);
    if (bitset_empty(&free_cores) || share < HOST_LEAST)
        return;
    const struct bitset mask = unshared(checker, b, shared, &free_cores);
    if (!check_append_taskset(checker, b, &mask, command, sizeof(command)))
        command[0] = '\0';
    (void)snprintf(evidence, sizeof(evidence), "siblings: CPUs %s of %d",
                   bitset_format(shared, list, sizeof(list)), (int)other->lead->pid);
    const struct said said = said_bad(fmin(share, 1), who, 2, evidence, command);
    checker_say(checker, &said,
                "they share %u core%s, thread beside thread, though %u core%s no worker (%s).", n,
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
            find_beside(topo, false, &checker->groups[b].cpus, &checker->groups[a].cpus, &shared);
            if (!bitset_empty(&shared))
                say_siblings(checker, a, b, &shared);
        }
}

static void find_cache(const struct topo *topo, unsigned llc, const struct bitset *allowed,
                       struct bitset *cpus)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].llc == (int)llc && bitset_test(allowed, topo->cpus[i].os_cpu))
            bitset_set(cpus, topo->cpus[i].os_cpu);
}

/* The first cache, not taken yet, with so many CPUs of those where the group is at home: one that
 * it has already before others. -1: there is none. */
static int find_own_cache(const struct checker *checker, size_t group, const struct bitset *taken,
                          struct bitset *cpus)
{
    const struct topo *topo = host_topo(checker->view);
    const struct check_group *one = &checker->groups[group];
    unsigned want = bitset_count(&one->cpus);
    struct bitset home;
    allocate_home(checker, group, &home);
    for (int own = 1; own >= 0; own--)
        for (unsigned llc = 0; llc < topo->nllcs; llc++) {
            *cpus = (struct bitset){0};
            find_cache(topo, llc, &home, cpus);
            if (!bitset_test(taken, llc) && bitset_count(cpus) >= want &&
                (!own || bitset_intersects(cpus, &one->cpus)))
                return (int)llc;
        }
    return -1;
}

/* Gives each worker as many CPUs as it has, on a cache of its own; false: they do not fit. */
static bool allocate_caches(struct checker *checker, char *command, size_t size)
{
    struct bitset taken = {0}, given = {0};
    for (size_t g = 0; g < checker->ngroups; g++) {
        struct bitset all, mask = {0};
        unsigned want = bitset_count(&checker->groups[g].cpus), have = 0;
        int llc = find_own_cache(checker, g, &taken, &all);
        if (llc < 0)
            return false;
        bitset_set(&taken, (unsigned)llc);
        for (int cpu = bitset_next(&all, 0); have < want;
             cpu = bitset_next(&all, (unsigned)cpu + 1), have++)
            bitset_set(&mask, (unsigned)cpu);
        if (bitset_intersects(&mask, &checker->given) ||
            !check_append_taskset(checker, g, &mask, command, size))
            return false;
        bitset_or(&given, &mask);
    }
    bitset_or(&checker->given, &given);
    return true;
}

void check_shared_cache(struct checker *checker)
{
    const struct topo *topo = host_topo(checker->view);
    const struct view_process *who[FOUND_PIDS_MAX];
    char command[420] = "";
    size_t n = 0;
    bool all_bound = true;
    for (size_t a = 0; topo && a < checker->ngroups; a++) {
        bool shares = false;
        all_bound = all_bound && is_bound(checker, a);
        for (size_t b = 0; b < checker->ngroups; b++) {
            struct bitset shared = {0};
            if (a == b || bitset_intersects(&checker->groups[a].cpus, &checker->groups[b].cpus))
                continue;
            find_beside(topo, true, &checker->groups[a].cpus, &checker->groups[b].cpus, &shared);
            shares = shares || !bitset_empty(&shared);
        }
        if (shares && n < FOUND_PIDS_MAX)
            who[n++] = checker->groups[a].lead;
    }
    if (n < 2 || !all_bound || !allocate_caches(checker, command, sizeof(command)))
        return;
    const struct said said = {
        .severity = FINDING_NOTE, .cost = NAN, .who = who, .nwho = n, .command = command};
    checker_say(checker, &said,
                "they share a last-level cache (L%u), and each could have one of its own.%s",
                topo->llc_level, topo->hypervisor ? " So the virtual machine reports." : "");
}
