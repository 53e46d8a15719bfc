#include "harness/comms/matrix.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/comms/merge.h"
#include "harness/comms/plugin/names.h"

struct maker {
    struct comms_matrix *matrix;
    const struct comms_communicator *communicator;
    bool *present; /* [n] */
    bool overflow;
};

const char *comms_how_name(enum comms_how how)
{
    static const char *const names[] = {"exact", "order from NCCL", "modelled"};
    return names[how];
}

/* Bytes with the flags of the protocol, at most UINT64_MAX. Valid logs stay far below (read.c). */
static uint64_t wire_of(uint32_t proto, uint64_t bytes)
{
    unsigned __int128 wire = bytes;
    wire = proto == COMMS_LL ? wire * 2 : proto == COMMS_LL128 ? (wire * 16 + 14) / 15 : wire;
    return wire > UINT64_MAX ? UINT64_MAX : (uint64_t)wire;
}

/* Flags that a small send may add: it may use LL or not. */
static uint64_t flags_of(const struct comms_key *key, uint64_t bytes)
{
    bool is_small = key->bucket <= comms_bucket(64 * 16384ull) || key->bucket == COMMS_BUCKET_ANY;
    return key->algo == COMMS_POINT_TO_POINT && is_small ? bytes : 0;
}

static void add(struct maker *maker, const struct comms_key *key, int64_t from, int64_t to,
                uint64_t bytes, uint64_t calls)
{
    struct comms_matrix *matrix = maker->matrix;
    if (from < 0 || to < 0 || from >= matrix->n || to >= matrix->n)
        return;
    size_t at = (size_t)from * matrix->n + (size_t)to;
    maker->overflow |= __builtin_add_overflow(matrix->bytes[at], bytes, &matrix->bytes[at]);
    maker->overflow |=
        __builtin_add_overflow(matrix->wire[at], wire_of(key->proto, bytes), &matrix->wire[at]);
    maker->overflow |=
        __builtin_add_overflow(matrix->flags[at], flags_of(key, bytes), &matrix->flags[at]);
    matrix->calls[at] += calls;
}

static void lower_certainty(struct maker *maker, enum comms_how how)
{
    if (how > maker->matrix->how)
        maker->matrix->how = how;
}

/* ---- rings ---- */

struct place {
    uint32_t at, next; /* place in the ring, and the next rank */
};

static struct place place_in(const struct maker *maker, size_t ring, uint32_t rank)
{
    uint32_t n = maker->matrix->n;
    const struct comms_order *known_order = &maker->communicator->order;
    if (!known_order->nrings)
        return (struct place){rank, (rank + 1) % n};
    const uint32_t *order = &known_order->rank[ring * n];
    uint32_t at = 0;
    while (at + 1 < n && order[at] != rank)
        at++;
    return (struct place){at, order[(at + 1) % n]};
}

/* The bytes that a rank sends if one ring carries `bytes`. */
static uint64_t ring_share(const struct comms_key *key, uint32_t rank, struct place place,
                           uint32_t n, uint64_t bytes)
{
    unsigned __int128 all = (unsigned __int128)bytes * 2 * (n - 1);
    switch (key->func) {
    case COMMS_ALL_REDUCE:
        return (uint64_t)(all / n) + (place.at < (uint64_t)(all % n));
    case COMMS_ALL_GATHER:
    case COMMS_REDUCE_SCATTER:
        return bytes * (n - 1);
    case COMMS_BROADCAST:
        return place.next == (uint32_t)key->peer ? 0 : bytes;
    default: /* COMMS_REDUCE */
        return rank == (uint32_t)key->peer ? 0 : bytes;
    }
}

static bool has_ring(const struct comms_key *key)
{
    bool rooted = key->func == COMMS_BROADCAST || key->func == COMMS_REDUCE;
    return key->func == COMMS_ALL_REDUCE || key->func == COMMS_ALL_GATHER ||
           key->func == COMMS_REDUCE_SCATTER || (rooted && key->peer >= 0);
}

