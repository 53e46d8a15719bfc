/* Matrices of made-up communicators: rings in an order of NCCL's, trees, and refused cases. */
#include "harness/comms/merge.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { RANKS_MOST = 64 };
static struct comms_done done[RANKS_MOST];
static struct comms_rank present[RANKS_MOST];

/* A communicator of n ranks that all made the same call. */
static struct comms_communicator communicator_of(uint32_t n, uint32_t nodes, uint32_t func,
                                                 uint32_t algo, uint64_t bytes)
{
    for (uint32_t rank = 0; rank < n; rank++) {
        present[rank].rank = rank;
        done[rank] = (struct comms_done){
            rank, {{.func = func, .datatype = COMMS_INT8, .algo = algo, .peer = -1}, 2, bytes}};
    }
    return (struct comms_communicator){.nranks = n,
                                       .nodes = nodes,
                                       .size_known = true,
                                       .npresent = n,
                                       .ndone = n,
                                       .present = present,
                                       .done = done};
}

TEST(matrix_follows_the_order_of_nccl)
{
    static uint32_t rings[] = {0, 2, 1, 3, /* and the reverse */ 3, 1, 2, 0};
    struct comms_communicator communicator =
        communicator_of(4, 1, COMMS_ALL_GATHER, COMMS_RING, 101);
    communicator.order = (struct comms_order){2, rings};
    AUTO(comms_matrix) matrix;
    assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), 0);
    assert_int_equal(matrix.how, COMMS_FROM_NCCL);
    assert_int_equal(matrix.bytes[0 * 4 + 2], 3 * 51);
    assert_int_equal(matrix.bytes[2 * 4 + 0], 3 * 50);
    assert_int_equal(matrix.bytes[0 * 4 + 3], 3 * 50);
    assert_int_equal(matrix.bytes[0 * 4 + 1], 0);
    assert_int_equal(matrix.calls[0 * 4 + 2], 2);
}

/* Three channels over two rings: two channels share a direction. */
TEST(matrix_shares_bytes_over_channels)
{
    static uint32_t rings[] = {0, 2, 1, 3, 3, 1, 2, 0};
    struct comms_communicator communicator =
        communicator_of(4, 1, COMMS_ALL_GATHER, COMMS_RING, 300);
    AUTO(comms_matrix) matrix;
    communicator.order = (struct comms_order){2, rings};
    for (size_t i = 0; i < communicator.ndone; i++)
        communicator.done[i].count.key.channels = 3;
    assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), 0);
    assert_int_equal(matrix.bytes[0 * 4 + 2], 3 * 200);
    assert_int_equal(matrix.bytes[0 * 4 + 3], 3 * 100);
}

TEST(matrix_adds_the_flags_of_protocols_to_the_wire)
{
    static const struct {
        uint32_t proto;
        uint64_t wire;
    } cases[] = {{COMMS_SIMPLE, 120}, {COMMS_LL, 240}, {COMMS_LL128, 128}, {0, 120}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct comms_communicator communicator =
            communicator_of(2, 1, COMMS_ALL_REDUCE, COMMS_RING, 120);
        AUTO(comms_matrix) matrix;
        for (size_t i = 0; i < communicator.ndone; i++)
            communicator.done[i].count.key.proto = cases[c].proto;
        assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), 0);
        assert_int_equal(matrix.bytes[1], 120);
        assert_int_equal(matrix.wire[1], cases[c].wire);
    }
}

/* The log does not say whether sends used LL; large sends never do. */
TEST(matrix_tells_what_flags_small_sends_may_have)
{
    static const struct {
        uint32_t func, algo;
        uint64_t size, flags;
    } cases[] = {{COMMS_SEND, COMMS_POINT_TO_POINT, 1 << 20, 3 << 20},
                 {COMMS_SEND, COMMS_POINT_TO_POINT, 1 << 21, 0},
                 {COMMS_ALL_GATHER, COMMS_RING, 1 << 10, 0}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct comms_communicator communicator =
            communicator_of(2, 1, cases[c].func, cases[c].algo, 3 * cases[c].size);
        AUTO(comms_matrix) matrix;
        for (uint32_t i = 0; i < 2; i++) {
            communicator.done[i].count.key.peer = 1 - (int32_t)i;
            communicator.done[i].count.key.bucket = comms_bucket(cases[c].size);
        }
        assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), 0);
        assert_int_equal(matrix.wire[1], 3 * cases[c].size);
        assert_int_equal(matrix.flags[1], cases[c].flags);
    }
}

