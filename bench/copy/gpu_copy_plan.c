#include "bench/copy/gpu_copy_plan.h"

#include <math.h>

static const double shortest_s = 1e-6; /* lower bound for the time of a copy */
static const unsigned queue_room = 512;

const char *const copy_dir_names[] = {"all",      "h2d",        "d2h",        "both", "d2d",
                                      "d2d-both", "all-to-one", "one-to-all", NULL};
const char *const copy_mem_names[] = {"all", "pinned", "paged", "wc", NULL};
const char *const copy_via_names[] = {"all", "ce", "sm", NULL};

const struct bench_dim copy_dims[] = {
    [BY_DIR] = {"dir", .labels = copy_dir_names + 1},
    [BY_MEM] = {"mem", .labels = LABELS("pinned", "paged", "wc", "device", "peer")},
    [BY_GPU] = {"gpu", DIM_GPU},
    [BY_NODE] = {"node", DIM_NODE},
    [BY_VIA] = {"via", .labels = copy_via_names + 1},
    [BY_WITH] = {"with", .labels = LABELS("alone", "all")},
    [BY_SOURCE] = {"src", DIM_SOURCE},
    [BY_TARGET] = {"dst", DIM_TARGET},
    [BY_OP] = {"op", .labels = LABELS("read", "write")},
    [BY_SIZE] = {"size", DIM_BYTES},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99")},
    {.name = NULL},
};

/* The points so far: n counts all, `points` holds the first `room`. */
struct list {
    const struct copy_shape *shape;
    const struct copy_filter *filter;
    struct copy_point *points;
    size_t n, room;
};

void copy_shape_init(struct copy_shape *shape, const struct bench_machine *machine, bool can_bind)
{
    unsigned nnodes = machine->nnodes < COPY_NODES ? machine->nnodes : COPY_NODES;
    shape->ngpus = machine->ngpus < GPU_COPY_GPUS ? machine->ngpus : GPU_COPY_GPUS;
    shape->bound = nnodes > 1 && can_bind;
    shape->named = nnodes == 1 || shape->bound;
    shape->nnodes = shape->bound ? nnodes : 1;
    for (unsigned node = 0; node < shape->nnodes; node++)
        shape->os_node[node] = nnodes ? machine->nodes[node].os_node : 0;
    for (unsigned gpu = 0; gpu < shape->ngpus; gpu++) {
        shape->home[gpu] = gpu * shape->nnodes / shape->ngpus;
        for (unsigned node = 0; node < shape->nnodes; node++)
            if (machine->gpus[gpu].os_node == (int)shape->os_node[node])
                shape->home[gpu] = node;
    }
}

static bool is_wanted(int filter, int value)
{
    return filter == 0 || filter == 1 + value;
}

bool copy_is_between_gpus(const struct copy_point *point)
{
    return point->dir >= COPY_D2D;
}

static void add(struct list *list, const struct copy_point *point)
{
    const struct copy_filter *filter = list->filter;
    if (!is_wanted(filter->dir, (int)point->dir) || !is_wanted(filter->via, (int)point->via) ||
        !(copy_is_between_gpus(point) ? filter->mem == 0 : is_wanted(filter->mem, (int)point->mem)))
        return;
    if (list->n < list->room)
        list->points[list->n] = *point;
    list->n++;
}

/* Adds one kind of copy for every GPU, with its home's memory. */
static void add_at_home(struct list *list, struct copy_point point)
{
    for (point.gpu = 0; point.gpu < list->shape->ngpus; point.gpu++) {
        point.node = list->shape->home[point.gpu];
        add(list, &point);
    }
}

static void add_remote_nodes(struct list *list, struct copy_point point)
{
    for (point.gpu = 0; point.gpu < list->shape->ngpus; point.gpu++)
        for (point.node = 0; point.node < list->shape->nnodes; point.node++)
            if (point.node != list->shape->home[point.gpu])
                add(list, &point);
}

/* A kernel needs access to the peer's memory: it cannot stage through the host. */
static bool has_way(const struct list *list, const struct copy_point *point, unsigned peer)
{
    return point->via == COPY_CE || list->shape->direct[point->gpu][peer];
}

