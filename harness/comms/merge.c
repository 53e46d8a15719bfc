#include "harness/comms/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/pci.h"
#include "harness/lib/sys/file.h"

static struct comms_communicator *find(struct comms *comms, const struct comms_member *member)
{
    for (size_t i = 0; i < comms->n; i++) {
        struct comms_communicator *known = &comms->communicator[i];
        if (known->id == member->id && known->size_known == (member->nranks > 0) &&
            (!known->size_known || known->nranks == member->nranks))
            return known;
    }
    struct comms_communicator *added = array_add(comms->communicator, comms->n, comms->capacity);
    if (!added)
        return NULL;
    *added = (struct comms_communicator){.id = member->id,
                                         .nranks = member->nranks,
                                         .nodes = member->nodes,
                                         .size_known = member->nranks > 0};
    (void)snprintf(added->name, sizeof(added->name), "%s", member->name);
    return added;
}

static int add_rank(struct comms_communicator *communicator, const struct comms_log *log,
                    size_t number)
{
    const struct comms_member *member = &log->member[number];
    uint32_t rank = (uint32_t)member->rank;
    size_t ndone = 0;
    for (size_t i = 0; i < log->ncounts; i++)
        ndone += log->count[i].key.member == number;
    struct comms_rank *present =
        realloc(communicator->present, (communicator->npresent + 1) * sizeof(*present));
    if (!present)
        return -ENOMEM;
    communicator->present = present;
    struct comms_rank *added = &present[communicator->npresent++];
    *added = (struct comms_rank){.rank = rank, .log = log, .member = member};
    (void)pci_bdf_normalise(member->gpu, added->gpu); /* "" if it is no address */
    struct comms_done *done =
        realloc(communicator->done, (communicator->ndone + ndone + 1) * sizeof(*done));
    if (!done)
        return -ENOMEM;
    communicator->done = done;
    for (size_t i = 0; i < log->ncounts; i++)
        if (log->count[i].key.member == number)
            done[communicator->ndone++] = (struct comms_done){rank, log->count[i]};
    return 0;
}

/* ---- order ---- */

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const struct comms_rank *)a)->rank, y = ((const struct comms_rank *)b)->rank;
    return (x > y) - (x < y);
}

static int by_rank_and_key(const void *a, const void *b)
{
    const struct comms_done *x = a, *y = b;
    uint64_t p = comms_key_pack(&x->count.key), q = comms_key_pack(&y->count.key);
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (p > q) - (p < q);
}

/* When its earliest rank began, by the clocks of the machines. */
static uint64_t begin_of(const struct comms_communicator *communicator)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < communicator->npresent; i++) {
        const struct comms_rank *rank = &communicator->present[i];
        uint64_t begin =
            rank->log->header.start_ns + rank->member->begin_ns - rank->log->header.start_mono_ns;
        least = begin < least ? begin : least;
    }
    return least;
}

static int by_begin(const void *a, const void *b)
{
    const struct comms_communicator *x = a, *y = b;
    uint64_t p = begin_of(x), q = begin_of(y);
    if (p == q)
        return (x->id > y->id) - (x->id < y->id);
    return p < q ? -1 : 1;
}

/* ---- what interfaces 1 to 3 do not report ---- */

static uint32_t count_hosts(const struct comms_communicator *communicator)
{
    uint32_t hosts = 0;
    for (size_t i = 0; i < communicator->npresent; i++) {
        size_t j = 0;
        while (strcmp(communicator->present[j].log->header.host,
                      communicator->present[i].log->header.host) != 0)
            j++;
        hosts += j == i;
    }
    return hosts;
}

static void find_size(struct comms_communicator *communicator)
{
    uint32_t most = 0;
    for (size_t i = 0; i < communicator->npresent; i++)
        if (communicator->present[i].rank > most)
            most = communicator->present[i].rank;
    for (size_t i = 0; i < communicator->ndone; i++)
        if (communicator->done[i].count.key.peer > (int64_t)most)
            most = (uint32_t)communicator->done[i].count.key.peer;
    communicator->nranks = most + 1;
    communicator->nodes = count_hosts(communicator);
}

static void arrange(struct comms *comms)
{
    for (size_t i = 0; i < comms->n; i++) {
        struct comms_communicator *each = &comms->communicator[i];
        qsort(each->present, each->npresent, sizeof(*each->present), by_rank);
        qsort(each->done, each->ndone, sizeof(*each->done), by_rank_and_key);
        if (!each->size_known)
            find_size(each);
    }
    if (comms->n)
        qsort(comms->communicator, comms->n, sizeof(*comms->communicator), by_begin);
}

