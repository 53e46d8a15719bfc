#include "harness/engine/discover/measured_parts.h"
#include "harness/lib/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats/stats.h"

static struct finding begin(const struct measured_story *story, const char *id,
                            enum measured_state state, bool disagrees)
{
    static const char *const names[] = {"stable", "floating", "unconfirmed"};
    unsigned nscans = state == MEASURED_UNCONFIRMED ? 1 : story->work->nscans;
    struct finding finding = {.subject = MEASURED_MACHINE};
    finding.severity = state == MEASURED_FLOATING ? FINDING_DOUBT
                       : disagrees                ? FINDING_BAD
                                                  : FINDING_NOTE;
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.evidence, sizeof(finding.evidence), "%s: %u scan%s", names[state],
                   nscans, nscans == 1 ? "" : "s");
    return finding;
}

static void set_pair(struct finding *finding, const struct measured_work *work, unsigned a,
                     unsigned b)
{
    (void)snprintf(finding->subject, sizeof(finding->subject), "CPUs %u and %u",
                   work->cpus[a]->os_cpu, work->cpus[b]->os_cpu);
}

/* Where no scan can be against another. */
static enum measured_state state_of_scans(const struct measured_work *work)
{
    return work->nscans > 1 ? MEASURED_STABLE : MEASURED_UNCONFIRMED;
}

/* "26 ns against a median of 71, 41% slower together", as far as measured. */
static void report_evidence(struct finding *finding, const struct measured_story *story, unsigned a,
                            unsigned b)
{
    double latency_ns = measured_latency(story->work, a, b);
    double slowdown = measured_slowdown(story->work, a, b);
    double median_ns = story->measured->median_ns;
    if (!isnan(latency_ns))
        text_add(finding->sentence, "%.0f ns", latency_ns);
    if (!isnan(latency_ns) && !isnan(median_ns))
        text_add(finding->sentence, " against a median of %.0f", median_ns);
    if (!isnan(latency_ns) && !isnan(slowdown))
        text_add(finding->sentence, ", ");
    if (slowdown >= 1)
        text_add(finding->sentence, "%.0f%% slower together", 100 * (slowdown - 1));
    else if (!isnan(slowdown))
        text_add(finding->sentence, "not slower together");
}

static bool reported_siblings(const struct measured_story *story, unsigned a, unsigned b)
{
    return story->work->cpus[a]->core == story->work->cpus[b]->core;
}

static void report_reported_smt(struct finding *finding, const struct topo *topo)
{
    unsigned least, most;
    topo_threads_per_core(topo, &least, &most);
    if (most <= 1)
        text_add(finding->sentence, "; the system reports one thread a core");
    else
        text_add(finding->sentence, "; the system reports them on different cores");
}

static unsigned scans_that_see(const struct measured_work *work, unsigned a, unsigned b)
{
    unsigned count = 0;
    for (unsigned s = 0; s < work->nscans; s++)
        count += work->scan[s].siblings[measured_at(work, a, b)];
    return count;
}

/* Whether a scan gives either of the two another partner. */
static bool has_other_partner(const struct measured_work *work, unsigned a, unsigned b)
{
    for (unsigned other = 0; other < work->n; other++)
        if (other != a && other != b &&
            (work->ever[measured_at(work, a, other)] || work->ever[measured_at(work, b, other)]))
            return true;
    return false;
}

/* Why they float, and what one pair alone cannot tell. */
static void report_doubts(struct finding *finding, const struct measured_work *work, unsigned a,
                          unsigned b, bool reported)
{
    if (!work->firm[measured_at(work, a, b)])
        text_add(finding->sentence, "; floating: %s",
                 has_other_partner(work, a, b) ? "one of them has other partners too"
                                               : "in other scans they do not");
    if (work->n == 2 && !reported)
        text_add(finding->sentence,
                 "; two CPUs are one pair, and no other to compare it with: other programs, or "
                 "other guests of the host, slow them alike");
}

static int report_siblings(const struct measured_story *story, struct findings *findings,
                           unsigned a, unsigned b, struct err *err)
{
    const struct measured_work *work = story->work;
    bool firm = work->firm[measured_at(work, a, b)], reported = reported_siblings(story, a, b);
    struct finding f =
        begin(story, "smt_siblings", firm ? state_of_scans(work) : MEASURED_FLOATING, !reported);
    set_pair(&f, work, a, b);
    text_add(f.sentence, "behave as SMT siblings");
    if (!firm && work->nscans > 1)
        text_add(f.sentence, " in %u of %u scans", scans_that_see(work, a, b), work->nscans);
    text_add(f.sentence, ": ");
    report_evidence(&f, story, a, b);
    if (reported)
        text_add(f.sentence, "; as reported");
    else
        report_reported_smt(&f, work->input->reported);
    report_doubts(&f, work, a, b, reported);
    return findings_add(findings, &f, err);
}

static int report_not_siblings(const struct measured_story *story, struct findings *findings,
                               unsigned a, unsigned b, struct err *err)
{
    struct finding f = begin(story, "smt_not_siblings", state_of_scans(story->work), true);
    set_pair(&f, story->work, a, b);
    text_add(f.sentence, "are reported as SMT siblings, but do not behave so: ");
    report_evidence(&f, story, a, b);
    return findings_add(findings, &f, err);
}

