#include "harness/comms/findings/copies.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/units.h"

static bool is_end(int32_t end)
{
    return end >= COPIES_ELSEWHERE && end < COPIES_DEVICES;
}

static int check_entry(const struct log_reader *reader, size_t at, const struct copies_entry *entry)
{
    if (entry->used != 1 || entry->kind >= COPIES_KINDS || entry->from_memory >= COPIES_MEMORIES ||
        entry->to_memory >= COPIES_MEMORIES || entry->bucket > 64)
        return log_refuse(reader, at, "copies of an unknown kind, memory or size");
    if (!is_end(entry->from) || !is_end(entry->to))
        return log_refuse(reader, at, "copies from device %d to %d", entry->from, entry->to);
    if (entry->calls > LOG_MOST || entry->bytes > LOG_MOST || entry->timed_ns > LOG_MOST ||
        entry->timed_calls > entry->calls || entry->timed_bytes > entry->bytes)
        return log_refuse(reader, at, "more copies, bytes or time than there can be");
    return 0;
}

static int check_sums(const struct log_reader *reader, struct copies_sums *sums)
{
    char pci[PCI_BDF_MAX];
    if (sums->finished > COPIES_ENDED_TAKEN || sums->dropped > LOG_MOST ||
        sums->unknown > LOG_MOST || sums->broken > LOG_MOST || sums->buffers > LOG_MOST)
        return log_refuse(reader, offsetof(struct copies_file, sums), "corrupted");
    for (size_t i = 0; i < COPIES_DEVICES; i++) {
        if (!log_has_gpu(sums->pci[i], sizeof(sums->pci[i]), pci))
            return log_refuse(reader, offsetof(struct copies_file, sums.pci[i]),
                              "a GPU without a PCI address");
        (void)snprintf(sums->pci[i], sizeof(sums->pci[i]), "%.23s", pci);
    }
    int rc = 0;
    for (size_t i = 0; i < COPIES_ENTRIES && (sums->entry[i].used || !i) && !rc; i++)
        rc = check_entry(reader, offsetof(struct copies_file, sums.entry[i]), &sums->entry[i]);
    return rc;
}

int copies_log_parse(const char *name, const void *bytes, size_t size, struct copies_log *log,
                     struct err *err)
{
    static const struct log_format format = {COPIES_MAGIC, "no copies", "copies",
                                             sizeof(struct copies_file)};
    const struct log_reader reader = {name, bytes, size, err};
    *log = (struct copies_log){.name = strdup(name), .sums = malloc(sizeof(*log->sums))};
    int rc = log->name && log->sums ? 0 : err_set(err, -ENOMEM, "no memory for copies");
    rc = rc ? rc : log_read_header(&reader, &format, &log->header);
    if (!rc) {
        memcpy(log->sums, reader.bytes + offsetof(struct copies_file, sums), sizeof(*log->sums));
        rc = check_sums(&reader, log->sums);
    }
    if (rc)
        copies_log_free(log);
    return rc;
}

void copies_log_free(struct copies_log *log)
{
    free(log->name);
    free(log->sums);
    *log = (struct copies_log){0};
}

/* ---- a directory ---- */

static int take_log(void *into, const char *name, char *bytes, size_t size, struct err *err)
{
    struct copies *copies = into;
    struct copies_log *log = array_add(copies->log, copies->nlogs, copies->log_capacity);
    if (!log)
        return err_set(err, -ENOMEM, "no memory for copies");
    int rc = copies_log_parse(name, bytes, size, log, err);
    copies->nlogs -= rc != 0;
    return rc;
}

int copies_read(const char *directory, struct copies *copies, struct comms_unread *unread,
                struct err *err)
{
    return comms_folder_read(directory, COPIES_SUFFIX, sizeof(struct copies_file), take_log, copies,
                             unread, err);
}

void copies_free(struct copies *copies)
{
    for (size_t i = 0; i < copies->nlogs; i++)
        copies_log_free(&copies->log[i]);
    free(copies->log);
    free(copies->row);
    *copies = (struct copies){0};
}

/* ---- the sums ---- */

static void call_end(const struct copies_log *log, int32_t end, char name[COPIES_END_MAX])
{
    if (end == COPIES_HOST)
        (void)snprintf(name, COPIES_END_MAX, "host");
    else if (end < 0)
        (void)snprintf(name, COPIES_END_MAX, "?");
    else if (log->sums->pci[end][0])
        (void)snprintf(name, COPIES_END_MAX, "%s", log->sums->pci[end]);
    else
        (void)snprintf(name, COPIES_END_MAX, "GPU%d@%" PRId64, end, log->header.pid);
}

