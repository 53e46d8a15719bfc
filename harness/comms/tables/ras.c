#include <inttypes.h>
#include <string.h>

#include "harness/comms/tables/comms.h"
#include "harness/lib/base/text.h"

enum { RANKS_SHOWN = 16 };

static const char *state_of(const struct ras_rank *rank)
{
    if (rank->missing)
        return rank->dead ? "dead" : rank->unresponsive ? "no answer" : "has left";
    return rank->leaves ? "leaves" : rank->init_state ? "starts" : "runs";
}

static void add_ranks(const struct ras_communicator *communicator, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_columns(table, DOC_LABEL, "rank", "host", "process", "GPU", "state", NULL);
    for (size_t i = 0; i < communicator->nranks && i < RANKS_SHOWN; i++) {
        const struct ras_rank *rank = &communicator->rank[i];
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%" PRId64, rank->rank);
        doc_cell(table, "%s", rank->host);
        doc_cell(table, "%" PRId64, rank->pid);
        doc_cell(table, "%" PRId64, rank->gpu);
        doc_cell(table, "%s", state_of(rank));
    }
    if (communicator->nranks > RANKS_SHOWN)
        doc_text(doc, "... and %zu more ranks", communicator->nranks - RANKS_SHOWN);
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

static void add_funcs(const struct ras *before, const struct ras *now,
                      const struct ras_communicator *communicator, double seconds, struct doc *doc)
{
    const struct ras_communicator *earlier = ras_find(before, communicator);
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "launched");
    doc_columns(table, DOC_NUMBER, "by the first", "by the last", "per s", NULL);
    for (size_t f = 0; f < now->nfuncs; f++) {
        struct range range = range_of(communicator, f);
        size_t was = ras_find_func(before, now->func[f]);
        if (!range.most)
            continue;
        uint64_t first = earlier && was < before->nfuncs ? range_of(earlier, was).most : 0;
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", now->func[f]);
        doc_cell(table, "%" PRIu64, range.most);
        doc_cell(table, "%" PRIu64, range.least);
        if (earlier && range.most >= first)
            doc_cell(table, "%.4g", (double)(range.most - first) / seconds);
        else
            doc_cell(table, "-");
    }
}

void ras_add_to_doc(const struct ras *before, const struct ras *now, double seconds,
                    const struct findings *findings, struct doc *doc)
{
    char what[120];
    (void)snprintf(what, sizeof(what), "NCCL %s, %zu communicator%s", now->version, now->n,
                   now->n == 1 ? "" : "s");
    comms_add_findings_to_doc(what, findings, doc);
    for (size_t i = 0; i < now->n; i++) {
        const struct ras_communicator *communicator = &now->communicator[i];
        doc_heading(doc, "communicator %zu (%s): %" PRId64 " ranks", i + 1, communicator->hash,
                    communicator->size);
        add_ranks(communicator, doc);
        add_funcs(before, now, communicator, seconds, doc);
    }
    doc_gap(doc);
    doc_text(doc, "Not known from outside: bytes of calls, algorithms, sends and receives.");
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