int comms_merge(const struct comms_logs *logs, struct comms *comms, struct err *err)
{
    *comms = (struct comms){0};
    int rc = 0;
    for (size_t l = 0; l < logs->n && !rc; l++)
        for (size_t m = 0; m < logs->log[l].nmembers && !rc; m++) {
            const struct comms_member *member = &logs->log[l].member[m];
            if (member->state == COMMS_NONE || !member->id || member->rank < 0) {
                comms->unidentified++;
                continue;
            }
            struct comms_communicator *communicator = find(comms, member);
            rc = communicator ? add_rank(communicator, &logs->log[l], m) : -ENOMEM;
        }
    if (rc) {
        comms_free(comms);
        return err_set(err, rc, "no memory for communicators");
    }
    arrange(comms);
    return 0;
}

void comms_free(struct comms *comms)
{
    for (size_t i = 0; i < comms->n; i++) {
        free(comms->communicator[i].present);
        free(comms->communicator[i].done);
        free(comms->communicator[i].order.rank);
        comms_unmeasure(&comms->communicator[i]);
    }
    free(comms->communicator);
    *comms = (struct comms){0};
}

int comms_measure(struct comms_communicator *communicator, struct err *err)
{
    int rc = comms_summary_make(communicator, false, &communicator->work, err);
    rc = rc ? rc : comms_summary_make(communicator, true, &communicator->called, err);
    rc = rc ? rc : comms_arrival_make(communicator, &communicator->arrival, err);
    rc = rc ? rc : comms_matrix_make(communicator, &communicator->matrix, err);
    return rc == -E2BIG ? 0 : rc;
}

void comms_unmeasure(struct comms_communicator *communicator)
{
    comms_summary_free(&communicator->work);
    comms_summary_free(&communicator->called);
    comms_arrival_free(&communicator->arrival);
    comms_matrix_free(&communicator->matrix);
}

size_t comms_find_rank(const struct comms_communicator *communicator, uint32_t rank,
                       const struct comms_rank **first)
{
    size_t n = 0;
    *first = NULL;
    for (size_t i = 0; i < communicator->npresent; i++)
        if (communicator->present[i].rank == rank && !n++)
            *first = &communicator->present[i];
    return n;
}

/* ---- the timeline ---- */

/* Adds the events of a rank from its log. */
static void add_moments(const struct comms_rank *rank, uint32_t communicator,
                        struct comms_timeline *timeline)
{
    const struct comms_log *log = rank->log;
    uint32_t number = (uint32_t)(rank->member - log->member);
    for (size_t i = 0; i < log->nevents; i++) {
        const struct comms_event *event = &log->event[i];
        if (comms_key_unpack(event->key).member != number)
            continue;
        timeline->moment[timeline->n++] = (struct comms_moment){
            .time_ns = log->header.start_ns + (event->time_ns - log->header.start_mono_ns),
            .key = event->key,
            .bytes = event->bytes,
            .duration_ns = event->duration_ns,
            .communicator = communicator,
            .rank = rank->rank};
    }
}

static int by_time(const void *a, const void *b)
{
    const struct comms_moment *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->communicator != y->communicator)
        return x->communicator < y->communicator ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

int comms_timeline_make(const struct comms_logs *logs, const struct comms *comms,
                        struct comms_timeline *timeline, struct err *err)
{
    size_t most = 1;
    *timeline = (struct comms_timeline){0};
    for (size_t i = 0; i < logs->n; i++) {
        most += logs->log[i].nevents;
        timeline->dropped += logs->log[i].dropped;
    }
    timeline->moment = calloc(most, sizeof(*timeline->moment));
    if (!timeline->moment)
        return err_set(err, -ENOMEM, "no memory for a timeline of %zu events", most);
    for (size_t c = 0; c < comms->n; c++)
        for (size_t i = 0; i < comms->communicator[c].npresent; i++)
            add_moments(&comms->communicator[c].present[i], (uint32_t)c, timeline);
    qsort(timeline->moment, timeline->n, sizeof(*timeline->moment), by_time);
    uint64_t first = timeline->moment[0].time_ns;
    for (size_t i = 0; i < timeline->n; i++)
        timeline->moment[i].time_ns -= first;
    timeline->span_ns = timeline->n ? timeline->moment[timeline->n - 1].time_ns : 0;
    return 0;
}

void comms_timeline_free(struct comms_timeline *timeline)
{
    free(timeline->moment);
    *timeline = (struct comms_timeline){0};
}

enum { RING, TREE, FILE_MOST = 1 << 22 };

/* ---- NCCL's XML: one element a line, without text, and these attributes first ---- */

