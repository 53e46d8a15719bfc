#include "bench/os/bounded.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/lib/sys/clock.h"

int bounded_open(struct bounded *buffer, enum bounded_how how, unsigned capacity, struct err *err)
{
    *buffer = (struct bounded){.how = how, .capacity = capacity};
    buffer->slots = calloc(capacity, sizeof(*buffer->slots));
    if (!buffer->slots)
        return err_set(err, -ENOMEM, "cannot allocate a buffer of %u items", capacity);
    /* None of them asks the system for anything, with these attributes. */
    (void)pthread_mutex_init(&buffer->mutex, NULL);
    (void)pthread_cond_init(&buffer->room, NULL);
    (void)pthread_cond_init(&buffer->filled, NULL);
    (void)sem_init(&buffer->free_slots, 0, capacity);
    (void)sem_init(&buffer->items, 0, 0);
    return 0;
}

void bounded_close(struct bounded *buffer)
{
    if (!buffer->slots)
        return;
    (void)pthread_mutex_destroy(&buffer->mutex);
    (void)pthread_cond_destroy(&buffer->room);
    (void)pthread_cond_destroy(&buffer->filled);
    (void)sem_destroy(&buffer->free_slots);
    (void)sem_destroy(&buffer->items);
    free(buffer->slots);
    buffer->slots = NULL;
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) && errno == EINTR)
        ;
}

/* With the mutex held, and room. */
static uint64_t insert(struct bounded *buffer, uint64_t tag)
{
    uint64_t now_ns = clock_now_ns();
    buffer->slots[(buffer->first + buffer->n) % buffer->capacity] =
        (struct bounded_item){now_ns, tag};
    buffer->n++;
    return now_ns;
}

/* With the mutex held, and an item. */
static struct bounded_item take(struct bounded *buffer)
{
    struct bounded_item item = buffer->slots[buffer->first];
    buffer->first = (buffer->first + 1) % buffer->capacity;
    buffer->n--;
    return item;
}

uint64_t bounded_put(struct bounded *buffer, uint64_t tag)
{
    if (buffer->how == BOUNDED_SEMAPHORE)
        await(&buffer->free_slots);
    (void)pthread_mutex_lock(&buffer->mutex);
    while (buffer->how == BOUNDED_CONDVAR && buffer->n == buffer->capacity)
        (void)pthread_cond_wait(&buffer->room, &buffer->mutex);
    uint64_t put_ns = insert(buffer, tag);
    (void)pthread_mutex_unlock(&buffer->mutex);
    if (buffer->how == BOUNDED_CONDVAR)
        (void)pthread_cond_signal(&buffer->filled);
    else
        (void)sem_post(&buffer->items);
    return put_ns;
}

struct bounded_item bounded_get(struct bounded *buffer)
{
    if (buffer->how == BOUNDED_SEMAPHORE)
        await(&buffer->items);
    (void)pthread_mutex_lock(&buffer->mutex);
    while (buffer->how == BOUNDED_CONDVAR && !buffer->n)
        (void)pthread_cond_wait(&buffer->filled, &buffer->mutex);
    struct bounded_item item = take(buffer);
    (void)pthread_mutex_unlock(&buffer->mutex);
    if (buffer->how == BOUNDED_CONDVAR)
        (void)pthread_cond_signal(&buffer->room);
    else
        (void)sem_post(&buffer->free_slots);
    return item;
}
