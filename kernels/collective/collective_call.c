#include "kernels/collective/collective_call.h"

static const struct {
    bool parts, reduced, in_place;
} infos[COLLECTIVE_OPS] = {
    [COLLECTIVE_ALLREDUCE] = {false, true, true},    [COLLECTIVE_ALLGATHER] = {true, false, true},
    [COLLECTIVE_REDUCESCATTER] = {true, true, true}, [COLLECTIVE_BROADCAST] = {false, false, true},
    [COLLECTIVE_REDUCE] = {false, true, true},       [COLLECTIVE_ALLTOALL] = {true, false, false},
    [COLLECTIVE_SENDRECV] = {false, false, false},   [COLLECTIVE_GATHER] = {true, false, true},
    [COLLECTIVE_SCATTER] = {true, false, true},
};

size_t collective_type_bytes(enum collective_type type)
{
    static const size_t bytes[COLLECTIVE_TYPES] = {
        [COLLECTIVE_INT8] = 1,     [COLLECTIVE_INT32] = 4,  [COLLECTIVE_INT64] = 8,
        [COLLECTIVE_HALF] = 2,     [COLLECTIVE_FLOAT] = 4,  [COLLECTIVE_DOUBLE] = 8,
        [COLLECTIVE_BFLOAT16] = 2, [COLLECTIVE_UINT8] = 1,  [COLLECTIVE_UINT32] = 4,
        [COLLECTIVE_UINT64] = 8,   [COLLECTIVE_F8E4M3] = 1, [COLLECTIVE_F8E5M2] = 1,
    };
    return bytes[type];
}

bool collective_has_parts(enum collective_op op)
{
    return infos[op].parts;
}

bool collective_is_reduced(enum collective_op op)
{
    return infos[op].reduced;
}

bool collective_has_in_place(enum collective_op op)
{
    return infos[op].in_place;
}

size_t collective_send_count(const struct collective_call *call, unsigned ranks, unsigned rank)
{
    bool is_root = rank == call->root;
    switch (call->op) {
    case COLLECTIVE_REDUCESCATTER:
    case COLLECTIVE_ALLTOALL:
        return ranks * call->count;
    case COLLECTIVE_BROADCAST:
        return is_root ? call->count : 0;
    case COLLECTIVE_SCATTER:
        return is_root ? ranks * call->count : 0;
    default:
        return call->count;
    }
}

size_t collective_recv_count(const struct collective_call *call, unsigned ranks, unsigned rank)
{
    bool is_root = rank == call->root;
    switch (call->op) {
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_ALLTOALL:
        return ranks * call->count;
    case COLLECTIVE_REDUCE:
        return is_root ? call->count : 0;
    case COLLECTIVE_GATHER:
        return is_root ? ranks * call->count : 0;
    default:
        return call->count;
    }
}

const char *collective_func_name(enum collective_op op)
{
    static const char *const names[COLLECTIVE_OPS] = {
        [COLLECTIVE_ALLREDUCE] = "AllReduce",
        [COLLECTIVE_ALLGATHER] = "AllGather",
        [COLLECTIVE_REDUCESCATTER] = "ReduceScatter",
        [COLLECTIVE_BROADCAST] = "Broadcast",
        [COLLECTIVE_REDUCE] = "Reduce",
    };
    return names[op];
}
