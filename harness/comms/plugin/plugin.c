/*
 * libcontend_comms.so: the profiler plugin that NCCL loads itself (NCCL_PROFILER_PLUGIN), for all
 * versions of its interface. It counts collectives and sends as NCCL enqueues them. Handles only
 * mark calls during the capture of a CUDA graph, and kernels that are timed. The plugin always
 * returns success: a monitor changes nothing.
 */
#include <stdlib.h>

#include "harness/comms/plugin/names.h"
#include "harness/comms/plugin/plugin_abi.h"
#include "harness/comms/plugin/plugin_log.h"
#include "harness/comms/plugin/plugin_timing.h"

/* NCCL's handle of a communicator: an element of this array, so that there is nothing to free. Each
 * element has its own cache line, as each rank has its own thread. */
struct context {
    _Alignas(64) int member;
    uint64_t collectives; /* so far */
};
static struct context contexts[COMMS_MEMBERS];

/* Handles of calls, which NCCL passes as the parents of their work; and of the work of a kernel. */
static char plain_call, captured_call, timed_work, untimed_work;

static int member_of(const void *context)
{
    return context ? ((const struct context *)context)->member : -1;
}

/* ---- communicators ---- */

/* CONTEND_COMMS_TIMING=N: times one in N collectives; 0: none. Interfaces before 5 do not report
 * launches. */
static void set_timing(unsigned interface)
{
    enum { EVERY = 64 };
    const char *text = getenv("CONTEND_COMMS_TIMING");
    uint64_t every = text && *text ? strtoul(text, NULL, 10) : EVERY;
    every = interface >= 5 ? every : 0;
    plugin_timing_set(every);
    plugin_log_report_timing(every);
}

static int join(void **context, int *mask, unsigned interface, int wanted,
                const struct comms_member *reported)
{
    bool on = plugin_log_open(interface);
    struct comms_member joining = *reported;
    if (on) /* the rank's GPU is now the current device of this thread */
        plugin_cuda_find_gpu(joining.gpu);
    int member = on ? plugin_log_join(&joining) : -1;
    if (on)
        set_timing(interface);
    if (member >= 0)
        contexts[member] = (struct context){.member = member};
    if (reported->rank == 0 && reported->nodes == 1)
        plugin_log_take_graph(member);
    if (context)
        *context = member >= 0 ? &contexts[member] : NULL;
    /* NCCL has one mask for all: a communicator without room must not disable the other ones. */
    if (mask)
        __atomic_store_n(mask, on ? wanted : 0, __ATOMIC_RELAXED);
    return ABI_SUCCESS;
}

/* The fields that interfaces 4 and later report about a communicator. */
static struct comms_member reported_member(uint64_t id, const char *name, int nodes, int nranks,
                                           int rank)
{
    bool known = nranks > 0 && nranks <= COMMS_PEERS && rank >= 0 && rank < nranks;
    struct comms_member reported = {.id = id,
                                    .rank = known ? rank : -1,
                                    .nranks = known ? (uint32_t)nranks : 0,
                                    .nodes = known && nodes > 0 && nodes <= nranks ? (uint32_t)nodes
                                                                                   : 0};
    for (size_t i = 0; name && name[i] && i + 1 < sizeof(reported.name); i++)
        reported.name[i] = name[i];
    return reported;
}

static int finalize(void *context)
{
    plugin_timing_leave(member_of(context));
    plugin_log_leave(member_of(context));
    return ABI_SUCCESS;
}

static int stop(void *handle)
{
    if (handle == &timed_work)
        plugin_timing_end_work();
    else if (handle && handle != &untimed_work && handle != &plain_call && handle != &captured_call)
        plugin_timing_launched(handle);
    return ABI_SUCCESS;
}

static int record(void *handle, int state, void *args)
{
    (void)handle;
    (void)state;
    (void)args;
    return ABI_SUCCESS;
}

