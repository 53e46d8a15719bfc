/* What follows from copies. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/comms/findings/copies.h"
#include "harness/lib/base/units.h"

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

/* Of pageable memory the driver copies by way of pinned memory of its own (CUDA's Best Practices
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
        "driver copies it twice, by the CPU; pin it (cudaHostAlloc, pin_memory=True)",
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
                        " bytes on average: what they cost is the call; join them",
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
        findings_report(
            about, "copies_migrated", FINDING_NOTE,
            "%sB of unified memory moved without being asked for, in pieces of %" PRIu64
            " bytes on average%s%s: ask for it before (cudaMemPrefetchAsync), or use memory that "
            "does not move",
            units_format_si((double)other.bytes, bytes, sizeof(bytes)), other.bytes / other.calls,
            format_speed(&other, "", speed),
            format_speed(&asked, "; what was asked for,", asked_speed));
    if (evicted.bytes >= MIGRATED_LEAST)
        findings_report(
            about, "copies_evicted", FINDING_NOTE,
            "%sB of unified memory had to leave a GPU for other%s: its memory is too small for "
            "what it is to hold at once, which asking before does not change",
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
            "%zu of %zu processes have unified memory, and CUPTI does not tell what of it moved "
            "(%s).",
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
                        "CUPTI had no room for %" PRIu64 " records: so many copies are in no row.",
                        dropped);
    if (other)
        findings_report(about, "copies_unknown", FINDING_DOUBT,
                        "%" PRIu64 " records or buffers of CUPTI were not understood.", other);
    if (taken)
        findings_report(
            about, "copies_taken_over", FINDING_DOUBT,
            "In %zu of %zu processes another tool, such as PyTorch's profiler, has taken CUPTI "
            "over: "
            "what was copied from then on is in no row.",
            taken, copies->nlogs);
    if (unplaced)
        findings_report(about, "copies_unplaced", FINDING_DOUBT,
                        "%" PRIu64 " copies of %" PRIu64
                        " bytes found no place in the tables of their "
                        "processes: they are in a row of '?'.",
                        unplaced, bytes);
    if (unfinished)
        findings_report(
            about, "copies_unfinished", FINDING_NOTE,
            "%zu of %zu processes did not end by themselves: their copies are those of about a "
            "second before the end.",
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
