#include "harness/engine/worker/shared.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

enum { SHARED_MAGIC_BASE = 0x636e7464 };

/* Parent and worker are the same file; nevertheless the struct's size checks the layout. */
static uint32_t magic(void)
{
    return SHARED_MAGIC_BASE ^ (uint32_t)sizeof(struct shared_worker);
}

const char *worker_state_name(enum worker_state state)
{
    static const char *const names[WORKER_STATES] = {
        "launched", "setup",    "primed",   "warming", "ready",  "settling", "running",
        "done",     "checking", "finished", "skipped", "failed", "hung"};
    return names[state];
}

static size_t shared_size(unsigned nworkers)
{
    return sizeof(struct shared) + nworkers * sizeof(struct shared_worker);
}

struct shared *shared_create(unsigned nworkers, int *fd, struct err *err)
{
    *fd = memfd_create("contend-shared", MFD_CLOEXEC);
    if (*fd < 0) {
        (void)err_sys(err, -errno, "cannot create shared memory for %u workers", nworkers);
        return NULL;
    }
    size_t size = shared_size(nworkers);
    struct shared *shared = MAP_FAILED;
    if (!ftruncate(*fd, (off_t)size))
        shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (shared == MAP_FAILED) {
        (void)err_sys(err, -errno, "cannot map %zu bytes of shared memory for %u workers", size,
                      nworkers);
        (void)close(*fd);
        *fd = -1;
        return NULL;
    }
    shared->magic = magic();
    shared->nworkers = nworkers;
    atomic_store(&shared->event_fd, -1);
    return shared;
}

int shared_clear(struct shared *shared, int fd, struct err *err)
{
    const unsigned nworkers = shared->nworkers;
    const int event_fd = atomic_load(&shared->event_fd);
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)shared_size(nworkers)))
        return err_sys(err, -errno, "the memory shared with workers cannot be emptied");
    shared->magic = magic();
    shared->nworkers = nworkers;
    atomic_store(&shared->event_fd, event_fd);
    return 0;
}

struct shared *shared_attach(int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) || (size_t)st.st_size < sizeof(struct shared)) {
        (void)err_set(err, -EINVAL, "file descriptor %d is not a worker's shared memory", fd);
        return NULL;
    }
    struct shared *shared =
        mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) {
        (void)err_sys(err, -errno, "cannot map the memory shared with workers");
        return NULL;
    }
    if (shared->magic != magic() || shared_size(shared->nworkers) != (size_t)st.st_size) {
        (void)err_set(err, -EINVAL,
                      "the memory shared with workers is of another build of this program");
        (void)munmap(shared, (size_t)st.st_size);
        return NULL;
    }
    return shared;
}

void shared_destroy(struct shared *shared)
{
    if (shared)
        (void)munmap(shared, shared_size(shared->nworkers));
}

void shared_set_state(struct shared *shared, struct shared_worker *worker, enum worker_state state)
{
    if (state <= WORKER_FINISHED)
        worker->since_ns[state] = clock_now_ns();
    atomic_store_explicit(&worker->state, state, memory_order_release);
    shared_wake(shared);
}

void shared_wake(const struct shared *shared)
{
    int fd = atomic_load(&shared->event_fd);
    uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
        return; /* a full counter has woken the parent already */
}

static const uint64_t spin_ns = 20000;

static void await(struct barrier *barrier, uint32_t number)
{
    uint64_t end_ns = clock_now_ns() + spin_ns;
    while (atomic_load_explicit(&barrier->completed, memory_order_acquire) == number)
        if (clock_now_ns() > end_ns)
            futex_wait_while(&barrier->completed, number);
}

static int barrier_gather(struct peers *peers, const void *mine, void *all, size_t bytes,
                          struct err *err)
{
    (void)err;
    struct barrier_rank *view = peers->impl;
    struct barrier *barrier = view->barrier;
    uint32_t number = view->next++;
    if (bytes)
        memcpy(barrier->block[number % 2][peers->rank], mine, bytes);
    if (barrier->relay) {
        barrier->bytes = (uint32_t)bytes;
        atomic_store(&barrier->posted, number + 1);
    }
    atomic_store(&barrier->entered[peers->rank], number + 1);
    if (barrier->relay) {
        view->wake(view->wake_arg);
    } else if (atomic_fetch_add(&barrier->arrived, 1) + 1 == peers->size) {
        atomic_store(&barrier->arrived, 0);
        futex_set(&barrier->completed, number + 1);
    }
    await(barrier, number);
    for (unsigned r = 0; bytes && r < peers->size; r++)
        memcpy((char *)all + r * bytes, barrier->block[number % 2][r], bytes);
    return 0;
}

void barrier_join(struct barrier *barrier, struct barrier_rank *view, unsigned rank, unsigned size,
                  struct peers *peers)
{
    assert(rank < size && size <= BARRIER_RANKS);
    view->barrier = barrier;
    *peers = (struct peers){.rank = rank, .size = size, .gather = barrier_gather, .impl = view};
}

/* Reads `completed` first: in the other order, a rank that was just released could seem to wait. */
bool barrier_waits(const struct barrier *barrier, unsigned rank)
{
    uint32_t completed = atomic_load(&barrier->completed);
    return atomic_load(&barrier->entered[rank]) == completed + 1;
}

uint32_t barrier_posted(const struct barrier *barrier, uint32_t *bytes)
{
    uint32_t posted = atomic_load(&barrier->posted);
    *bytes = barrier->bytes < PEERS_BLOCK_MAX ? barrier->bytes : PEERS_BLOCK_MAX;
    return posted;
}

unsigned char *barrier_block(struct barrier *barrier, unsigned rank)
{
    return barrier->block[atomic_load(&barrier->completed) % 2][rank];
}

void barrier_release(struct barrier *barrier)
{
    futex_set(&barrier->completed, atomic_load(&barrier->completed) + 1);
}
