/* The MPI engine of collectives with one rank, over a fake MPI that the test controls. */
#include "bench/collective/collective.h"
#include "bench/collective/collective_scan.h"
#include "harness/engine/contract/peers.h"
#include "tests/lib/unit.h"

enum { COUNT = 100 };

static int calls, fail_from, corrupt_at;

/* With one rank, the received data equal the sent data. */
static int fake_collective(const struct collective_call *call, const void *send, void *recv,
                           struct err *err)
{
    const size_t bytes = collective_type_bytes(call->type);
    if (++calls > fail_from)
        return err_set(err, -EIO, "the cable is cut");
    if (!call->in_place && call->op != COLLECTIVE_BROADCAST)
        memcpy(recv, send, call->count * bytes);
    if (corrupt_at >= 0)
        ((unsigned char *)recv)[(size_t)corrupt_at * bytes] ^= 1;
    return 0;
}

static const struct mpi_ops fake_ops = {.abi = MPI_OPS_ABI, .collective = fake_collective};

struct fixture {
    struct collective_params params;
    struct peers peers;
    struct err err;
    struct bench_ctx ctx;
    struct collective team;
};

static void prepare_engine(struct fixture *f)
{
    *f = (struct fixture){.params = {.type = COLLECTIVE_FLOAT},
                          .peers = {.size = 1, .mpi = &fake_ops},
                          .team = {.ops = &collective_mpi_ops}};
    f->ctx = (struct bench_ctx){.params = &f->params, .peers = &f->peers, .err = &f->err};
    calls = 0;
    fail_from = 1000;
    corrupt_at = -1;
}

static struct collective_call make_call(enum collective_op op, enum collective_type type,
                                        bool in_place)
{
    return (struct collective_call){.op = op,
                                    .type = type,
                                    .in_place = in_place,
                                    .count = COUNT,
                                    .bytes = COUNT * collective_type_bytes(type)};
}

TEST(collective_mpi_probe)
{
    struct fixture f;
    unsigned local = 0;
    prepare_engine(&f);
    assert_int_equal(collective_mpi_ops.probe(&f.ctx, &local), 0);
    assert_int_equal(local, 1);
    f.params.type = COLLECTIVE_BFLOAT16;
    assert_int_equal(collective_mpi_ops.probe(&f.ctx, &local), -ENOTSUP);
    assert_has(f.err.msg, "bfloat16");
    f.params.type = COLLECTIVE_FLOAT;
    f.params.registered = true;
    assert_int_equal(collective_mpi_ops.probe(&f.ctx, &local), -ENOTSUP);
    f.params.registered = false;
    f.params.redop = COLLECTIVE_AVG;
    assert_int_equal(collective_mpi_ops.probe(&f.ctx, &local), -ENOTSUP);
    assert_has(f.err.msg, "redop=avg");
    f.peers.mpi = NULL;
    assert_int_equal(collective_mpi_ops.probe(&f.ctx, &local), -ENOTSUP);
    assert_has(f.err.msg, "mpirun -n 2 contend bench collective");
}

/* For every operation and type: right results pass, and the check locates one changed bit. */
TEST(collective_mpi_check)
{
    static const enum collective_type types[] = {
        COLLECTIVE_INT8,   COLLECTIVE_INT32, COLLECTIVE_INT64,  COLLECTIVE_FLOAT,
        COLLECTIVE_DOUBLE, COLLECTIVE_UINT8, COLLECTIVE_UINT32, COLLECTIVE_UINT64};
    struct fixture f;
    prepare_engine(&f);
    assert_int_equal(collective_mpi_ops.open(&f.team, &f.ctx, COUNT * sizeof(double)), 0);
    for (int op = 0; op < COLLECTIVE_OPS; op++)
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
            for (int in_place = 0; in_place <= collective_has_in_place((enum collective_op)op);
                 in_place++) {
                struct collective_call call =
                    make_call((enum collective_op)op, types[t], in_place != 0);
                struct collective_verdict verdict = {0};
                assert_int_equal(f.team.ops->prepare(&f.team, &call, &f.err), 0);
                corrupt_at = -1;
                assert_int_equal(f.team.ops->check(&f.team, 3, &verdict, &f.err), 0);
                assert_int_equal(verdict.wrong, 0);
                corrupt_at = 37;
                assert_int_equal(f.team.ops->check(&f.team, 3, &verdict, &f.err), 0);
                assert_int_equal(verdict.wrong, 1);
                assert_int_equal(verdict.index, 37);
            }
    f.team.ops->close(&f.team);
}

/* `run` does one more operation than it times; an error carries MPI's own message. */
TEST(collective_mpi_run)
{
    struct fixture f;
    uint64_t elapsed_ns = 0;
    struct collective_time times[4];
    prepare_engine(&f);
    assert_int_equal(collective_mpi_ops.open(&f.team, &f.ctx, COUNT * sizeof(float)), 0);
    struct collective_call call = make_call(COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT, false);
    assert_int_equal(f.team.ops->prepare(&f.team, &call, &f.err), 0);
    assert_int_equal(f.team.ops->run(&f.team, 10, &elapsed_ns, &f.err), 0);
    assert_int_equal(calls, 11);
    assert_true(elapsed_ns > 0);
    assert_int_equal(f.team.ops->time_each(&f.team, 4, times, &f.err), 0);
    assert_int_equal(calls, 16);
    for (int i = 0; i < 4; i++)
        assert_true(times[i].busy_us > 0 && times[i].period_us >= times[i].busy_us);
    fail_from = calls + 2;
    assert_int_equal(f.team.ops->run(&f.team, 10, &elapsed_ns, &f.err), -EIO);
    assert_string_equal(f.err.msg, "the cable is cut");
    f.team.ops->close(&f.team);
}
