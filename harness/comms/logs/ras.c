#include "harness/comms/logs/ras.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ras_free(struct ras *ras)
{
    for (size_t i = 0; i < ras->n; i++)
        free(ras->communicator[i].rank);
    free(ras->communicator);
    *ras = (struct ras){.n = 0};
}

const struct ras_communicator *ras_find(const struct ras *ras, const struct ras_communicator *like)
{
    for (size_t i = 0; i < ras->n; i++)
        if (!strcmp(ras->communicator[i].hash, like->hash) &&
            !strcmp(ras->communicator[i].second, like->second))
            return &ras->communicator[i];
    return NULL;
}

size_t ras_find_func(const struct ras *ras, const char *name)
{
    size_t at = 0;
    while (at < ras->nfuncs && strcmp(ras->func[at], name) != 0)
        at++;
    return at;
}

bool ras_has_process(const struct ras *ras, int64_t pid)
{
    for (size_t i = 0; i < ras->n; i++)
        for (size_t r = 0; r < ras->communicator[i].nranks; r++)
            if (ras->communicator[i].rank[r].pid == pid)
                return true;
    return false;
}

struct judge {
    double seconds;
    struct findings_about about;
};

/* "3 (process 17 on a), 5 (...)"; of many the first ones and how many more. */
struct ranks_text {
    char text[400];
    size_t used, n;
};

static void name_rank(struct ranks_text *list, const struct ras_rank *rank)
{
    char one[160];
    (void)snprintf(one, sizeof(one), "%s%" PRId64 " (process %" PRId64 " on %s)",
                   list->n ? ", " : "", rank->rank, rank->pid, rank->host);
    list->n++;
    size_t length = strlen(one);
    if (list->used + length + 1 > sizeof(list->text))
        return;
    memcpy(list->text + list->used, one, length + 1);
    list->used += length;
}

static bool launches(const struct ras_rank *rank)
{
    return !rank->missing && !rank->leaves;
}

/* ---- of a communicator ---- */

static void judge_missing(struct judge *judge, const struct ras_communicator *communicator)
{
    static const char *const why[] = {"have left it", "do not answer", "are dead"};
    for (int kind = 0; kind < 3; kind++) {
        struct ranks_text list = {.n = 0};
        for (size_t i = 0; i < communicator->nranks; i++) {
            const struct ras_rank *rank = &communicator->rank[i];
            int of = rank->dead ? 2 : rank->unresponsive ? 1 : 0;
            if (rank->missing && of == kind)
                name_rank(&list, rank);
        }
        if (list.n)
            findings_report(&judge->about, "ras_missing", FINDING_BAD,
                            "%zu of %" PRId64 " ranks %s; their state is unknown: %s", list.n,
                            communicator->size, why[kind], list.text);
    }
}

static void judge_errors(struct judge *judge, const struct ras_communicator *communicator)
{
    enum { IN_PROGRESS = 7 }; /* ncclInProgress */
    for (size_t i = 0; i < communicator->nranks; i++) {
        const struct ras_rank *rank = &communicator->rank[i];
        struct ranks_text one = {.n = 0};
        bool failed = (rank->init_state && rank->init_state != IN_PROGRESS) ||
                      (rank->async_error && rank->async_error != IN_PROGRESS);
        if (rank->missing || !failed)
            continue;
        name_rank(&one, rank);
        findings_report(&judge->about, "ras_error", FINDING_BAD,
                        "rank %s reports an error of NCCL: %" PRId64 " of its start, %" PRId64
                        " since",
                        one.text, rank->init_state, rank->async_error);
        return; /* of many the first: the others follow from it */
    }
}

static uint64_t launched(const struct ras_communicator *communicator, size_t nfuncs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < communicator->nranks; i++)
        for (size_t f = 0; f < nfuncs; f++)
            sum += communicator->rank[i].counts[f];
    return sum;
}