static bool add_ring(struct maker *maker, const struct comms_done *done)
{
    const struct comms_key *key = &done->count.key;
    uint32_t n = maker->matrix->n;
    uint64_t rings = maker->communicator->order.nrings;
    uint64_t shares = !rings ? 1 : key->channels ? key->channels : rings;
    if (!has_ring(key))
        return false;
    for (uint64_t share = 0; share < shares; share++) {
        struct place place = place_in(maker, rings ? (size_t)(share % rings) : 0, done->rank);
        uint64_t part = done->count.bytes / shares + (share < done->count.bytes % shares);
        uint64_t bytes = ring_share(key, done->rank, place, n, part);
        maker->overflow |= part > UINT64_MAX / 2 / n;
        if (bytes)
            add(maker, key, done->rank, place.next, bytes, share == 0 ? done->count.calls : 0);
    }
    if (n > 2) /* two ranks have only one ring */
        lower_certainty(maker, rings ? COMMS_FROM_NCCL : COMMS_MODELLED);
    return true;
}

/* ---- trees ---- */

/*
 * A binary tree of 0 .. n-1 in which every second member is a leaf. The lowest set bit of a member
 * is its height. Its parent has that bit cleared and the next bit set, if there is such a member;
 * else only that bit cleared. NCCL 2.30, src/graph/trees.cc.
 */
static struct comms_tree binary_tree(uint32_t at, uint32_t n)
{
    struct comms_tree tree = {-1, {-1, -1, -1}};
    uint32_t bit = 1;
    while (bit < n && !(at & bit))
        bit <<= 1;
    if (!at) {
        tree.child[0] = n > 1 ? (int64_t)(bit >> 1) : -1;
        return tree;
    }
    uint32_t up = (at ^ bit) | (bit << 1);
    tree.parent = up < n ? up : (at ^ bit);
    uint32_t low = bit >> 1;
    tree.child[0] = low ? (int64_t)at - low : -1;
    while (low && at + low >= n)
        low >>= 1;
    tree.child[1] = low ? (int64_t)at + low : -1;
    return tree;
}

static int64_t mapped(int64_t at, uint32_t n, bool mirror)
{
    if (at < 0)
        return -1;
    return mirror ? (int64_t)n - 1 - at : (at + 1) % n;
}

/* The second tree has other leaves: it is the first, mirrored or, if n is odd, shifted by one. */
static struct comms_tree tree_of_nodes(uint32_t node, uint32_t n, bool second)
{
    bool mirror = n % 2 == 0;
    if (!second)
        return binary_tree(node, n);
    struct comms_tree tree = binary_tree(mirror ? n - 1 - node : (node + n - 1) % n, n);
    tree.parent = mapped(tree.parent, n, mirror);
    for (int i = 0; i < 3; i++)
        tree.child[i] = mapped(tree.child[i], n, mirror);
    return tree;
}

struct comms_tree comms_tree_of(uint32_t rank, uint32_t nranks, uint32_t nodes, bool second)
{
    uint32_t per_node = nranks / nodes, within = rank % per_node;
    bool is_last = within + 1 == per_node;
    struct comms_tree tree = {within ? (int64_t)rank - 1 : -1,
                              {is_last ? -1 : (int64_t)rank + 1, -1, -1}};
    if (within)
        return tree;
    struct comms_tree between = tree_of_nodes(rank / per_node, nodes, second);
    tree.parent = between.parent < 0 ? -1 : between.parent * per_node;
    for (int i = 0; i < 2; i++)
        tree.child[1 + i] = between.child[i] < 0 ? -1 : between.child[i] * per_node;
    return tree;
}

static bool is_tree_neighbour(const struct comms_tree *tree, int64_t rank)
{
    return tree->parent == rank || tree->child[0] == rank || tree->child[1] == rank ||
           tree->child[2] == rank;
}

static bool add_tree(struct maker *maker, const struct comms_done *done)
{
    const struct comms_communicator *communicator = maker->communicator;
    uint32_t n = maker->matrix->n, nodes = communicator->nodes;
    if (done->count.key.func != COMMS_ALL_REDUCE || !nodes || n % nodes)
        return false;
    const struct comms_tree first = comms_tree_of(done->rank, n, nodes, false);
    for (int second = 0; second < 2; second++) {
        uint64_t half = done->count.bytes / 2 + (second ? 0 : done->count.bytes % 2);
        struct comms_tree tree = comms_tree_of(done->rank, n, nodes, second);
        const int64_t tree_neighbours[] = {tree.parent, tree.child[0], tree.child[1],
                                           tree.child[2]};
        for (int i = 0; i < 4; i++) {
            bool counted =
                second &&
                is_tree_neighbour(&first, tree_neighbours[i]); /* one call, though in both trees */
            add(maker, &done->count.key, done->rank, tree_neighbours[i], half,
                counted ? 0 : done->count.calls);
        }
    }
    maker->matrix->trees = true;
    if (n > 2)
        lower_certainty(maker, COMMS_MODELLED);
    return true;
}

