#include "bench/loader/resources.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "harness/lib/sys/affinity.h"

const char *const source_names[] = {"memory", "file", "tmpfs", NULL};

static int check_place(const struct place *place, enum source source, double bytes, struct err *err)
{
    if (place->memory != (source == SOURCE_TMPFS))
        return err_set(err, -ENOTSUP,
                       place->memory
                           ? "source=file: %s is in memory (%s): run in a directory on a disk"
                           : "source=tmpfs: %s is not in memory (%s)",
                       place->directory, place->file_system);
    return place->memory ? memory_check_fits((uint64_t)bytes, "the raw data", err) : 0;
}

/*
 * Writes this worker's file, in the working directory or in /dev/shm; `workers` workers do so.
 * -ENOTSUP with the reason: no room, or the wrong kind of file system. data_free is then allowed,
 * not needed.
 */
static int source_open(struct batch_file *file, enum source source, const struct batches *batches,
                       unsigned workers, struct err *err)
{
    struct place place;
    int rc = place_open_directory(&place, source == SOURCE_FILE ? "." : "/dev/shm", err);
    if (!rc)
        rc = check_place(&place, source, batch_file_bytes(batches->cells) * workers, err);
    if (!rc)
        rc = batch_file_make(file, &place, batches, workers, err);
    return rc ? (err->code = -ENOTSUP) : 0;
}

double source_evict(const struct batch_file *file, enum source source)
{
    if (source != SOURCE_FILE)
        return 0;
    (void)data_evict(&file->data, NULL);
    return data_cached(&file->data);
}

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

static const double python_error = 1e-5;

static int wrong(size_t at, size_t cols, double got, double want, struct err *err)
{
    return err_set(err, -EBADMSG, "a loader's batch[%zu][%zu] is %.9g, not %.9g", at / cols,
                   at % cols, got, want);
}

static int compare(const float *got, const float *want, size_t from, size_t to, size_t cols,
                   struct err *err)
{
    for (size_t i = from; i < to; i++)
        if (!(got[i] == want[i]))
            return wrong(i, cols, (double)got[i], (double)want[i], err);
    return 0;
}

static int compare_row(const float *got, const float *raw, size_t row, size_t cols, double alpha,
                       struct err *err)
{
    double mean = 0, square = 0, last;
    const float *x = raw + row * cols;
    for (size_t c = 0; c < cols; c++)
        mean += (double)x[c] / (double)cols;
    for (size_t c = 0; c < cols; c++)
        square += ((double)x[c] - mean) * ((double)x[c] - mean);
    double scale = square > 0 ? sqrt((double)cols / square) : 0;
    last = ((double)x[0] - mean) * scale;
    for (size_t c = 0; c < cols; c++) {
        double value = (double)got[row * cols + c];
        last = alpha * (((double)x[c] - mean) * scale) + (1 - alpha) * last;
        if (!(fabs(value - last) <= python_error * (1 + fabs(last))))
            return wrong(row * cols + c, cols, value, last, err);
    }
    return 0;
}

int verify_batch(const struct load *load, enum load_mode mode, struct token token, float *scratch,
                 struct err *err)
{
    const struct prep_params *prep = &load->batches->prep;
    const float *got = queue_slot(load->queue, token.slot);
    const float *raw = queue_source(load->queue, token.batch);
    size_t cells = prep->rows * prep->cols;
    struct sample sample = {0};
    if (load->raw)
        return batches_check_copy(load->batches, token.batch, got, err);
    if (mode == LOAD_PROCESS || mode == LOAD_THREAD) {
        batches_prepare(load->batches, token.batch, scratch, &sample);
        return compare(got, scratch, 0, cells, prep->cols, err);
    }
    int rc = 0;
    for (size_t row = 0; row < (size_t)load->python_rows && !rc; row++)
        rc = compare_row(got, raw, row, prep->cols, (double)prep->alpha, err);
    return rc ? rc
              : compare(got, raw, (size_t)load->python_rows * prep->cols, cells, prep->cols, err);
}
