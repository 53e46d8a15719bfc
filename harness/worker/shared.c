#include "harness/worker/shared.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_MAGIC_BASE = 0x636e7464 };

/* Parent and worker are the same file; the size stands in for the layout all the same. */
static uint32_t magic(void)
{
    return ARENA_MAGIC_BASE ^ (uint32_t)sizeof(struct arena_worker);
}

const char *worker_state_name(enum worker_state state)
{
    static const char *const names[WORKER_STATES] = {"launched", "setup",   "primed", "warming",
                                                     "ready",    "running", "done",   "checking",
                                                     "finished", "skipped", "failed", "hung"};
    return names[state];
}

static size_t arena_size(unsigned nworkers)
{
    return sizeof(struct arena) + nworkers * sizeof(struct arena_worker);
}

struct arena *arena_create(unsigned nworkers, int *fd, struct err *err)
{
    *fd = memfd_create("contend-arena", MFD_CLOEXEC);
    if (*fd < 0) {
        (void)err_sys(err, -errno, "cannot create shared memory for %u workers", nworkers);
        return NULL;
    }
    size_t size = arena_size(nworkers);
    struct arena *arena = MAP_FAILED;
    if (!ftruncate(*fd, (off_t)size))
        arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (arena == MAP_FAILED) {
        (void)err_sys(err, -errno, "cannot map %zu bytes of shared memory for %u workers", size,
                      nworkers);
        (void)close(*fd);
        *fd = -1;
        return NULL;
    }
    arena->magic = magic();
    arena->nworkers = nworkers;
    atomic_store(&arena->event_fd, -1);
    return arena;
}

struct arena *arena_attach(int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) || (size_t)st.st_size < sizeof(struct arena)) {
        (void)err_set(err, -EINVAL, "file descriptor %d is not a worker's arena", fd);
        return NULL;
    }
    struct arena *arena = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED) {
        (void)err_sys(err, -errno, "cannot map the arena");
        return NULL;
    }
    if (arena->magic != magic() || arena_size(arena->nworkers) != (size_t)st.st_size) {
        (void)err_set(err, -EINVAL, "the arena is of another build of this program");
        (void)munmap(arena, (size_t)st.st_size);
        return NULL;
    }
    return arena;
}

void arena_destroy(struct arena *arena)
{
    if (arena)
        (void)munmap(arena, arena_size(arena->nworkers));
}

void arena_set_state(struct arena *arena, struct arena_worker *worker, enum worker_state state)
{
    atomic_store_explicit(&worker->state, state, memory_order_release);
    arena_wake(arena);
}

static _Atomic int own_event_fd = -1;

void arena_wake_through(int event_fd)
{
    int before = atomic_exchange(&own_event_fd, event_fd);
    if (before >= 0)
        (void)close(before);
}

void arena_wake(const struct arena *arena)
{
    int own = atomic_load(&own_event_fd);
    int fd = own >= 0 ? own : atomic_load(&arena->event_fd);
    uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
        return; /* a full counter has woken the parent already */
}
