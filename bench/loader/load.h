/*
 * The orders for loaders of all kinds, and the work of a loader in C, which is a thread or a
 * process.
 */
#ifndef CONTEND_BENCH_LOADER_LOAD_H
#define CONTEND_BENCH_LOADER_LOAD_H

#include "bench/feed/batch.h"
#include "bench/loader/python.h"
#include "bench/loader/queue.h"
#include "harness/lib/bitset.h"

enum { LOADERS_MOST = 64 }; /* of one worker */

enum load_mode {
    LOAD_PROCESS,
    LOAD_THREAD,
    LOAD_PYTHON_PROCESS,
    LOAD_PYTHON_THREAD,
    LOAD_PYTHON_FREE,
    LOAD_PYTORCH,
    LOAD_MODES
};

/* Their names for users, such as "processes in C". */
extern const char *const load_mode_titles[LOAD_MODES];

struct batch_file;

/* Borrowed by loaders: must not change or move while loaders may run. */
struct load {
    struct queue *queue;
    const struct batches *batches;
    const struct batch_file *file;   /* raw data of loaders in C; NULL: raw data in memory */
    const struct bitset *cpus;       /* loaders bind themselves to these; NULL: CPUs as inherited */
    const struct bitset *start_cpus; /* of the process that starts loaders; NULL: the worker's */
    bool raw; /* loaders in C only copy raw batches, for a device that preprocesses them */
    struct python python, free_python;
    int64_t python_rows;
    int begin_fds[2]; /* pipe of orders to PyTorch: [0] to read, [1] to write */
};

/* Binds the calling thread and reads its CPUs back; NULL: does nothing. -EXDEV: they differ. */
int load_bind(const struct bitset *cpus);

/* Makes batches until queue_end. -ENOMEM, or -errno of a refused CPU set, a read or the queue. */
int load_serve(const struct load *load);

#endif