/* Every rank except the one root is a child of its parent. */
static void check_tree(uint32_t n, uint32_t nodes, bool second)
{
    unsigned roots = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        struct comms_tree tree = comms_tree_of(rank, n, nodes, second);
        bool is_child = false;
        roots += tree.parent < 0;
        if (tree.parent < 0)
            continue;
        struct comms_tree above = comms_tree_of((uint32_t)tree.parent, n, nodes, second);
        for (int i = 0; i < 3; i++)
            is_child |= above.child[i] == rank;
        assert_true(is_child);
    }
    assert_int_equal(roots, 1);
}

static bool is_leaf(uint32_t rank, uint32_t n, bool second)
{
    struct comms_tree tree = comms_tree_of(rank, n, n, second);
    return tree.child[0] < 0 && tree.child[1] < 0 && tree.child[2] < 0;
}

/* Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", Parallel Computing 35 (2009): a node with children in one tree has none in the other. */
TEST(trees_are_a_pair)
{
    for (uint32_t n = 2; n <= RANKS_MOST; n++)
        for (int second = 0; second < 2; second++) {
            check_tree(n, n, second);
            check_tree(n, 1, second);
            if (n % 4 == 0)
                check_tree(n, n / 4, second);
        }
    for (uint32_t n = 4; n <= RANKS_MOST; n += 2)
        for (uint32_t rank = 1; rank + 1 < n; rank++)
            assert_true(is_leaf(rank, n, false) != is_leaf(rank, n, true));
}

TEST(ring_sums_are_exact)
{
    for (uint32_t n = 2; n <= RANKS_MOST; n++) {
        struct comms_communicator communicator =
            communicator_of(n, 1, COMMS_ALL_REDUCE, COMMS_RING, 1000003);
        AUTO(comms_matrix) matrix;
        uint64_t sum = 0;
        assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), 0);
        for (size_t i = 0; i < (size_t)n * n; i++)
            sum += matrix.bytes[i];
        assert_int_equal(sum, 2ull * (n - 1) * 1000003);
    }
}

TEST(matrix_is_refused)
{
    struct comms_communicator communicator =
        communicator_of(4, 1, COMMS_ALL_GATHER, COMMS_RING, 1ull << 62);
    struct comms_matrix matrix;
    assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), -EOVERFLOW);
    communicator.nranks = COMMS_MATRIX_RANKS + 1;
    assert_int_equal(comms_matrix_make(&communicator, &matrix, NULL), -E2BIG);
}

/* Without a formula nothing is guessed: calls and bytes are unknown, and the matrix is empty. */
TEST(matrix_guesses_nothing)
{
    static const uint32_t unknown[][2] = {
        {COMMS_ALL_REDUCE, COMMS_NVLS},       {COMMS_ALL_REDUCE, COMMS_NVLS_TREE},
        {COMMS_ALL_GATHER, COMMS_PAT},        {COMMS_ALL_REDUCE, COMMS_COLLNET_DIRECT},
        {COMMS_ALL_REDUCE, COMMS_ALGO_OTHER}, {COMMS_BROADCAST, COMMS_TREE},
        {COMMS_BROADCAST, COMMS_RING}, /* the root is missing */
        {COMMS_FUNC_OTHER, COMMS_RING},
    };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct comms_communicator communicator =
            communicator_of(4, 1, unknown[i][0], unknown[i][1], 100);
        AUTO(comms_matrix) matrix;
        struct err err;
        assert_int_equal(comms_matrix_make(&communicator, &matrix, &err), 0);
        assert_int_equal(matrix.unknown_calls, 8);
        assert_int_equal(matrix.unknown_bytes, 400);
        for (size_t cell = 0; cell < 16; cell++)
            assert_int_equal(matrix.bytes[cell], 0);
    }
    /* Copies between nodes have no formula either. */
    struct comms_communicator communicator =
        communicator_of(4, 2, COMMS_ALL_GATHER, COMMS_COPY_ENGINE, 100);
    AUTO(comms_matrix) matrix;
    struct err err;
    assert_int_equal(comms_matrix_make(&communicator, &matrix, &err), 0);
    assert_int_equal(matrix.unknown_calls, 8);
}