static bool begins(const char *tag, const char *with)
{
    return strncmp(tag, with, strlen(with)) == 0;
}

bool comms_graph_parse(const char *text, struct comms_graph *graph)
{
    size_t channels[2] = {0}, gpus = 0; /* of ring and tree; GPUs of this channel */
    long id = -1, gpu;
    bool ended = false;
    *graph = (struct comms_graph){0};
    if (!begins(text, "<graphs version="))
        return false;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        if (!strchr(at, '>'))
            return false;
        if (begins(at, "<graph "))
            id = sscanf(at, "<graph id=\"%li\"", &id) == 1 ? id : -1;
        else if (begins(at, "</graphs"))
            ended = true;
        else if (begins(at, "<channel"))
            gpus = 0;
        else if (begins(at, "<gpu ") && id == RING) {
            if (sscanf(at, "<gpu dev=\"%li\"", &gpu) != 1 || gpu < 0 || gpu >= NVLINK_GPUS ||
                gpus == COMMS_RING_GPUS || channels[RING] >= COMMS_RINGS)
                return false;
            graph->gpu[channels[RING]][gpus++] = (uint32_t)gpu;
        } else if (begins(at, "</channel") && (id == RING || id == TREE)) {
            if (id == RING && !channels[RING])
                graph->ngpus = gpus;
            if (id == RING && (!gpus || gpus != graph->ngpus))
                return false;
            gpus = 0; /* so that an end tag without a start tag is no ring */
            channels[id]++;
        }
    }
    graph->nrings = channels[RING] < channels[TREE] ? channels[RING] : channels[TREE];
    return ended && graph->nrings > 0;
}

/* ---- GPUs -> ranks ---- */

static const struct comms_rank *rank_on(const struct comms_communicator *communicator,
                                        const char *gpu)
{
    for (size_t i = 0; gpu[0] && i < communicator->npresent; i++)
        if (strcmp(communicator->present[i].gpu, gpu) == 0)
            return &communicator->present[i];
    return NULL;
}

/* False: these are not the communicator's ranks, each once. */
static bool set_ring(const uint32_t *gpus, const struct comms_counted *counted,
                     const struct comms_communicator *communicator, uint32_t *ring)
{
    uint32_t n = communicator->nranks;
    for (uint32_t i = 0; i < n; i++) {
        const struct comms_rank *rank =
            gpus[i] < counted->counts.n
                ? rank_on(communicator, counted->counts.gpu[gpus[i]].pci_bdf)
                : NULL;
        if (!rank)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (ring[j] == rank->rank)
                return false;
        ring[i] = rank->rank;
    }
    return true;
}

bool comms_order_set(const struct comms_graph *graph, const struct comms_counted *counted,
                     struct comms_communicator *communicator)
{
    uint32_t n = communicator->nranks;
    if (graph->ngpus != n || communicator->npresent != n || communicator->nodes != 1)
        return false;
    uint32_t *rank = calloc(graph->nrings * n, sizeof(*rank));
    bool good = rank != NULL;
    for (size_t r = 0; good && r < graph->nrings; r++)
        good = set_ring(graph->gpu[r], counted, communicator, &rank[r * n]);
    if (good)
        communicator->order = (struct comms_order){graph->nrings, rank};
    else
        free(rank);
    return good;
}

/* ---- files ---- */

static const struct comms_counted *counted_of(const struct comms_counters *counters,
                                              const char *host)
{
    for (size_t i = 0; i < counters->n; i++)
        if (strcmp(counters->counted[i].host, host) == 0)
            return &counters->counted[i];
    return NULL;
}

static void read_order(int dir_fd, const struct comms_counters *counters,
                       struct comms_communicator *communicator)
{
    char name[512], *text = NULL;
    size_t size;
    const struct comms_rank *first;
    struct comms_graph graph;
    if (communicator->nranks < 3 || comms_find_rank(communicator, 0, &first) != 1)
        return;
    const struct comms_counted *counted = counted_of(counters, first->log->header.host);
    int n = snprintf(name, sizeof(name), "%s.%zu" COMMS_GRAPH_SUFFIX, first->log->name,
                     (size_t)(first->member - first->log->member));
    if (!counted || n >= (int)sizeof(name) || file_read(dir_fd, name, FILE_MOST, &text, &size))
        return;
    if (comms_graph_parse(text, &graph))
        (void)comms_order_set(&graph, counted, communicator);
    free(text);
}

void comms_orders_read(const char *directory, const struct comms_counters *counters,
                       struct comms *comms)
{
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return;
    for (size_t i = 0; i < comms->n; i++)
        read_order(dir_fd, counters, &comms->communicator[i]);
    (void)close(dir_fd);
}