/* ---- events ---- */

/* 1 + its index among the collectives of its rank, equal on all ranks; 0 = no collective. */
static uint64_t sequence_of(struct context *context, const struct comms_key *key)
{
    bool is_collective = key->algo != COMMS_CALLED && key->algo != COMMS_POINT_TO_POINT;
    return is_collective ? __atomic_add_fetch(&context->collectives, 1, __ATOMIC_RELAXED) : 0;
}

static void count(void *context, struct comms_key key, size_t elements)
{
    int member = member_of(context);
    if (member < 0)
        return;
    uint64_t bytes = (uint64_t)elements * comms_datatype_bytes(key.datatype);
    key.member = (uint32_t)member;
    const struct plugin_counted counted = plugin_log_count(&key, bytes, sequence_of(context, &key));
    if (key.algo != COMMS_CALLED)
        plugin_timing_add_work(key.algo == COMMS_POINT_TO_POINT ? NULL : &counted);
}

static uint32_t channels_of(uint8_t channels)
{
    return channels < COMMS_CHANNELS_MOST ? channels : COMMS_CHANNELS_MOST;
}

/* Only broadcast, reduce, gather and scatter have a root. */
static int32_t root_of(uint32_t func, int root)
{
    bool has = func == COMMS_BROADCAST || func == COMMS_REDUCE || func == COMMS_GATHER ||
               func == COMMS_SCATTER;
    return has ? root : -1;
}

static void count_coll(void *context, const struct abi_work *work, const struct abi_way *way,
                       bool captured)
{
    uint32_t func = comms_name_find(&comms_funcs, work->func);
    count(context,
          (struct comms_key){.func = func,
                             .datatype = comms_name_find(&comms_datatypes, work->datatype),
                             .algo = comms_name_find(&comms_algos, way->algo),
                             .proto = comms_name_find(&comms_protos, way->proto),
                             .channels = channels_of(way->channels),
                             .captured = captured,
                             .peer = root_of(func, work->root)},
          work->count);
}

static void count_p2p(void *context, const struct abi_p2p_4 *p2p, bool captured)
{
    count(context,
          (struct comms_key){.func = comms_name_find(&comms_funcs, p2p->func),
                             .datatype = comms_name_find(&comms_datatypes, p2p->datatype),
                             .algo = COMMS_POINT_TO_POINT,
                             .channels = channels_of(p2p->channels),
                             .captured = captured,
                             .peer = p2p->peer},
          p2p->count);
}

static void count_coll_1(void *context, int rank, const struct abi_coll_1 *coll)
{
    uint32_t func = comms_name_numbered(&comms_funcs, coll->func);
    plugin_log_learn(member_of(context), coll->comm_hash, rank);
    count(context,
          (struct comms_key){.func = func,
                             .datatype = comms_name_numbered(&comms_datatypes, coll->datatype),
                             .algo = comms_name_numbered(&comms_algos, coll->algo),
                             .proto = comms_name_numbered(&comms_protos, coll->proto),
                             .channels = channels_of(coll->channels),
                             .peer = root_of(func, coll->root)},
          coll->count);
}

static void count_p2p_1(void *context, int rank, const struct abi_p2p_1 *p2p)
{
    plugin_log_learn(member_of(context), p2p->comm_hash, rank);
    count(context,
          (struct comms_key){.func = comms_name_numbered(&comms_funcs, p2p->func),
                             .datatype = comms_name_numbered(&comms_datatypes, p2p->datatype),
                             .algo = COMMS_POINT_TO_POINT,
                             .peer = p2p->peer},
          p2p->count);
}

static void count_p2p_2(void *context, int rank, const struct abi_p2p_2 *p2p)
{
    const struct abi_p2p_4 same = {
        .func = p2p->func, .datatype = p2p->datatype, .count = p2p->count, .peer = p2p->peer};
    plugin_log_learn(member_of(context), p2p->comm_hash, rank);
    count_p2p(context, &same, false);
}

