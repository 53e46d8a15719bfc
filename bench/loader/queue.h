/*
 * Batches on their way from loaders to the worker that feeds a device. They lie in slots of shared
 * memory, which has no name; the slots' numbers go round through two pipes:
 *
 *   worker    queue_ask(q, slot)             the slot is free, and this is the batch to make
 *   a loader  queue_await(q, &token)         sleeps for one; false: it is over
 *             ... fills queue_slot(q, token.slot) from queue_source(q, token.batch) ...
 *             queue_put(q, token)
 *   worker    queue_take(q, &token)          false: none is ready; queue_ready_fd() to sleep on
 *
 * Any number of loaders may be at it, in any language: a token is two words of 32 bits, and pipes
 * hand it to one of them, whole. There is no lock that a loader could take along when it dies.
 */
#ifndef CONTEND_BENCH_LOADER_QUEUE_H
#define CONTEND_BENCH_LOADER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

enum { QUEUE_SOURCES = 4 };

/* In the place of a slot: who reads it is to end. */
#define QUEUE_END UINT32_MAX

struct token {
    uint32_t slot, batch;
};

struct queue {
    char *base; /* NULL = closed */
    size_t bytes, cells;
    unsigned slots;
    int memory_fd;
    int free_fds[2], ready_fds[2]; /* who reads, who writes */
    uint32_t next;                 /* the batch that is asked for next */
};

/*
 * `slots` of `cells` floats, not touched yet, behind a copy of the QUEUE_SOURCES raw batches. What
 * is opened is closed on exec. -ENOTSUP where memory is short, or -errno.
 */
int queue_open(struct queue *queue, size_t cells, unsigned slots, const float *sources,
               struct err *err);
void queue_close(struct queue *queue);

float *queue_slot(const struct queue *queue, unsigned slot);
const float *queue_source(const struct queue *queue, uint64_t batch);

/* Offset in the memory, in floats. */
size_t queue_offset(const struct queue *queue, const float *batch);

/* -errno, as where the pipe is broken. */
int queue_ask(struct queue *queue, unsigned slot);
int queue_put(const struct queue *queue, struct token token);
bool queue_await(const struct queue *queue, struct token *token);
bool queue_take(const struct queue *queue, struct token *token);
int queue_ready_fd(const struct queue *queue);

/* Bytes of raw data that loaders have read from files, from the beginning on. */
void queue_add_read(const struct queue *queue, uint64_t bytes);
uint64_t queue_read_bytes(const struct queue *queue);

/* From now on loaders end behind the batch that they are at; `loaders` of them may be asleep. */
int queue_end(struct queue *queue, unsigned loaders);

/* Takes out what is left; nobody may be at it. The next batch asked for is number 0. */
void queue_reset(struct queue *queue);

#endif
