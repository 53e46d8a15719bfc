/*
 * What loaders get: an interpreter or a file of raw data, and CPUs. All workers must measure the
 * same points, so they exchange what each of them has.
 *
 *   load.batches = &batches;
 *   rc = resources_open(&resources, &choice, &load, ctx);      collective; fills the rest of load
 *   resources_close(&resources);                               also after an error
 */
#ifndef CONTEND_BENCH_LOADER_RESOURCES_H
#define CONTEND_BENCH_LOADER_RESOURCES_H

#include "bench/feed/batch.h"
#include "bench/loader/load.h"

/* Where loaders in C read raw data: from memory, or from a file of their worker. */
enum source { SOURCE_MEMORY, SOURCE_FILE, SOURCE_TMPFS };

/* "memory", "file", "tmpfs", NULL: for options. */
extern const char *const source_names[];

/* Evicts a SOURCE_FILE from the page cache. Returns the share, 0..1, that stays there anyway. */
double source_evict(const struct batch_file *file, enum source source);

/* Loaders run on their worker's CPUs, or on those that no worker has. */
enum loader_where { WHERE_SLICE, WHERE_REST };

/* CPU masks narrowed as by conda's llvm-openmp: in each loader after its fork, or in its parent. */
enum loader_mask { MASK_KEEP, MASK_FIRST_CORE, MASK_PARENT };

/* Choices of options, NULL-terminated, in the order of these enums. */
extern const char *const loader_where_names[], *const loader_mask_names[];

/* What the user chose. */
struct resource_choice {
    int mode; /* 0: all, else 1 + enum load_mode */
    enum source source;
    bool raw; /* the device preprocesses */
    enum loader_where where;
    enum loader_mask mask;
};

struct worker_resources {
    struct bitset cpus, core; /* the worker's CPUs; those of its first core */
    unsigned ncpus;
    struct err absent[LOAD_MODES]; /* why a mode is not available; code 0 = it is */
};

/* Zeroed = closed. */
struct resources {
    struct worker_resources own;  /* but ncpus is that of the worker with the most CPUs, and a mode
                                     that one worker lacks is absent */
    struct worker_resources *all; /* of each worker */
    struct bitset unused_cpus;    /* CPUs of this run that no worker has */
    struct batch_file file;
};

/*
 * -ENOTSUP: no CPU is unused, or a worker has one core alone; -ENOMEM; errors of peers_gather. A
 * mode that is not available is no error.
 */
int resources_open(struct resources *resources, const struct resource_choice *choice,
                   struct load *load, struct bench_ctx *ctx);
void resources_close(struct resources *resources);

/* Checks that a loader made the right batch. Outside the timing. */

/*
 * A batch of C must equal, bit by bit, the same batch made again into scratch (the size of a
 * batch). A batch of Python is compared with its formula (batches.py). -EBADMSG names row and
 * column.
 */
int verify_batch(const struct load *load, enum load_mode mode, struct token token, float *scratch,
                 struct err *err);

#endif
