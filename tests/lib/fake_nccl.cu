/* The libnccl of fake_gpus.h, for the types float, int32 and uint8. */
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

#include <dlfcn.h>
#include <unistd.h>

#include "fake_stream.h"
#include "tests/lib/fake_gpus.h"
extern "C" {
#include "kernels/collective/nccl_api.h"
}

enum { SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4 };

/* A message to or from a peer. */
struct part {
    int peer;
    size_t bytes;
    char *at;
};

/* Shared by the ranks of one id: their meeting point and their buffers. */
struct world {
    std::mutex lock;
    std::condition_variable news;
    int ranks, joined = 0;
    bool given_up = false, aborted = false;
    unsigned came = 0, met = 0;
    std::vector<const void *> send;
    std::vector<std::vector<struct part>> sent;
};

struct communicator {
    struct world *world;
    int rank;
    void *stream;
    std::vector<struct part> sends, recvs; /* of the open group */
};

/* Never freed: a stream may reach an operation after its communicator was aborted. */
static std::mutex worlds_lock;
static auto &worlds = *new std::map<std::string, world *>;
static auto &communicators = *new std::vector<communicator *>;
static std::atomic<int> ids{0};
static thread_local int depth;
static thread_local bool group_fails;
static thread_local std::vector<world *> joins;            /* for the group's end to wait for */
static thread_local std::vector<communicator *> exchanges; /* for the group's end to launch */

static void count(int *counter, int change)
{
    __atomic_add_fetch(counter, change, __ATOMIC_SEQ_CST);
}

/* All ranks meet; false if they were aborted. */
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
    communicators.push_back(new communicator{w, rank, NULL, {}, {}});
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

/* As in NCCL, a failed call in a group fails the whole group. */
static int failed(int error)
{
    group_fails |= depth > 0;
    return error;
}

enum kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE };

struct operation {
    enum kind kind;
    size_t count;
    int root, redop;
    const void *send;
    void *recv;
};

template <typename T> static T reduced_at(const world *w, int redop, size_t i)
{
    double all = (double)static_cast<const T *>(w->send[0])[i];
    for (size_t rank = 1; rank < (size_t)w->ranks; rank++) {
        double one = (double)static_cast<const T *>(w->send[rank])[i];
        if (redop == NCCL_MIN || redop == NCCL_MAX)
            all = (one < all) == (redop == NCCL_MIN) ? one : all;
        else
            all = redop == NCCL_PROD ? all * one : all + one;
    }
    return (T)(redop == NCCL_AVG ? all / w->ranks : all);
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
                result.push_back(reduced_at<T>(w, op->redop, first + i));
    return result;
}

/* The kernel: all ranks arrive, read what the others send, and write when all have read. */
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
    if (type != NCCL_FLOAT && type != NCCL_INT32 && type != NCCL_UINT8)
        return failed(INVALID_ARGUMENT);
    bool sleeps = c->rank == fake_gpus.sleeps;
    if (sleeps && !fake_gpus.sleeps_behind)
        (void)usleep(fake_gpus.sleep_us);
    fake_enqueue(static_cast<cudaStream_t>(stream), [=] {
        if (type == NCCL_FLOAT)
            work<float>(c, &op);
        else if (type == NCCL_INT32)
            work<int32_t>(c, &op);
        else
            work<uint8_t>(c, &op);
    });
    if (sleeps && fake_gpus.sleeps_behind)
        (void)usleep(fake_gpus.sleep_us);
    return 0;
}

/* The kernel of a group: the n-th receive from a peer gets the n-th message of this peer. */
static void exchange(const communicator *c, const std::vector<part> &sends,
                     const std::vector<part> &recvs)
{
    std::map<int, size_t> seen;
    std::vector<std::vector<char>> came;
    {
        std::lock_guard<std::mutex> held(c->world->lock);
        c->world->sent[(size_t)c->rank] = sends;
    }
    if (!meet(c->world))
        return;
    for (const part &recv : recvs) {
        const std::vector<part> &theirs = c->world->sent[(size_t)recv.peer];
        size_t &at = seen[recv.peer];
        while (theirs[at].peer != c->rank)
            at++;
        came.emplace_back(theirs[at].at, theirs[at].at + recv.bytes);
        at++;
    }
    if (meet(c->world))
        for (size_t i = 0; i < recvs.size(); i++)
            memcpy(recvs[i].at, came[i].data(), recvs[i].bytes);
}

static void launch_parts(communicator *c)
{
    std::vector<part> sends, recvs;
    sends.swap(c->sends);
    recvs.swap(c->recvs);
    fake_enqueue(static_cast<cudaStream_t>(c->stream), [=] { exchange(c, sends, recvs); });
}

static int add_part(void *comm, void *stream, int peer, int type, size_t n, char *at, bool is_recv)
{
    communicator *c = static_cast<communicator *>(comm);
    if (depth == 0)
        return INVALID_ARGUMENT;
    if (c->sends.empty() && c->recvs.empty())
        exchanges.push_back(c);
    c->stream = stream;
    (is_recv ? c->recvs : c->sends).push_back({peer, n * (type == NCCL_UINT8 ? 1 : 4), at});
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
        w->sent.resize((size_t)ranks);
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
    for (communicator *c : exchanges)
        launch_parts(c);
    exchanges.clear();
    joins.clear();
    group_fails = false;
    return error;
}

int ncclCommDestroy(void *comm)
{
    (void)comm;
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

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int redop, void *comm,
                  void *stream)
{
    return launch(comm, stream, type, {ALL_REDUCE, n, 0, redop, send, recv});
}

int ncclAllGather(const void *send, void *recv, size_t n, int type, void *comm, void *stream)
{
    return launch(comm, stream, type, {ALL_GATHER, n, 0, 0, send, recv});
}

int ncclReduceScatter(const void *send, void *recv, size_t n, int type, int redop, void *comm,
                      void *stream)
{
    return launch(comm, stream, type, {REDUCE_SCATTER, n, 0, redop, send, recv});
}

int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, void *comm,
                  void *stream)
{
    return launch(comm, stream, type, {BROADCAST, n, root, 0, send, recv});
}

int ncclReduce(const void *send, void *recv, size_t n, int type, int redop, int root, void *comm,
               void *stream)
{
    return launch(comm, stream, type, {REDUCE, n, root, redop, send, recv});
}

int ncclMemAlloc(void **buffer, size_t bytes)
{
    return fake_allocate(buffer, bytes) == cudaSuccess ? 0 : SYSTEM_ERROR;
}

int ncclMemFree(void *buffer)
{
    return cudaFree(buffer) == cudaSuccess ? 0 : SYSTEM_ERROR;
}

int ncclCommRegister(void *, void *buffer, size_t, void **handle)
{
    count(&fake_gpus.registered, 1);
    count(&fake_gpus.registered_open, 1);
    *handle = buffer;
    return 0;
}

int ncclCommDeregister(void *, void *)
{
    count(&fake_gpus.registered_open, -1);
    return 0;
}

int ncclSend(const void *send, size_t n, int type, int peer, void *comm, void *stream)
{
    char *at = const_cast<char *>(static_cast<const char *>(send));
    return add_part(comm, stream, peer, type, n, at, false);
}

int ncclRecv(void *recv, size_t n, int type, int peer, void *comm, void *stream)
{
    return add_part(comm, stream, peer, type, n, static_cast<char *>(recv), true);
}
}