/* Sets the handle to NULL, as for all work. True: there is an event. */
static bool may_count(void **handle, const void *event)
{
    if (handle)
        *handle = NULL;
    return event != NULL;
}

/* NCCL up to 2.27 reports work only for a group that has a handle (ncclProfilerStartTaskEvents in
 * its profiler.cc). */
static bool may_count_in_group(void **handle, const struct abi_event_1 *event)
{
    if (!may_count(handle, event))
        return false;
    if (event->type == ABI_GROUP && handle)
        *handle = &untimed_work;
    return true;
}

static int start_1(void *context, void **handle, struct abi_event_1 *event)
{
    if (!may_count_in_group(handle, event))
        return ABI_SUCCESS;
    if (event->type == ABI_COLL)
        count_coll_1(context, event->rank, &event->coll_1);
    else if (event->type == ABI_P2P)
        count_p2p_1(context, event->rank, &event->p2p_1);
    return ABI_SUCCESS;
}

/* Interfaces 2 and 3 have the collective at the same offset, but not the algorithm. */
static void count_event(void *context, const struct abi_event_1 *event, const struct abi_way *way)
{
    if (event->type == ABI_COLL) {
        plugin_log_learn(member_of(context), event->coll_3.comm_hash, event->rank);
        count_coll(context, &event->coll_3.work, way, false);
    } else if (event->type == ABI_P2P)
        count_p2p_2(context, event->rank, &event->p2p_2);
}

static int start_2(void *context, void **handle, struct abi_event_1 *event)
{
    if (may_count_in_group(handle, event))
        count_event(context, event, &event->coll_2.way);
    return ABI_SUCCESS;
}

static int start_3(void *context, void **handle, struct abi_event_1 *event)
{
    if (may_count_in_group(handle, event))
        count_event(context, event, &event->coll_3.way);
    return ABI_SUCCESS;
}

static int start_4(void *context, void **handle, struct abi_event_1 *event)
{
    if (!may_count_in_group(handle, event))
        return ABI_SUCCESS;
    if (event->type == ABI_COLL)
        count_coll(context, &event->coll_4.work, &event->coll_4.way, false);
    else if (event->type == ABI_P2P)
        count_p2p(context, &event->p2p_4, false);
    return ABI_SUCCESS;
}

static void note_call(void *context, void **handle, const char *func, const char *datatype,
                      size_t elements, bool captured)
{
    if (handle)
        *handle = captured ? &captured_call : &plain_call;
    count(context,
          (struct comms_key){.func = comms_name_find(&comms_funcs, func),
                             .datatype = comms_name_find(&comms_datatypes, datatype),
                             .algo = COMMS_CALLED,
                             .captured = captured,
                             .peer = -1},
          elements);
}

/* Called for each launch: times the kernel if the next collective is due. */
static void launch(void *context, void **handle, void *stream)
{
    struct context *of = context;
    if (of && handle)
        *handle = plugin_timing_launch(
            of->member, __atomic_load_n(&of->collectives, __ATOMIC_RELAXED) + 1, stream);
}

static int start_5(void *context, void **handle, struct abi_event_5 *event)
{
    if (!may_count(handle, event))
        return ABI_SUCCESS;
    bool captured = event->parent == &captured_call;
    if (event->type == ABI_COLL)
        count_coll(context, &event->coll.work, &event->coll.way, captured);
    else if (event->type == ABI_P2P)
        count_p2p(context, &event->p2p, captured);
    else if (event->type == ABI_COLL_CALL)
        note_call(context, handle, event->coll_call.func, event->coll_call.datatype,
                  event->coll_call.count, event->coll_call.captured);
    else if (event->type == ABI_P2P_CALL)
        note_call(context, handle, event->p2p_call.func, event->p2p_call.datatype,
                  event->p2p_call.count, event->p2p_call.captured);
    else if (event->type == ABI_LAUNCH)
        launch(context, handle, event->launch.stream);
    else if (event->type == ABI_GROUP && handle && plugin_timing_begin_work(member_of(context)))
        *handle = &timed_work;
    else if (event->type > ABI_LAST)
        plugin_log_unknown();
    return ABI_SUCCESS;
}

