#include "bench/loader/resources.h"

#include <errno.h>
#include <unistd.h>

#include "bench/common/points.h"
#include "harness/lib/sys/affinity.h"

const char *const loader_where_names[] = {"slice", "rest", NULL};
const char *const loader_mask_names[] = {"keep", "first-core", "parent", NULL};

/* Finds interpreters, only those that the modes need: finding one runs it. */
static void find_pythons(struct load *load, int mode, struct err absent[LOAD_MODES])
{
    struct err why = {0};
    if (!mode || mode > LOAD_THREAD + 1)
        (void)python_find("python3", &load->python, &why);
    absent[LOAD_PYTHON_PROCESS] = absent[LOAD_PYTHON_THREAD] = absent[LOAD_PYTORCH] = why;
    if (!why.code && !load->python.has_lock)
        load->free_python = load->python;
    else if (points_asked(mode, LOAD_PYTHON_FREE))
        (void)python_find_free(&load->free_python, &absent[LOAD_PYTHON_FREE]);
    if (!why.code && !load->python.has_torch)
        (void)err_set(&absent[LOAD_PYTORCH], -ENOTSUP, "python3 has no PyTorch");
}

/* Opens the file of raw data, if any. Loaders in Python cannot use it. */
static void find_source(struct batch_file *file, enum source source, struct load *load,
                        unsigned workers, struct err absent[LOAD_MODES])
{
    if (source != SOURCE_MEMORY &&
        !source_open(file, source, load->batches, workers, &absent[LOAD_PROCESS]))
        load->file = file;
    absent[LOAD_THREAD] = absent[LOAD_PROCESS];
    for (int mode = LOAD_PYTHON_PROCESS; mode < LOAD_MODES; mode++)
        (void)err_set(&absent[mode], -ENOTSUP,
                      "source, prep: %s have their raw data in memory alone, and preprocess it",
                      load_mode_titles[mode]);
}

/* Binds loaders to the CPUs of this run that no worker has. */
static int use_unused_cpus(struct resources *resources, struct load *load, unsigned workers,
                           struct err *err)
{
    struct bitset *unused = &resources->unused_cpus;
    int rc = affinity_get(getppid(), unused);
    if (rc)
        return err_sys(err, -ENOTSUP, "where=rest: the CPUs of this run are not visible");
    for (unsigned r = 0; r < workers; r++)
        bitset_andnot(unused, &resources->all[r].cpus);
    if (bitset_empty(unused))
        return err_set(err, -ENOTSUP,
                       "where=rest: the workers have all CPUs of this run; --cpus or --reserve "
                       "leaves some");
    load->cpus = unused;
    return 0;
}

/* Narrows the mask of loaders to the worker's first core. */
static int narrow_mask(const struct resources *resources, enum loader_mask mask, struct load *load,
                       unsigned workers, struct err *err)
{
    for (unsigned r = 0; r < workers; r++)
        if (bitset_equal(&resources->all[r].core, &resources->all[r].cpus))
            return err_set(err, -ENOTSUP, "mask=%s: worker %u has one core alone",
                           loader_mask_names[mask], r);
    if (mask == MASK_FIRST_CORE)
        load->cpus = &resources->own.core;
    else
        load->start_cpus = &resources->own.core;
    return 0;
}

static void list_cpus(struct worker_resources *own, const struct bench_machine *machine)
{
    own->ncpus = machine->ncpus;
    for (unsigned i = 0; i < machine->ncpus; i++) {
        bitset_set(&own->cpus, machine->cpus[i].os_cpu);
        if (machine->cpus[i].core == machine->cpus[0].core)
            bitset_set(&own->core, machine->cpus[i].os_cpu);
    }
}

/* Counts go by the most CPUs of a worker, and kinds of loaders are those that all workers have. */
static int exchange(struct resources *resources, const struct bench_ctx *ctx)
{
    struct worker_resources *own = &resources->own;
    const struct worker_resources *all = resources->all;
    int rc = peers_gather(ctx->peers, own, resources->all, sizeof(*own), ctx->err);
    for (unsigned r = 0; r < ctx->peers->size && !rc; r++) {
        own->ncpus = all[r].ncpus > own->ncpus ? all[r].ncpus : own->ncpus;
        for (int mode = 0; mode < LOAD_MODES; mode++)
            if (!own->absent[mode].code)
                own->absent[mode] = all[r].absent[mode];
    }
    return rc;
}

int resources_open(struct resources *resources, const struct resource_choice *choice,
                   struct load *load, struct bench_ctx *ctx)
{
    unsigned workers = ctx->peers->size;
    resources->all = bench_array(ctx, workers, sizeof(*resources->all));
    if (!resources->all)
        return -ENOMEM;
    load->raw = choice->raw;
    if (choice->source == SOURCE_MEMORY && !choice->raw)
        find_pythons(load, choice->mode, resources->own.absent);
    else
        find_source(&resources->file, choice->source, load, ctx->workers, resources->own.absent);
    list_cpus(&resources->own, ctx->machine);
    int rc = exchange(resources, ctx);
    if (!rc && choice->where == WHERE_REST)
        rc = use_unused_cpus(resources, load, workers, ctx->err);
    if (!rc && choice->mask != MASK_KEEP)
        rc = narrow_mask(resources, choice->mask, load, workers, ctx->err);
    return rc;
}

void resources_close(struct resources *resources)
{
    data_free(&resources->file.data);
}
