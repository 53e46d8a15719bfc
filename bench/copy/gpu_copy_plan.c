#include "bench/copy/gpu_copy_plan.h"

#include <math.h>
#include <stdio.h>

static const double shortest_s = 1e-6; /* that a copy is taken to last */
static const unsigned queue_room = 512;

const char *const copy_dir_names[] = {"all", "h2d", "d2h", "both", "d2d", NULL};
const char *const copy_mem_names[] = {"all", "pinned", "paged", "wc", NULL};
const char *const copy_via_names[] = {"all", "ce", "sm", NULL};

/* Where the points go, as long as there is room. */
struct list {
    const struct copy_shape *shape;
    const struct copy_wish *wish;
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

static bool is_wanted(int wish, int value)
{
    return wish == 0 || wish == 1 + value;
}

static void add(struct list *list, const struct copy_point *point)
{
    const struct copy_wish *wish = list->wish;
    bool of_host = point->dir != COPY_D2D;
    if (!is_wanted(wish->dir, (int)point->dir) || !is_wanted(wish->via, (int)point->via) ||
        !(of_host ? is_wanted(wish->mem, (int)point->mem) : wish->mem == 0))
        return;
    if (list->n < list->room)
        list->points[list->n] = *point;
    list->n++;
}

/* One kind of copy for every GPU, with its home's memory. */
static void add_at_home(struct list *list, struct copy_point point)
{
    for (point.gpu = 0; point.gpu < list->shape->ngpus; point.gpu++) {
        point.node = list->shape->home[point.gpu];
        add(list, &point);
    }
}

static void add_far(struct list *list, struct copy_point point)
{
    for (point.gpu = 0; point.gpu < list->shape->ngpus; point.gpu++)
        for (point.node = 0; point.node < list->shape->nnodes; point.node++)
            if (point.node != list->shape->home[point.gpu])
                add(list, &point);
}

/* No pairs by kernel without access: a kernel cannot go by way of the host. */
static void add_pairs(struct list *list, struct copy_point point)
{
    const struct copy_shape *shape = list->shape;
    for (point.gpu = 0; point.gpu < shape->ngpus; point.gpu++)
        for (point.peer = 0; point.peer < shape->ngpus; point.peer++)
            if (point.gpu != point.peer &&
                (point.via == COPY_CE || shape->direct[point.gpu][point.peer]))
                add(list, &point);
}

size_t copy_plan(const struct copy_shape *shape, const struct copy_wish *wish,
                 struct copy_point *points, size_t room)
{
    struct list list = {.shape = shape, .wish = wish, .points = points, .room = room};
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH; dir++) {
        add_at_home(&list, (struct copy_point){.dir = dir});
        if (shape->ngpus > 1)
            add(&list, &(struct copy_point){.dir = dir, .all = true});
    }
    for (int write = 0; write < 2; write++)
        add_pairs(&list, (struct copy_point){.dir = COPY_D2D, .write = write});
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH && !wish->home; dir++)
        add_far(&list, (struct copy_point){.dir = dir});
    for (int write = 0; write < 2; write++)
        add_pairs(&list, (struct copy_point){.dir = COPY_D2D, .via = COPY_SM, .write = write});
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_BOTH; dir++)
        add_at_home(&list, (struct copy_point){.dir = dir, .via = COPY_SM});
    add_at_home(&list, (struct copy_point){.dir = COPY_H2D, .mem = COPY_COMBINED});
    /* Not both ways: a CPU does these copies, one after the other. */
    for (enum copy_dir dir = COPY_H2D; dir <= COPY_D2H; dir++)
        add_at_home(&list, (struct copy_point){.dir = dir, .mem = COPY_PAGED});
    return list.n;
}

bool copy_has_latency(const struct copy_shape *shape, const struct copy_point *point)
{
    return point->dir <= COPY_D2H && !point->all && point->mem == COPY_PINNED &&
           point->via == COPY_CE && point->node == shape->home[point->gpu];
}

unsigned copy_settle(double share_s, double once_s, bool staged)
{
    const double least_s = 0.01;
    double wish = ceil(fmax(share_s / 3, least_s) / fmax(once_s, shortest_s) - 1e-6);
    unsigned least = staged ? 2 : 1, copies = wish < queue_room ? (unsigned)wish : queue_room;
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

char *copy_node_name(const struct copy_shape *shape, unsigned node, char *buf, size_t size)
{
    if (shape->named)
        (void)snprintf(buf, size, "%u", shape->os_node[node]);
    else
        (void)snprintf(buf, size, "any");
    return buf;
}

char *copy_key(const struct copy_shape *shape, const struct copy_point *point, unsigned gpu,
               char key[static VALUE_KEY_MAX])
{
    const char *via = copy_via_names[1 + point->via];
    char node[16];
    if (point->dir == COPY_D2D)
        (void)snprintf(key, VALUE_KEY_MAX, "dir=d2d;src=%u;dst=%u;via=%s;op=%s", point->gpu,
                       point->peer, via, point->write ? "write" : "read");
    else
        (void)snprintf(
            key, VALUE_KEY_MAX, "dir=%s;gpu=%u;node=%s;mem=%s;via=%s;with=%s",
            copy_dir_names[1 + point->dir], gpu,
            copy_node_name(shape, point->all ? shape->home[gpu] : point->node, node, sizeof(node)),
            copy_mem_names[1 + point->mem], via, point->all ? "all" : "alone");
    return key;
}