/* Adds all ordered pairs; for COPY_SWAP, each pair once. */
static void add_pairs(struct list *list, struct copy_point point)
{
    const struct copy_shape *shape = list->shape;
    for (point.gpu = 0; point.gpu < shape->ngpus; point.gpu++)
        for (point.peer = point.dir == COPY_SWAP ? point.gpu : 0; point.peer < shape->ngpus;
             point.peer++)
            if (point.gpu != point.peer && has_way(list, &point, point.peer))
                add(list, &point);
}

/* Adds one GPU and all others, which issue the copies. With two GPUs that would be a pair. */
static void add_hubs(struct list *list, struct copy_point point)
{
    const struct copy_shape *shape = list->shape;
    point.write = point.dir == COPY_TO_ONE;
    for (point.gpu = 0; point.gpu < shape->ngpus && shape->ngpus > 2; point.gpu++) {
        bool ways = true;
        for (unsigned peer = 0; peer < shape->ngpus; peer++)
            ways = ways && has_way(list, &point, peer);
        if (ways)
            add(list, &point);
    }
}

/* Adds several copies at once: d2d-both, all-to-one and one-to-all, by one kind of engine. */
static void add_simultaneous(struct list *list, enum copy_via via)
{
    for (int write = 0; write < 2; write++)
        add_pairs(list, (struct copy_point){.dir = COPY_SWAP, .via = via, .write = write});
    for (enum copy_dir dir = COPY_TO_ONE; dir <= COPY_FROM_ONE; dir++)
        add_hubs(list, (struct copy_point){.dir = dir, .via = via});
}

size_t copy_plan(const struct copy_shape *shape, const struct copy_filter *filter,
                 struct copy_point *points, size_t room)
{
    struct list list = {.shape = shape, .filter = filter, .points = points, .room = room};
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH; dir++) {
        add_at_home(&list, (struct copy_point){.dir = dir});
        if (shape->ngpus > 1)
            add(&list, &(struct copy_point){.dir = dir, .all = true});
    }
    for (int write = 0; write < 2; write++)
        add_pairs(&list, (struct copy_point){.dir = COPY_D2D, .write = write});
    add_simultaneous(&list, COPY_CE);
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH && !filter->home; dir++)
        add_remote_nodes(&list, (struct copy_point){.dir = dir});
    for (int write = 0; write < 2; write++)
        add_pairs(&list, (struct copy_point){.dir = COPY_D2D, .via = COPY_SM, .write = write});
    add_simultaneous(&list, COPY_SM);
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH; dir++)
        add_at_home(&list, (struct copy_point){.dir = dir, .via = COPY_SM});
    add_at_home(&list, (struct copy_point){.dir = COPY_H2D, .mem = COPY_COMBINED});
    /* Not both directions at once: a CPU makes these copies, one after the other. */
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_D2H; dir++)
        add_at_home(&list, (struct copy_point){.dir = dir, .mem = COPY_PAGED});
    return list.n;
}

bool copy_has_latency(const struct copy_shape *shape, const struct copy_point *point)
{
    return point->dir <= COPY_D2H && !point->all && point->mem == COPY_PINNED &&
           point->via == COPY_CE && point->node == shape->home[point->gpu];
}

static void add_chase(struct copy_chase *chases, size_t room, size_t *n, struct copy_chase chase)
{
    if (*n < room)
        chases[*n] = chase;
    ++*n;
}

