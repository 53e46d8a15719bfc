/*
 * The orders for loaders of all kinds, and the work of a loader in C, which is a thread or a
 * process.
 */
#ifndef CONTEND_BENCH_LOADER_LOAD_H
#define CONTEND_BENCH_LOADER_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/feed/batch.h"
#include "bench/loader/python.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"

/*
 * Batches from loaders to the worker that feeds a device. Batches lie in slots of unnamed shared
 * memory; tokens with slot numbers go through two pipes:
 *
 *   worker    queue_ask(q, slot)             the slot is free: asks for the next batch in it
 *   a loader  queue_await(q, &token)         sleeps for a token; false: end
 *             ... fills queue_slot(q, token.slot) from queue_source(q, token.batch) ...
 *             queue_put(q, token)
 *   worker    queue_take(q, &token)          false: no batch is ready; sleep on queue_ready_fd()
 *
 * Any number of loaders, in any language, may share the queue: a token is two 32-bit words, and a
 * pipe gives it to one loader, whole. There is no lock that a dying loader could keep.
 */
enum { QUEUE_SOURCES = 4 };

/* Value of token.slot: the loader that reads it must end. */
#define QUEUE_END UINT32_MAX

struct token {
    uint32_t slot, batch;
};

struct queue {
    char *base; /* NULL = closed */
    size_t bytes, cells;
    unsigned slots;
    int memory_fd;
    int free_fds[2], ready_fds[2]; /* pipes: [0] to read, [1] to write */
    uint32_t next;                 /* number of the next batch to ask for */
};

/*
 * Opens shared memory with a copy of the QUEUE_SOURCES raw batches, then `slots` of `cells` floats,
 * not touched yet. All descriptors close on exec. -ENOTSUP if memory is short, or -errno.
 */
int queue_open(struct queue *queue, size_t cells, unsigned slots, const float *sources,
               struct err *err);
void queue_close(struct queue *queue);

float *queue_slot(const struct queue *queue, unsigned slot);
const float *queue_source(const struct queue *queue, uint64_t batch);

/* Offset in the memory, in floats. */
size_t queue_offset(const struct queue *queue, const float *batch);

/* queue_ask and queue_put: 0 or -errno, as for a broken pipe. */
int queue_ask(struct queue *queue, unsigned slot);
int queue_put(const struct queue *queue, struct token token);
bool queue_await(const struct queue *queue, struct token *token);
bool queue_take(const struct queue *queue, struct token *token);
int queue_ready_fd(const struct queue *queue);

/* Bytes of raw data that loaders have read from files since queue_open. */
void queue_add_read(const struct queue *queue, uint64_t bytes);
uint64_t queue_read_bytes(const struct queue *queue);

/* Loaders end after their current batch. Wakes `loaders` loaders that may sleep. 0 or -errno. */
int queue_end(struct queue *queue, unsigned loaders);

/* Drops all tokens; no loader may use the queue. The next batch asked for is number 0. */
void queue_reset(struct queue *queue);

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