static uint64_t most_launched(const struct ras_communicator *communicator, size_t func)
{
    uint64_t most = 0;
    for (size_t i = 0; i < communicator->nranks; i++)
        if (launches(&communicator->rank[i]) && communicator->rank[i].counts[func] > most)
            most = communicator->rank[i].counts[func];
    return most;
}

/*
 * How far behind a rank that goes on may be without being behind: what the first one launches in
 * 0.1 s. The service asks one process after the other, and at 14,000 calls a second ranks that are
 * level were told 1 to 3 apart (two H100s, NCCL 2.28.9).
 */
static uint64_t apart_by_asking(const struct judge *judge, const struct ras *before,
                                const struct ras_communicator *earlier, const char *func,
                                uint64_t most)
{
    static const double asking_s = 0.1;
    size_t at = ras_find_func(before, func);
    uint64_t was = earlier && at < before->nfuncs ? most_launched(earlier, at) : most;
    return most > was ? (uint64_t)((double)(most - was) * asking_s / judge->seconds) : 0;
}

/* Who has launched fewer of one function than another rank. True: somebody has. */
static bool judge_function(struct judge *judge, const struct ras *ras,
                           const struct ras_communicator *communicator, size_t func, uint64_t apart,
                           bool moves)
{
    struct ranks_text list = {.n = 0};
    uint64_t most = most_launched(communicator, func), least = UINT64_MAX;
    for (size_t i = 0; i < communicator->nranks; i++) {
        const struct ras_rank *rank = &communicator->rank[i];
        if (!launches(rank) || most - rank->counts[func] <= apart)
            continue;
        least = rank->counts[func] < least ? rank->counts[func] : least;
        name_rank(&list, rank);
    }
    if (!list.n)
        return false;
    if (moves)
        findings_report(&judge->about, "ras_behind", FINDING_NOTE,
                        "%s: ranks launched %" PRIu64 " to %" PRIu64
                        " of them and continue; late are %s",
                        ras->func[func], least, most, list.text);
    else
        findings_report(&judge->about, "ras_stuck", FINDING_BAD,
                        "%s number %" PRIu64
                        " waits since %.3g s for ranks that have not launched it: %s",
                        ras->func[func], least + 1, judge->seconds, list.text);
    return true;
}

static void judge_communicator(struct judge *judge, const struct ras *before, const struct ras *now,
                               const struct ras_communicator *communicator)
{
    const struct ras_communicator *earlier = ras_find(before, communicator);
    uint64_t all = launched(communicator, now->nfuncs);
    bool moves = !earlier || launched(earlier, before->nfuncs) != all, uneven = false;
    judge_missing(judge, communicator);
    judge_errors(judge, communicator);
    for (size_t f = 0; f < now->nfuncs; f++)
        uneven |= judge_function(
            judge, now, communicator, f,
            apart_by_asking(judge, before, earlier, now->func[f], most_launched(communicator, f)),
            moves);
    if (!moves && !uneven && all)
        findings_report(&judge->about, "ras_silent", FINDING_NOTE,
                        "no rank has launched a collective in %.3g s: all are idle, do other work, "
                        "or wait in the last one",
                        judge->seconds);
}

int ras_judge(const struct ras *before, const struct ras *now, double seconds,
              struct findings *findings, struct err *err)
{
    char subject[160] = "";
    struct judge judge = {.seconds = seconds, .about = {findings, err, subject}};
    if (now->timeouts)
        findings_report(
            &judge.about, "ras_timeouts", FINDING_DOUBT,
            "Some of NCCL's processes did not answer in time: their state is missing here.");
    for (size_t i = 0; i < now->n && !judge.about.rc; i++) {
        const struct ras_communicator *communicator = &now->communicator[i];
        (void)snprintf(subject, sizeof(subject), "communicator %zu (%s)", i + 1,
                       communicator->hash);
        judge_communicator(&judge, before, now, communicator);
    }
    return judge.about.rc;
}