/* Only what was measured can be denied. */
static bool is_known(const struct measured_work *work, unsigned a, unsigned b)
{
    return !isnan(measured_latency(work, a, b)) || !isnan(measured_slowdown(work, a, b));
}

static int report_pairs(const struct measured_story *story, struct findings *findings,
                        struct err *err)
{
    const struct measured_work *work = story->work;
    int rc = 0;
    for (unsigned a = 0; a < work->n && !rc; a++)
        for (unsigned b = a + 1; b < work->n && !rc; b++) {
            if (work->ever[measured_at(work, a, b)])
                rc = report_siblings(story, findings, a, b, err);
            else if (reported_siblings(story, a, b) && is_known(work, a, b))
                rc = report_not_siblings(story, findings, a, b, err);
        }
    return rc;
}

static void report_cpus(struct finding *finding, const struct measured_story *story,
                        const struct measured_level *level, int label)
{
    struct bitset set = {{0}};
    char list[120];
    for (unsigned i = 0; i < story->work->n; i++)
        if (level->label[i] == label)
            bitset_set(&set, story->work->cpus[i]->os_cpu);
    text_add(finding->sentence, "%s%s", label ? " | " : "",
             bitset_format(&set, list, sizeof(list)));
}

/* Does the reported topology have the same partition, by caches or by packages? */
static bool is_reported(const struct measured_story *story, const struct measured_level *level)
{
    bool by_llc = true, by_package = true;
    for (unsigned a = 0; a < story->work->n; a++)
        for (unsigned b = 0; b < a; b++) {
            const struct topo_cpu *x = story->work->cpus[a], *y = story->work->cpus[b];
            bool together = level->label[a] == level->label[b];
            by_llc = by_llc && together == (x->llc == y->llc);
            by_package = by_package && together == (x->package == y->package);
        }
    return by_llc || by_package;
}

static int report_level(const struct measured_story *story, struct findings *findings,
                        const struct measured_level *level, const char *what, struct err *err)
{
    const struct topo *topo = story->work->input->reported;
    bool reported = is_reported(story, level);
    struct finding f = begin(story, "cpu_clusters", story->levels_state, !reported);
    text_add(f.sentence, "%u clusters of CPUs, %s: %.0f ns within, %.0f ns across", level->clusters,
             what, level->within_ns, level->across_ns);
    if (reported)
        text_add(f.sentence, "; as reported");
    else
        text_add(f.sentence, "; the system reports %u package%s and %u last-level cache%s",
                 topo->npackages, topo->npackages == 1 ? "" : "s", topo->nllcs,
                 topo->nllcs == 1 ? "" : "s");
    if (story->levels_state == MEASURED_FLOATING)
        text_add(f.sentence, "; floating: not every scan shows them");
    text_add(f.sentence, ": ");
    for (unsigned label = 0; label < level->clusters; label++)
        report_cpus(&f, story, level, (int)label);
    return findings_add(findings, &f, err);
}

static int report_levels(const struct measured_story *story, struct findings *findings,
                         struct err *err)
{
    const struct measured_level *low = story->lowest, *high = story->highest;
    if (low->clusters == 0)
        return 0;
    if (measured_same_level(story->work, low, high))
        return report_level(story, findings, low, "sockets or cache domains", err);
    int rc = report_level(story, findings, high, "sockets", err);
    return rc ? rc : report_level(story, findings, low, "cache domains", err);
}

static int report_note(const struct measured_story *story, struct findings *findings,
                       struct err *err)
{
    const struct measured_work *work = story->work;
    const struct measured *measured = story->measured;
    if (measured->sibling_pairs || measured->floating_pairs || story->lowest->clusters)
        return 0;
    struct finding f = begin(story, "measured_nothing", state_of_scans(work), false);
    if (work->n == 2) {
        text_add(f.sentence,
                 "two CPUs are one pair, and no other to compare it with: nothing can be said of "
                 "clusters, and of siblings only that they do not slow each other (");
        report_evidence(&f, story, 0, 1);
        text_add(f.sentence, ")");
    } else {
        text_add(f.sentence,
                 "no pair of CPUs behaves as SMT siblings, and no group of cores is nearer to each "
                 "other than to the rest (median %.0f ns)",
                 measured->median_ns);
    }
    return findings_add(findings, &f, err);
}

/* Bad ones and doubts first, otherwise as found: a stable partition. */
static int put_first(const struct findings *told, struct findings *sorted, struct err *err)
{
    int rc = 0;
    for (int notes = 0; notes < 2; notes++)
        for (size_t i = 0; i < told->n && !rc; i++)
            if ((told->all[i].severity == FINDING_NOTE) == (bool)notes)
                rc = findings_add(sorted, &told->all[i], err);
    return rc;
}

int measured_report(const struct measured_story *story, struct findings *findings, struct err *err)
{
    struct findings told = {0};
    int rc = report_pairs(story, &told, err);
    if (!rc)
        rc = report_levels(story, &told, err);
    if (!rc)
        rc = report_note(story, &told, err);
    if (!rc)
        rc = put_first(&told, findings, err);
    findings_free(&told);
    return rc;
}