size_t copy_chases(const struct copy_shape *shape, const struct copy_filter *filter,
                   struct copy_chase *chases, size_t room)
{
    bool by_kernel = is_wanted(filter->via, COPY_SM);
    bool host =
        by_kernel && is_wanted(filter->dir, COPY_H2D) && is_wanted(filter->mem, COPY_PINNED);
    bool peers = by_kernel && is_wanted(filter->dir, COPY_D2D) && filter->mem == 0;
    size_t n = 0;
    for (unsigned gpu = 0; gpu < shape->ngpus; gpu++) {
        if (host && peers)
            add_chase(chases, room, &n, (struct copy_chase){.mem = CHASE_DEVICE, .gpu = gpu});
        if (host)
            add_chase(chases, room, &n, (struct copy_chase){.mem = CHASE_HOST, .gpu = gpu});
        for (unsigned peer = 0; peer < shape->ngpus && peers; peer++)
            if (peer != gpu && shape->direct[gpu][peer])
                add_chase(chases, room, &n, (struct copy_chase){CHASE_PEER, gpu, peer});
    }
    return n;
}

static struct dims with_node(struct dims at, const struct copy_shape *shape, unsigned node)
{
    return shape->named ? dims_with(at, BY_NODE, shape->os_node[node])
                        : dims_with_text(at, BY_NODE, "any");
}

struct dims copy_chase_dims(const struct copy_shape *shape, const struct copy_chase *chase)
{
    if (chase->mem == CHASE_PEER)
        return DIMS({BY_MEM, MEM_PEER}, {BY_SOURCE, chase->peer}, {BY_TARGET, chase->gpu});
    if (chase->mem == CHASE_DEVICE)
        return DIMS({BY_MEM, MEM_DEVICE}, {BY_GPU, chase->gpu});
    return with_node(DIMS({BY_MEM, COPY_PINNED}, {BY_GPU, chase->gpu}), shape,
                     shape->home[chase->gpu]);
}

unsigned copy_settle(double share_s, double once_s, bool staged)
{
    const double least_s = 0.01;
    double fit = ceil(fmax(share_s / 3, least_s) / fmax(once_s, shortest_s) - 1e-6);
    unsigned least = staged ? 2 : 1, copies = fit < queue_room ? (unsigned)fit : queue_room;
    return copies > least ? copies : least;
}

struct copy_split copy_split(double share_s, double once_s, unsigned nflows)
{
    const unsigned usual_copies = 16, least_copies = nflows > 1 ? 4 : 1;
    const double least_s = 100e-6; /* 200 times the resolution of events */
    struct copy_split split = {.batches = 1};
    double once = fmax(once_s, shortest_s), fit = share_s / once,
           least = ceil(least_s / once - 1e-6);
    if (fit >= COPY_BATCHES) {
        split.batches = COPY_BATCHES;
        fit /= COPY_BATCHES;
    }
    fit = fit < usual_copies ? fit : usual_copies;
    fit = fmax(fmax(fit, least), least_copies);
    split.copies = fit < queue_room ? (unsigned)fit : queue_room;
    return split;
}

double copy_rate(const struct gpu_copy_progress *flows, unsigned nflows, unsigned i)
{
    double first_end_s = INFINITY;
    unsigned mark = 0;
    for (unsigned k = 0; k < nflows; k++)
        first_end_s = fmin(first_end_s, flows[k].seconds[flows[k].n - 1]);
    while (mark + 1 < flows[i].n && flows[i].seconds[mark + 1] <= first_end_s)
        mark++;
    return flows[i].seconds[mark] > 0 ? flows[i].copies[mark] / flows[i].seconds[mark] : 0;
}

struct dims copy_point_dims(const struct copy_shape *shape, const struct copy_point *point,
                            unsigned gpu)
{
    struct dims at = DIMS({BY_DIR, point->dir});
    if (point->dir == COPY_D2D || point->dir == COPY_SWAP)
        at = dims_with(dims_with(at, BY_SOURCE, point->gpu), BY_TARGET, point->peer);
    else
        at = dims_with(at, BY_GPU, copy_is_between_gpus(point) ? point->gpu : gpu);
    if (copy_is_between_gpus(point))
        return dims_with(dims_with(at, BY_VIA, point->via), BY_OP,
                         point->write ? OP_WRITE : OP_READ);
    at = with_node(at, shape, point->all ? shape->home[gpu] : point->node);
    at = dims_with(dims_with(at, BY_MEM, point->mem), BY_VIA, point->via);
    return dims_with(at, BY_WITH, point->all ? WITH_ALL : WITH_ALONE);
}
