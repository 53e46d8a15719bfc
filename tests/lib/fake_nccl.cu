/* The libnccl of fake_gpus.h: reductions, all-gather and broadcast of float and int32. */
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "fake_stream.h"
#include "tests/lib/fake_gpus.h"
extern "C" {
#include "kernels/collective/nccl_api.h"
}

enum { SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4 };

/* What ranks of one id share: where they meet, and each one's buffers. */
struct world {
    std::mutex lock;
    std::condition_variable news;
    int ranks, joined = 0;
    bool given_up = false, aborted = false;
    unsigned came = 0, met = 0;
    std::vector<const void *> send;
};

struct communicator {
    struct world *world;
    int rank;
};

/* They live on: a stream may come to an operation when its communicator has been aborted. */
static std::mutex worlds_lock;
static auto &worlds = *new std::map<std::string, world *>;
static auto &communicators = *new std::vector<communicator *>;
static std::atomic<int> ids{0};
static thread_local int depth;
static thread_local bool group_fails;
static thread_local std::vector<world *> joins; /* that the group's end waits for */

static void count(int *counter, int change)
{
    __atomic_add_fetch(counter, change, __ATOMIC_SEQ_CST);
}

/* All ranks meet; false where they were aborted. */
static bool meet(world *w)
{
    std::unique_lock<std::mutex> held(w->lock);
    unsigned met = w->met;
    if (++w->came == (unsigned)w->ranks) {
        w->came = 0;
        w->met++;
        w->news.notify_all();
    }
    w->news.wait(held, [=] { return w->met != met || w->aborted; });
    return !w->aborted;
}

static world *find_world(const char *id)
{
    std::lock_guard<std::mutex> held(worlds_lock);
    world *&entry = worlds[id];
    if (!entry)
        entry = new world;
    return entry;
}

static communicator *make_communicator(world *w, int rank)
{
    std::lock_guard<std::mutex> held(worlds_lock);
    communicators.push_back(new communicator{w, rank});
    return communicators.back();
}

static int wait_for_all(world *w)
{
    std::unique_lock<std::mutex> held(w->lock);
    count(&fake_gpus.waiting, 1);
    w->news.wait(held, [=] { return w->joined == w->ranks || w->given_up; });
    count(&fake_gpus.waiting, -1);
    return w->given_up ? SYSTEM_ERROR : 0;
}

void fake_gpus_give_up(void)
{
    std::lock_guard<std::mutex> all_held(worlds_lock);
    for (auto &entry : worlds) {
        std::lock_guard<std::mutex> held(entry.second->lock);
        entry.second->given_up = true;
        entry.second->news.notify_all();
    }
}

/* A call in a group that fails takes the group with it, as NCCL has it. */
static int failed(int error)
{
    group_fails |= depth > 0;
    return error;
}

enum kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE };

struct operation {
    enum kind kind;
    size_t count;
    int root;
    const void *send;
    void *recv;
};

template <typename T> static T sum_at(const world *w, size_t i)
{
    T sum = 0;
    for (int rank = 0; rank < w->ranks; rank++)
        sum = (T)(sum + static_cast<const T *>(w->send[(size_t)rank])[i]);
    return sum;
}

template <typename T> static std::vector<T> result_of(const communicator *c, const operation *op)
{
    const world *w = c->world;
    std::vector<T> result;
    size_t parts = op->kind == ALL_GATHER ? (size_t)w->ranks : 1;
    size_t first = op->kind == REDUCE_SCATTER ? (size_t)c->rank * op->count : 0;
    if (op->kind == REDUCE && c->rank != op->root)
        return result;
    for (size_t part = 0; part < parts; part++)
        for (size_t i = 0; i < op->count; i++)
            if (op->kind == ALL_GATHER)
                result.push_back(static_cast<const T *>(w->send[part])[i]);
            else if (op->kind == BROADCAST)
                result.push_back(static_cast<const T *>(w->send[(size_t)op->root])[i]);
            else
                result.push_back(sum_at<T>(w, first + i));
    return result;
}

/* The kernel: all come, read what the others send, and write when all have read. */
template <typename T> static void work(const communicator *c, const operation *op)
{
    {
        std::lock_guard<std::mutex> held(c->world->lock);
        c->world->send[(size_t)c->rank] = op->send;
    }
    if (!meet(c->world))
        return;
    std::vector<T> result = result_of<T>(c, op);
    if (meet(c->world) && !result.empty())
        memcpy(op->recv, result.data(), result.size() * sizeof(T));
}