static int start_6(void *context, void **handle, struct abi_event_5 *event)
{
    if (!event || event->type != ABI_COPY_COLL)
        return start_5(context, handle, event);
    const struct abi_work *coll = &event->copy_coll;
    uint32_t func = comms_name_find(&comms_funcs, coll->func);
    (void)may_count(handle, event);
    count(context,
          (struct comms_key){.func = func,
                             .datatype = comms_name_find(&comms_datatypes, coll->datatype),
                             .algo = COMMS_COPY_ENGINE,
                             .captured = event->parent == &captured_call,
                             .peer = root_of(func, coll->root)},
          coll->count);
    return ABI_SUCCESS;
}

/* ---- tables ---- */

enum {
    WORK = ABI_COLL | ABI_P2P,
    CALLS = ABI_COLL_CALL | ABI_P2P_CALL /* NCCL reports them with the work, asked for or not */
};

/* Interfaces 1 to 3 report nothing here: see plugin_log_learn. */
static const struct comms_member unreported_member = {.rank = -1};

static int init_1(void **context, int *mask)
{
    return join(context, mask, 1, WORK, &unreported_member);
}

static int init_2(void **context, int *mask)
{
    return join(context, mask, 2, WORK, &unreported_member);
}

static int init_3(void **context, int *mask)
{
    return join(context, mask, 3, WORK, &unreported_member);
}

/* NOLINTNEXTLINE(readability-function-size): so NCCL calls it */
static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int nranks,
                  int rank, void *log)
{
    const struct comms_member reported = reported_member(hash, name, nodes, nranks, rank);
    (void)log;
    return join(context, mask, 4, WORK, &reported);
}

/* NOLINTNEXTLINE(readability-function-size): so NCCL calls it */
static int init_5(void **context, uint64_t id, int *mask, const char *name, int nodes, int nranks,
                  int rank, void *log)
{
    const struct comms_member reported = reported_member(id, name, nodes, nranks, rank);
    (void)log;
    return join(context, mask, 5, WORK | CALLS | ABI_LAUNCH, &reported);
}

/* NOLINTNEXTLINE(readability-function-size): so NCCL calls it */
static int init_6(void **context, uint64_t id, int *mask, const char *name, int nodes, int nranks,
                  int rank, void *log)
{
    const struct comms_member reported = reported_member(id, name, nodes, nranks, rank);
    (void)log;
    return join(context, mask, 6, WORK | CALLS | ABI_LAUNCH | ABI_COPY_COLL, &reported);
}

#define EXPORTED __attribute__((visibility("default")))
#define REST .stop = stop, .record = record, .finalize = finalize

extern const struct abi_profiler ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4,
    ncclProfiler_v5, ncclProfiler_v6;

EXPORTED const struct abi_profiler ncclProfiler_v1 = {"contend", {init_1}, {start_1}, REST};
EXPORTED const struct abi_profiler ncclProfiler_v2 = {"contend", {init_2}, {start_2}, REST};
EXPORTED const struct abi_profiler ncclProfiler_v3 = {"contend", {init_3}, {start_3}, REST};
EXPORTED const struct abi_profiler ncclProfiler_v4 = {
    "contend", {.init_4 = init_4}, {start_4}, REST};
EXPORTED const struct abi_profiler ncclProfiler_v5 = {
    "contend", {.init_5 = init_5}, {.start_5 = start_5}, REST};
EXPORTED const struct abi_profiler ncclProfiler_v6 = {
    "contend", {.init_5 = init_6}, {.start_5 = start_6}, REST};
