#include "kernels/collective/collective_call.h"

static const struct {
    bool parts, summed, in_place;
} infos[COLLECTIVE_OPS] = {
    [COLLECTIVE_ALLREDUCE] = {false, true, true},    [COLLECTIVE_ALLGATHER] = {true, false, true},
    [COLLECTIVE_REDUCESCATTER] = {true, true, true}, [COLLECTIVE_BROADCAST] = {false, false, true},
    [COLLECTIVE_REDUCE] = {false, true, true},       [COLLECTIVE_ALLTOALL] = {true, false, false},
    [COLLECTIVE_SENDRECV] = {false, false, false},
};

size_t collective_type_bytes(enum collective_type type)
{
    static const size_t bytes[COLLECTIVE_TYPES] = {
        [COLLECTIVE_INT8] = 1,     [COLLECTIVE_INT32] = 4, [COLLECTIVE_INT64] = 8,
        [COLLECTIVE_HALF] = 2,     [COLLECTIVE_FLOAT] = 4, [COLLECTIVE_DOUBLE] = 8,
        [COLLECTIVE_BFLOAT16] = 2,
    };
    return bytes[type];
}

bool collective_has_parts(enum collective_op op)
{
    return infos[op].parts;
}

bool collective_is_summed(enum collective_op op)
{
    return infos[op].summed;
}

bool collective_has_in_place(enum collective_op op)
{
    return infos[op].in_place;
}

size_t collective_send_count(const struct collective_call *call, unsigned ranks, unsigned rank)
{
    if (call->op == COLLECTIVE_REDUCESCATTER || call->op == COLLECTIVE_ALLTOALL)
        return ranks * call->count;
    return call->op == COLLECTIVE_BROADCAST && rank != call->root ? 0 : call->count;
}

size_t collective_recv_count(const struct collective_call *call, unsigned ranks, unsigned rank)
{
    if (call->op == COLLECTIVE_ALLGATHER || call->op == COLLECTIVE_ALLTOALL)
        return ranks * call->count;
    return call->op == COLLECTIVE_REDUCE && rank != call->root ? 0 : call->count;
}
