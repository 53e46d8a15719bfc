#include "harness/engine/discover/measured.h"

#include <errno.h>
#include <stdlib.h>

/* A CPU with its indexes before they are numbered anew: keys that order and tell apart. */
struct keyed {
    struct topo_cpu cpu;
    bool measured, outside; /* outside: of the last-level caches, as reported */
    int package, llc;       /* measured clusters, or what was reported */
    int core;               /* place of the core's first CPU */
    unsigned place;
};

static const struct measured_cpu *find_cpu(const struct measured *measured, unsigned os_cpu)
{
    for (unsigned i = 0; i < measured->ncpus; i++)
        if (measured->cpus[i].os_cpu == os_cpu)
            return &measured->cpus[i];
    return NULL;
}

/* The first CPU of i's core: measured ones by the measurement, others as reported. */
static int first_of_core(const struct measured *measured, const struct topo *topo, unsigned i)
{
    const struct measured_cpu *mine = find_cpu(measured, topo->cpus[i].os_cpu);
    for (unsigned j = 0; j < i; j++) {
        const struct measured_cpu *other = find_cpu(measured, topo->cpus[j].os_cpu);
        if (mine && other ? mine->core == other->core
                          : !mine && !other && topo->cpus[i].core == topo->cpus[j].core)
            return (int)j;
    }
    return (int)i;
}

/*
 * Measured CPUs without clusters keep their cache and package; so do CPUs that were not measured,
 * in front of all clusters. A core lies where its first CPU does.
 */
static void key_cpu(const struct measured *measured, const struct topo *topo, unsigned i,
                    struct keyed *keyed)
{
    const struct measured_cpu *cpu = find_cpu(measured, topo->cpus[i].os_cpu);
    int first = first_of_core(measured, topo, i);
    keyed[i] = (struct keyed){.cpu = topo->cpus[i],
                              .measured = cpu != NULL,
                              .package = topo->cpus[first].package,
                              .llc = topo->cpus[first].llc,
                              .core = first,
                              .place = i};
    if (cpu && measured->npackages > 1)
        keyed[i].package = (int)topo->npackages + cpu->package;
    keyed[i].outside = keyed[i].llc >= (int)topo->nllcs && !(cpu && measured->nllcs > 1);
    if (cpu && measured->nllcs > 1)
        keyed[i].llc = (int)topo->ncpus + cpu->llc;
}

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    if (x->llc != y->llc)
        return x->llc < y->llc ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void number_cpus(const struct keyed *keyed, struct topo *topo)
{
    int package = -1, llc = -1, core = -1, smt = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct keyed *last = i ? &keyed[i - 1] : NULL, *now = &keyed[i];
        bool new_package = !last || last->package != now->package;
        bool new_llc = new_package || last->llc != now->llc;
        bool new_core = new_llc || last->core != now->core;
        package += new_package;
        llc += new_llc && !now->outside;
        core += new_core;
        smt = new_core ? 0 : smt + 1;
        topo->cpus[i] = now->cpu;
        topo->cpus[i].package = package;
        topo->cpus[i].llc = now->outside ? (int)topo->ncpus + now->llc : llc;
        topo->cpus[i].core = core;
        topo->cpus[i].smt = smt;
    }
    topo->npackages = (unsigned)(package + 1);
    topo->nllcs = (unsigned)(llc + 1);
    topo->ncores = (unsigned)(core + 1);
}

int measured_apply(const struct measured *measured, struct topo *topo, struct err *err)
{
    struct keyed *keyed = calloc(topo->ncpus + 1, sizeof(*keyed));
    if (!keyed)
        return err_set(err, -ENOMEM, "no memory for %u CPUs", topo->ncpus);
    for (unsigned i = 0; i < topo->ncpus; i++)
        key_cpu(measured, topo, i, keyed);
    qsort(keyed, topo->ncpus, sizeof(*keyed), compare_keyed);
    number_cpus(keyed, topo);
    free(keyed);
    return 0;
}