static bool is_same(const struct copies_row *a, const struct copies_row *b)
{
    return a->kind == b->kind && a->from_memory == b->from_memory && a->to_memory == b->to_memory &&
           a->unplaced == b->unplaced && strcmp(a->from, b->from) == 0 &&
           strcmp(a->to, b->to) == 0 && strcmp(a->host, b->host) == 0;
}

static struct copies_row *find(struct copies *copies, const struct copies_row *key)
{
    for (size_t i = 0; i < copies->n; i++)
        if (is_same(&copies->row[i], key))
            return &copies->row[i];
    struct copies_row *added = array_add(copies->row, copies->n, copies->capacity);
    if (added)
        *added = *key;
    return added;
}

/* 64 bits hold more than an int64 of JSON does. */
static bool add(uint64_t *sum, uint64_t more)
{
    return !__builtin_add_overflow(*sum, more, sum) && *sum <= INT64_MAX;
}

static int add_entry(struct copies *copies, const struct copies_log *log, size_t at,
                     struct err *err)
{
    const struct copies_entry *entry = &log->sums->entry[at];
    struct copies_row key = {.host = log->header.host,
                             .kind = entry->kind,
                             .from_memory = entry->from_memory,
                             .to_memory = entry->to_memory,
                             .unplaced = at == 0};
    if (!entry->calls)
        return 0;
    call_end(log, entry->from, key.from);
    call_end(log, entry->to, key.to);
    struct copies_row *row = find(copies, &key);
    if (!row)
        return err_set(err, -ENOMEM, "no memory for copies");
    bool good = add(&row->calls, entry->calls) && add(&row->bytes, entry->bytes) &&
                add(&row->timed_ns, entry->timed_ns);
    row->timed_calls += entry->timed_calls; /* which are fewer */
    row->timed_bytes += entry->timed_bytes;
    if (at) {
        row->sizes[entry->bucket] += entry->calls;
        row->size_bytes[entry->bucket] += entry->bytes;
    }
    return good ? 0 : err_set(err, -EOVERFLOW, "more copies than 63 bits hold: logs are corrupted");
}

static int by_host_and_bytes(const void *a, const void *b)
{
    const struct copies_row *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    if (!order)
        order = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    if (!order)
        order = (x->calls < y->calls) - (x->calls > y->calls);
    if (!order)
        order = strcmp(x->from, y->from);
    return order ? order : strcmp(x->to, y->to);
}

int copies_add_up(struct copies *copies, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < copies->nlogs && !rc; i++)
        for (size_t e = 0; e < COPIES_ENTRIES && copies->log[i].sums->entry[e].used && !rc; e++)
            rc = add_entry(copies, &copies->log[i], e, err);
    if (!rc && copies->n)
        qsort(copies->row, copies->n, sizeof(*copies->row), by_host_and_bytes);
    return rc;
}

/* ---- what it means ---- */

const char *copies_memory_name(uint32_t memory)
{
    static const char *const names[COPIES_MEMORIES] = {"unknown",       "pageable",      "pinned",
                                                       "device",        "array",         "managed",
                                                       "device-static", "managed-static"};
    return memory < COPIES_MEMORIES ? names[memory] : "?";
}

/* From COPIES_MIGRATED on. */
static const struct {
    const char *name, *word;
} migrations[COPIES_KINDS - COPIES_MIGRATED] = {
    {"migration", "managed moved"},
    {"migration-user", "managed asked"},
    {"migration-coherence", "managed touched"},
    {"migration-prefetch", "managed ahead"},
    {"migration-eviction", "managed evicted"},
    {"migration-access-counters", "managed counted"},
};