/* ---- others ---- */

/* Leaves out the copy of a rank to itself, which may be in place. */
static void add_copy(struct maker *maker, const struct comms_done *done, int64_t to)
{
    if (to != (int64_t)done->rank)
        add(maker, &done->count.key, done->rank, to, done->count.bytes, done->count.calls);
}

static void add_to_all(struct maker *maker, const struct comms_done *done)
{
    for (uint32_t to = 0; to < maker->matrix->n; to++)
        add_copy(maker, done, to);
}

static bool add_copies(struct maker *maker, const struct comms_done *done)
{
    const struct comms_key *key = &done->count.key;
    if (maker->communicator->nodes !=
        1) /* between nodes NCCL sends one copy, and distributes it there */
        return false;
    switch (key->func) {
    case COMMS_ALL_GATHER:
    case COMMS_ALL_TO_ALL:
        add_to_all(maker, done);
        return true;
    case COMMS_GATHER:
        add_copy(maker, done, key->peer);
        return key->peer >= 0;
    case COMMS_SCATTER:
        if ((int64_t)done->rank == key->peer)
            add_to_all(maker, done);
        return key->peer >= 0;
    default:
        return false;
    }
}

/* A receive counts only if the log of its sender is missing. */
static bool add_point_to_point(struct maker *maker, const struct comms_done *done)
{
    const struct comms_key *key = &done->count.key;
    if (key->peer < 0 || key->peer >= (int64_t)maker->matrix->n)
        return false;
    if (key->func == COMMS_SEND)
        add(maker, key, done->rank, key->peer, done->count.bytes, done->count.calls);
    else if (key->func == COMMS_RECV && !maker->present[key->peer])
        add(maker, key, key->peer, done->rank, done->count.bytes, done->count.calls);
    return key->func == COMMS_SEND || key->func == COMMS_RECV;
}

static void add_done(struct maker *maker, const struct comms_done *done)
{
    bool known = false;
    switch (done->count.key.algo) {
    case COMMS_CALLED: /* its work is counted separately */
        return;
    case COMMS_RING:
        known = add_ring(maker, done);
        break;
    case COMMS_TREE:
        known = add_tree(maker, done);
        break;
    case COMMS_COPY_ENGINE:
        known = add_copies(maker, done);
        break;
    case COMMS_POINT_TO_POINT:
        known = add_point_to_point(maker, done);
        break;
    default:
        break;
    }
    if (known && comms_datatype_bytes(done->count.key.datatype))
        return;
    maker->matrix->unknown_calls += done->count.calls;
    maker->matrix->unknown_bytes += known ? 0 : done->count.bytes;
}

bool comms_matrix_alloc(struct comms_matrix *matrix)
{
    size_t cells = (size_t)matrix->n * matrix->n;
    uint64_t **const all[] = {&matrix->bytes, &matrix->calls, &matrix->wire, &matrix->flags};
    bool good = true;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        *all[i] = calloc(cells + 1, sizeof(**all[i]));
        good &= *all[i] != NULL;
    }
    return good;
}

int comms_matrix_make(const struct comms_communicator *communicator, struct comms_matrix *matrix,
                      struct err *err)
{
    *matrix = (struct comms_matrix){0};
    if (communicator->nranks > COMMS_MATRIX_RANKS)
        return err_set(err, -E2BIG, "no matrix of more than %d ranks", COMMS_MATRIX_RANKS);
    matrix->n = communicator->nranks;
    struct maker maker = {.matrix = matrix, .communicator = communicator};
    maker.present = calloc(matrix->n + 1, sizeof(*maker.present));
    int rc = maker.present && comms_matrix_alloc(matrix)
                 ? 0
                 : err_set(err, -ENOMEM, "no memory for a matrix of %u ranks", matrix->n);
    for (size_t i = 0; i < communicator->npresent && !rc; i++)
        maker.present[communicator->present[i].rank] = true;
    for (size_t i = 0; i < communicator->ndone && !rc; i++)
        add_done(&maker, &communicator->done[i]);
    if (!rc && maker.overflow)
        rc = err_set(err, -EOVERFLOW, "more bytes than 64 bits hold: a log is corrupted");
    free(maker.present);
    if (rc)
        comms_matrix_free(matrix);
    return rc;
}

void comms_matrix_free(struct comms_matrix *matrix)
{
    free(matrix->bytes);
    free(matrix->calls);
    free(matrix->wire);
    free(matrix->flags);
    *matrix = (struct comms_matrix){0};
}