static int launch(void *comm, void *stream, int type, operation op)
{
    communicator *c = static_cast<communicator *>(comm);
    if (c->rank == fake_gpus.call_fails && fake_gpus.fails_after-- <= 0)
        return failed(INTERNAL_ERROR);
    if (type != NCCL_FLOAT && type != NCCL_INT32)
        return failed(INVALID_ARGUMENT);
    bool sleeps = c->rank == fake_gpus.sleeps;
    if (sleeps && !fake_gpus.sleeps_behind)
        (void)usleep(fake_gpus.sleep_us);
    fake_enqueue(static_cast<cudaStream_t>(stream),
                 [=] { type == NCCL_FLOAT ? work<float>(c, &op) : work<int32_t>(c, &op); });
    if (sleeps && fake_gpus.sleeps_behind)
        (void)usleep(fake_gpus.sleep_us);
    return 0;
}

extern "C" {
int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

int ncclGetUniqueId(struct nccl_id *id)
{
    memset(id, 0, sizeof(*id));
    (void)snprintf(id->bytes, sizeof(id->bytes), "id %d", ids++);
    return 0;
}

int ncclCommInitRank(void **comm, int ranks, struct nccl_id id, int rank)
{
    if (rank < 0 || rank >= ranks)
        return failed(INVALID_ARGUMENT);
    if (rank == fake_gpus.join_fails)
        return failed(SYSTEM_ERROR);
    world *w = find_world(id.bytes);
    {
        std::lock_guard<std::mutex> held(w->lock);
        w->ranks = ranks;
        w->send.resize((size_t)ranks);
        w->joined++;
        w->news.notify_all();
    }
    *comm = make_communicator(w, rank);
    if (depth > 0) {
        joins.push_back(w);
        return 0;
    }
    return wait_for_all(w);
}

int ncclGroupStart()
{
    depth++;
    count(&fake_gpus.open_groups, 1);
    return 0;
}

int ncclGroupEnd()
{
    if (depth == 0)
        return INVALID_ARGUMENT;
    count(&fake_gpus.open_groups, -1);
    if (--depth > 0)
        return 0;
    int error = group_fails ? INTERNAL_ERROR : 0;
    for (size_t i = 0; i < joins.size() && !error; i++)
        error = wait_for_all(joins[i]);
    joins.clear();
    group_fails = false;
    return error;
}

int ncclCommDestroy(void *)
{
    return 0;
}

int ncclCommAbort(void *comm)
{
    communicator *c = static_cast<communicator *>(comm);
    count(&fake_gpus.aborted, 1);
    std::lock_guard<std::mutex> held(c->world->lock);
    c->world->aborted = true;
    c->world->news.notify_all();
    return 0;
}

int ncclCommGetAsyncError(void *, int *error)
{
    *error = 0;
    return 0;
}

const char *ncclGetErrorString(int error)
{
    return error == SYSTEM_ERROR ? "unhandled system error" : "internal error";
}

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int, void *comm, void *stream)
{
    return launch(comm, stream, type, {ALL_REDUCE, n, 0, send, recv});
}

int ncclAllGather(const void *send, void *recv, size_t n, int type, void *comm, void *stream)
{
    return launch(comm, stream, type, {ALL_GATHER, n, 0, send, recv});
}

int ncclReduceScatter(const void *send, void *recv, size_t n, int type, int, void *comm,
                      void *stream)
{
    return launch(comm, stream, type, {REDUCE_SCATTER, n, 0, send, recv});
}

int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, void *comm,
                  void *stream)
{
    return launch(comm, stream, type, {BROADCAST, n, root, send, recv});
}

int ncclReduce(const void *send, void *recv, size_t n, int type, int, int root, void *comm,
               void *stream)
{
    return launch(comm, stream, type, {REDUCE, n, root, send, recv});
}

int ncclSend(const void *, size_t, int, int, void *, void *)
{
    return failed(INVALID_ARGUMENT);
}

int ncclRecv(void *, size_t, int, int, void *, void *)
{
    return failed(INVALID_ARGUMENT);
}
}
