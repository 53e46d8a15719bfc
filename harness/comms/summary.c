#include "harness/comms/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "harness/comms/merge.h"
#include "harness/comms/plugin/names.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"

bool comms_is_point_to_point(uint32_t func)
{
    return func == COMMS_SEND || func == COMMS_RECV;
}

size_t comms_ranks_present(const struct comms_communicator *communicator)
{
    size_t n = 0;
    for (size_t i = 0; i < communicator->npresent; i++)
        n += !i || communicator->present[i].rank != communicator->present[i - 1].rank;
    return n;
}

static void add(struct comms_line *line, const struct comms_count *count)
{
    line->calls += count->calls;
    line->bytes += count->bytes;
    line->timed_calls += count->timed_calls;
    line->timed_ns += count->timed_ns;
    line->timed_bytes += count->timed_bytes;
    if (count->key.bucket >= COMMS_SIZES) {
        line->any_size += count->calls;
        return;
    }
    line->sizes[count->key.bucket] += count->calls;
    line->size_bytes[count->key.bucket] += count->bytes;
}

static bool is_same(const struct comms_line *line, const struct comms_key *key)
{
    return line->func == key->func && line->algo == key->algo && line->proto == key->proto &&
           line->captured == (key->captured != 0);
}

/* `done` has the work of each rank, in the order of ranks. */
static void sum(const struct comms_communicator *communicator, struct comms_line *line)
{
    const struct comms_line empty = {
        .func = line->func, .algo = line->algo, .proto = line->proto, .captured = line->captured};
    struct comms_line rank = empty, all = empty, most = empty;
    uint64_t least = UINT64_MAX;
    size_t ranks = 0;
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_done *done = &communicator->done[i];
        if (is_same(line, &done->count.key)) {
            add(&rank, &done->count);
            add(&all, &done->count);
        }
        bool is_last = i + 1 == communicator->ndone || communicator->done[i + 1].rank != done->rank;
        if (!is_last || !rank.calls)
            continue;
        ranks++;
        least = rank.calls < least ? rank.calls : least;
        most = rank.calls > most.calls ? rank : most;
        rank = empty;
    }
    *line = comms_is_point_to_point(line->func) ? all : most;
    line->timed_calls = all.timed_calls;
    line->timed_ns = all.timed_ns;
    line->timed_bytes = all.timed_bytes;
    line->least = ranks < comms_ranks_present(communicator) ? 0 : least;
    line->most = most.calls;
}

static int by_key(const void *a, const void *b)
{
    const struct comms_line *x = a, *y = b;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->algo != y->algo)
        return x->algo < y->algo ? -1 : 1;
    if (x->proto != y->proto)
        return x->proto < y->proto ? -1 : 1;
    return (int)x->captured - (int)y->captured;
}

int comms_summary_make(const struct comms_communicator *communicator, bool called,
                       struct comms_summary *lines, struct err *err)
{
    *lines = (struct comms_summary){.line = calloc(COMMS_LINES_MOST, sizeof(*lines->line))};
    if (!lines->line)
        return err_set(err, -ENOMEM, "no memory for a table");
    for (size_t i = 0; i < communicator->ndone; i++) {
        const struct comms_key *key = &communicator->done[i].count.key;
        size_t at = 0;
        while (at < lines->n && !is_same(&lines->line[at], key))
            at++;
        if ((key->algo == COMMS_CALLED) != called || at < lines->n || at == COMMS_LINES_MOST)
            continue;
        lines->line[lines->n++] = (struct comms_line){
            .func = key->func, .algo = key->algo, .proto = key->proto, .captured = key->captured};
    }
    for (size_t i = 0; i < lines->n; i++)
        sum(communicator, &lines->line[i]);
    qsort(lines->line, lines->n, sizeof(*lines->line), by_key);
    return 0;
}

/* One rank has no bus bandwidth. */
static double bus_factor(uint32_t func, double n)
{
    switch (func) {
    case COMMS_ALL_REDUCE:
        return n > 1 ? 2 * (n - 1) / n : NAN;
    case COMMS_ALL_GATHER:
    case COMMS_REDUCE_SCATTER:
    case COMMS_ALL_TO_ALL:
        return n > 1 ? (n - 1) / n : NAN;
    case COMMS_BROADCAST:
    case COMMS_REDUCE:
        return n > 1 ? 1 : NAN;
    default:
        return NAN;
    }
}

struct comms_speed comms_line_speed(const struct comms_line *line, uint32_t nranks)
{
    bool of_all = line->func == COMMS_ALL_GATHER || line->func == COMMS_REDUCE_SCATTER ||
                  line->func == COMMS_ALL_TO_ALL;
    struct comms_speed speed = {NAN, NAN, NAN};
    if (!line->timed_calls || !line->timed_ns)
        return speed;
    speed.time = (double)line->timed_ns / (double)line->timed_calls / 1e9;
    speed.algbw =
        (double)line->timed_bytes * (of_all ? nranks : 1) / ((double)line->timed_ns / 1e9);
    speed.busbw = speed.algbw * bus_factor(line->func, nranks);
    return speed;
}

const char *comms_call_sizes(const struct comms_line *line)
{
    const char *text = "";
    for (int b = 0; b < COMMS_SIZES; b++)
        if (line->sizes[b])
            str_add(&text, ", ", "%" PRIu64 " from %s", line->sizes[b],
                    units_bytes(b ? 1ull << (b - 1) : 0));
    if (line->any_size)
        str_add(&text, ", ", "%" PRIu64 " of any size", line->any_size);
    return text;
}

const char *comms_gigabytes(double rate)
{
    return str_fmt(isnan(rate) ? "-" : "%.2f", rate / 1e9);
}

void comms_summary_free(struct comms_summary *lines)
{
    free(lines->line);
    *lines = (struct comms_summary){0};
}
