/*
 * The orders for loaders of all kinds, and the work of one that is written in C, as a thread or as
 * a process.
 */
#ifndef CONTEND_BENCH_LOADER_LOAD_H
#define CONTEND_BENCH_LOADER_LOAD_H

#include "bench/feed/batch.h"
#include "bench/loader/python.h"
#include "bench/loader/queue.h"
#include "harness/lib/base/bitset.h"

/* LOADERS_MOST: of one worker. */
enum { LOADERS_MOST = 64 };

enum load_mode {
    LOAD_PROCESS,
    LOAD_THREAD,
    LOAD_PYTHON_PROCESS,
    LOAD_PYTHON_THREAD,
    LOAD_PYTHON_FREE,
    LOAD_PYTORCH,
    LOAD_MODES
};

struct batch_file;

/* All of it stays as it is, at its place, as long as loaders may run. */
struct load {
    struct queue *queue;
    const struct batches *batches;
    const struct batch_file *file;   /* from which loaders in C read raw data; NULL: from memory */
    const struct bitset *cpus;       /* that loaders bind themselves to; NULL: as they inherit */
    const struct bitset *start_cpus; /* of the process that starts them; NULL: the worker's */
    bool raw; /* loaders in C copy raw batches alone, for a device that preprocesses them */
    struct python python, free_python;
    int64_t python_rows;
    int begin_fds[2]; /* who reads, who writes: the orders to PyTorch */
};

/* Binds the calling thread, and reads that back; NULL: nothing. -EXDEV: it has other CPUs. */
int load_bind(const struct bitset *cpus);

/* Makes batches until it is over. -ENOMEM, or -errno of a CPU set that the system refuses, or of a
 * read. */
int load_serve(const struct load *load);

#endif
