#include "harness/comms/tables/comms.h"

#include <inttypes.h>
#include <string.h>

#include "harness/lib/base/text.h"

enum { RANKS_SHOWN = 16 };

static const char *state_of(const struct ras_rank *rank)
{
    if (rank->missing)
        return rank->dead ? "dead" : rank->unresponsive ? "no answer" : "has left";
    return rank->leaves ? "leaves" : rank->init_state ? "starts" : "runs";
}

static void print_rank(const struct ras_rank *rank, FILE *out)
{
    (void)fprintf(out, "  %6" PRId64 "  %-24.24s %10" PRId64 "  %4" PRId64 "  %s\n", rank->rank,
                  rank->host, rank->pid, rank->gpu, state_of(rank));
}

static void print_ranks(const struct ras_communicator *communicator, FILE *out)
{
    (void)fprintf(out, "  %6s  %-24s %10s  %4s  %s\n", "rank", "host", "process", "GPU", "state");
    for (size_t i = 0; i < communicator->nranks && i < RANKS_SHOWN; i++)
        print_rank(&communicator->rank[i], out);
    if (communicator->nranks > RANKS_SHOWN)
        (void)fprintf(out, "  ... and %zu more ranks\n", communicator->nranks - RANKS_SHOWN);
}

struct range {
    uint64_t least, most;
};

static struct range range_of(const struct ras_communicator *communicator, size_t func)
{
    struct range range = {UINT64_MAX, 0};
    for (size_t i = 0; i < communicator->nranks; i++) {
        uint64_t count = communicator->rank[i].counts[func];
        if (communicator->rank[i].missing)
            continue;
        range.least = count < range.least ? count : range.least;
        range.most = count > range.most ? count : range.most;
    }
    return range;
}

static void print_funcs(const struct ras *before, const struct ras *now,
                        const struct ras_communicator *communicator, double seconds, FILE *out)
{
    const struct ras_communicator *earlier = ras_find(before, communicator);
    (void)fprintf(out, "\n  %-20s %16s %16s %14s\n", "launched", "by the first", "by the last",
                  "a second");
    for (size_t f = 0; f < now->nfuncs; f++) {
        struct range range = range_of(communicator, f);
        size_t was = ras_find_func(before, now->func[f]);
        if (!range.most)
            continue;
        uint64_t first = earlier && was < before->nfuncs ? range_of(earlier, was).most : 0;
        (void)fprintf(out, "  %-20s %16" PRIu64 " %16" PRIu64, now->func[f], range.most,
                      range.least);
        if (earlier && range.most >= first)
            (void)fprintf(out, " %14.4g\n", (double)(range.most - first) / seconds);
        else
            (void)fprintf(out, " %14s\n", "-");
    }
}

void ras_print(const struct ras *before, const struct ras *now, double seconds, FILE *out)
{
    (void)fprintf(out, "NCCL %s, %zu communicator%s\n", now->version, now->n,
                  now->n == 1 ? "" : "s");
    for (size_t i = 0; i < now->n; i++) {
        const struct ras_communicator *communicator = &now->communicator[i];
        (void)fprintf(out, "\ncommunicator %zu (%s): %" PRId64 " ranks\n", i + 1,
                      communicator->hash, communicator->size);
        print_ranks(communicator, out);
        print_funcs(before, now, communicator, seconds, out);
    }
    (void)fputs("\nNot known from outside: bytes of calls, algorithms, sends and receives.\n", out);
}

void ras_print_text(const char *text, FILE *out)
{
    while (*text) {
        char line[256];
        size_t length = strcspn(text, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", length < 250 ? (int)length : 250, text);
        (void)fprintf(out, "%s\n", text_one_line(line));
        text += length + (text[length] != '\0');
    }
}