const char *copies_kind_name(uint32_t kind)
{
    static const char *const names[COPIES_MIGRATED] = {
        "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    return kind >= COPIES_KINDS      ? "?"
           : kind >= COPIES_MIGRATED ? migrations[kind - COPIES_MIGRATED].name
                                     : names[kind];
}

bool copies_row_is_migration(const struct copies_row *row)
{
    return row->kind >= COPIES_MIGRATED;
}

const char *copies_row_word(const struct copies_row *row)
{
    return copies_row_is_migration(row) ? migrations[row->kind - COPIES_MIGRATED].word
                                        : copies_memory_name(copies_row_memory(row));
}

uint32_t copies_row_memory(const struct copies_row *row)
{
    return strcmp(row->to, "host") == 0 && strcmp(row->from, "host") != 0 ? row->to_memory
                                                                          : row->from_memory;
}

double copies_row_speed(const struct copies_row *row)
{
    return row->timed_ns ? (double)row->timed_bytes / ((double)row->timed_ns / 1e9) : NAN;
}

int copies_explain(const struct copies *copies, struct comms_nvlink_check *nvlink_check,
                   struct err *err)
{
    nvlink_check->has_copies = copies->nlogs > 0;
    for (size_t i = 0; i < copies->n; i++) {
        const struct copies_row *row = &copies->row[i];
        struct comms_nvlink_check_gpu *from =
            comms_nvlink_check_find(nvlink_check, row->host, row->from);
        struct comms_nvlink_check_gpu *to =
            comms_nvlink_check_find(nvlink_check, row->host, row->to);
        if (!from || !to || from == to)
            continue;
        if (!add(&from->sum.sent, row->bytes) || !add(&to->sum.received, row->bytes) ||
            !add(&nvlink_check->copied, row->bytes))
            return err_set(err, -EOVERFLOW, "more bytes than 63 bits hold: logs are corrupted");
        from->copies += row->calls;
        to->copies += row->calls;
    }
    return 0;
}

/* ---- what follows from them ---- */

static bool is_with_host(const struct copies_row *row)
{
    return (strcmp(row->from, "host") == 0) != (strcmp(row->to, "host") == 0);
}

static void add_row(struct copies_row *sum, const struct copies_row *row)
{
    sum->calls += row->calls;
    sum->bytes += row->bytes;
    sum->timed_bytes += row->timed_bytes;
    sum->timed_ns += row->timed_ns;
}

/* The driver copies pageable memory by way of pinned memory of its own (CUDA's Best Practices
 * Guide, Pinned Memory): slower, and it keeps a CPU busy. */
static void judge_pageable(struct findings_about *about, const struct copies *copies)
{
    static const uint64_t least_bytes = 64u << 20;
    static const double least_share = 0.1;
    struct copies_row pageable = {0}, pinned = {0};
    uint64_t all = 0;
    for (size_t i = 0; i < copies->n; i++) {
        const struct copies_row *row = &copies->row[i];
        const uint32_t memory = copies_row_memory(row);
        if (!is_with_host(row) || copies_row_is_migration(row))
            continue;
        all += row->bytes;
        if (memory == COPIES_PAGEABLE || memory == COPIES_PINNED)
            add_row(memory == COPIES_PAGEABLE ? &pageable : &pinned, row);
    }
    char bytes[24], speeds[80] = "";
    double slow = copies_row_speed(&pageable), fast = copies_row_speed(&pinned);
    if (pageable.bytes < least_bytes || (double)pageable.bytes < least_share * (double)all)
        return;
    if (!isnan(slow) && !isnan(fast))
        (void)snprintf(speeds, sizeof(speeds), ", at %.2f GB/s; of pinned memory at %.2f GB/s",
                       slow / 1e9, fast / 1e9);
    findings_report(
        about, "copies_pageable", FINDING_NOTE,
        "%sB (%.0f%%) of what was copied between host and GPUs lies in pageable memory%s: the "
        "driver copies it twice, using the CPU; pin it (cudaHostAlloc, pin_memory=True)",
        units_format_si((double)pageable.bytes, bytes, sizeof(bytes)),
        100 * (double)pageable.bytes / (double)all, speeds);
}

/* Up to 64 KiB a copy costs its call, not its bytes. */
static void judge_small(struct findings_about *about, const struct copies *copies)
{
    enum { CALLS_LEAST = 1000, TIMES_OTHERS = 4, SMALL_BUCKET = 17 /* below 64 KiB */ };
    for (size_t i = 0; i < copies->n; i++) {
        const struct copies_row *row = &copies->row[i];
        uint64_t small = 0, bytes = 0;
        for (size_t b = 0; b < SMALL_BUCKET; b++) {
            small += row->sizes[b];
            bytes += row->size_bytes[b];
        }
        if (row->unplaced || copies_row_is_migration(row) || small < CALLS_LEAST ||
            small / TIMES_OTHERS < row->calls - small)
            continue;
        findings_report(about, "copies_many_small", FINDING_NOTE,
                        "%" PRIu64 " of %" PRIu64
                        " copies from %s to %s (%s) are below 64 KiB, %" PRIu64
                        " bytes on average: calls cost more than bytes; join them",
                        small, row->calls, row->from, row->to,
                        copies_memory_name(copies_row_memory(row)), bytes / small);
        return; /* the largest such row of the first host */
    }
}

static const char *format_speed(const struct copies_row *row, const char *before,
                                char buf[static 64])
{
    const double speed = copies_row_speed(row);
    buf[0] = '\0';
    if (!isnan(speed))
        (void)snprintf(buf, 64, "%s at %.2f GB/s", before, speed / 1e9);
    return buf;
}

enum { MIGRATED_LEAST = 64 << 20 }; /* bytes */

/* Moved by page faults and by what the driver guesses from them, in pieces of a few KiB to 2 MiB,
 * for which who touched it has waited (CUDA's Programming Guide, Unified Memory: Data Prefetching).
 */
static void judge_migrations(struct findings_about *about, const struct copies *copies)
{
    struct copies_row asked = {0}, evicted = {0}, other = {0};
    char bytes[24], speed[64], asked_speed[64];
    for (size_t i = 0; i < copies->n; i++) {
        const struct copies_row *row = &copies->row[i];
        if (copies_row_is_migration(row))
            add_row(row->kind == COPIES_MIGRATED_USER       ? &asked
                    : row->kind == COPIES_MIGRATED_EVICTION ? &evicted
                                                            : &other,
                    row);
    }
    if (other.bytes >= MIGRATED_LEAST)
        findings_report(about, "copies_migrated", FINDING_NOTE,
                        "%sB of unified memory moved on demand, in pieces of %" PRIu64
                        " bytes on average%s%s: prefetch it (cudaMemPrefetchAsync), or use memory "
                        "that does not move",
                        units_format_si((double)other.bytes, bytes, sizeof(bytes)),
                        other.bytes / other.calls, format_speed(&other, "", speed),
                        format_speed(&asked, "; prefetched,", asked_speed));
    if (evicted.bytes >= MIGRATED_LEAST)
        findings_report(about, "copies_evicted", FINDING_NOTE,
                        "%sB of unified memory was evicted from a GPU by other%s: the GPU's memory "
                        "is too small for the data in use; prefetching does not help",
                        units_format_si((double)evicted.bytes, bytes, sizeof(bytes)),
                        format_speed(&evicted, ",", speed));
}

/* Said of processes that have unified memory alone: others miss nothing. */
static void judge_untold(struct findings_about *about, const struct copies *copies)
{
    size_t untold = 0;
    uint32_t error = 0;
    char why[48] = "it was never ready to";
    for (size_t i = 0; i < copies->nlogs; i++) {
        const struct copies_sums *sums = copies->log[i].sums;
        bool managed = false;
        for (size_t e = 0; e < COPIES_ENTRIES && sums->entry[e].used; e++)
            managed |= sums->entry[e].from_memory == COPIES_MANAGED ||
                       sums->entry[e].to_memory == COPIES_MANAGED;
        if (!managed || sums->migrations_ns)
            continue;
        untold++;
        error = sums->migrations_error ? sums->migrations_error : error;
    }
    if (error)
        (void)snprintf(why, sizeof(why), "its error %u", error);
    if (untold)
        findings_report(
            about, "copies_migrations_unknown", FINDING_NOTE,
            "%zu of %zu processes have unified memory, but CUPTI does not report its moves (%s).",
            untold, copies->nlogs, why);
}

static void judge_logs(struct findings_about *about, const struct copies *copies)
{
    uint64_t dropped = 0, other = 0, unplaced = 0, bytes = 0;
    size_t unfinished = 0, taken = 0;
    for (size_t i = 0; i < copies->nlogs; i++) {
        const struct copies_sums *sums = copies->log[i].sums;
        dropped += sums->dropped;
        other += sums->unknown + sums->broken;
        unplaced += sums->entry[0].calls;
        bytes += sums->entry[0].bytes;
        unfinished += !sums->finished;
        taken += copies_are_taken(sums);
    }
    if (dropped)
        findings_report(about, "copies_dropped", FINDING_DOUBT,
                        "CUPTI had no room for %" PRIu64 " records: these copies are missing here.",
                        dropped);
    if (other)
        findings_report(about, "copies_unknown", FINDING_DOUBT,
                        "%" PRIu64 " records or buffers of CUPTI were not understood.", other);
    if (taken)
        findings_report(about, "copies_taken_over", FINDING_DOUBT,
                        "In %zu of %zu processes another tool, such as PyTorch's profiler, took "
                        "CUPTI over: later copies are missing here.",
                        taken, copies->nlogs);
    if (unplaced)
        findings_report(about, "copies_unplaced", FINDING_DOUBT,
                        "%" PRIu64 " copies of %" PRIu64
                        " bytes exceeded the tables of their processes: they are in the row '?'.",
                        unplaced, bytes);
    if (unfinished)
        findings_report(about, "copies_unfinished", FINDING_NOTE,
                        "%zu of %zu processes were killed: their copies of about the last second "
                        "may be missing.",
                        unfinished, copies->nlogs);
}

int copies_judge(const struct copies *copies, struct findings *findings, struct err *err)
{
    struct findings_about about = {findings, err, "copies"};
    judge_logs(&about, copies);
    judge_untold(&about, copies);
    judge_pageable(&about, copies);
    judge_migrations(&about, copies);
    judge_small(&about, copies);
    return about.rc;
}
