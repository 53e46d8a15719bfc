#include "harness/discover/measured_parts.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/stats.h"
#include "harness/base/units.h"

/* A felt cache this many times smaller than the reported one is a disagreement. */
static const double cache_factor = 1.5;

/* Room for every pair and a few more; NULL: no memory. */
static struct measured_finding *add(struct measured *measured, enum measured_kind kind,
                                    enum measured_state state, bool disagrees)
{
    size_t n = measured->nfindings;
    if ((n & (n - 1)) == 0) { /* a power of two, or none: full */
        size_t room = n ? 2 * n : 1;
        struct measured_finding *grown =
            realloc(measured->findings, room * sizeof(*measured->findings));
        if (!grown)
            return NULL;
        measured->findings = grown;
    }
    measured->findings[n] =
        (struct measured_finding){.kind = kind, .state = state, .disagrees = disagrees};
    measured->nfindings++;
    return &measured->findings[n];
}

__attribute__((format(printf, 2, 3))) static void say(struct measured_finding *finding,
                                                      const char *fmt, ...)
{
    size_t used = strlen(finding->text);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(finding->text + used, sizeof(finding->text) - used, fmt, ap);
    va_end(ap);
}

/* "26 ns against a median of 71, 41% slower together", as far as measured. */
static void say_evidence(struct measured_finding *finding, const struct measured_story *story,
                         unsigned a, unsigned b)
{
    double latency_ns = measured_latency(story->work, a, b);
    double slowdown = measured_slowdown(story->work, a, b);
    double median_ns = story->measured->median_ns;
    if (!isnan(latency_ns))
        say(finding, "%.0f ns", latency_ns);
    if (!isnan(latency_ns) && !isnan(median_ns))
        say(finding, " against a median of %.0f", median_ns);
    if (!isnan(latency_ns) && !isnan(slowdown))
        say(finding, ", ");
    if (slowdown >= 1)
        say(finding, "%.0f%% slower together", 100 * (slowdown - 1));
    else if (!isnan(slowdown))
        say(finding, "not slower together");
}

static bool reported_siblings(const struct measured_story *story, unsigned a, unsigned b)
{
    return story->work->cpus[a]->core == story->work->cpus[b]->core;
}

static void say_reported_smt(struct measured_finding *finding, const struct topo *topo)
{
    unsigned least, most;
    topo_threads_per_core(topo, &least, &most);
    if (most <= 1)
        say(finding, "; the system reports one thread a core");
    else
        say(finding, "; the system reports them on different cores");
}

static unsigned scans_that_see(const struct measured_work *work, unsigned a, unsigned b)
{
    unsigned count = 0;
    for (unsigned s = 0; s < work->nscans; s++)
        count += work->scan[s].siblings[measured_at(work, a, b)];
    return count;
}

static bool tell_siblings(const struct measured_story *story, struct measured *measured, unsigned a,
                          unsigned b)
{
    const struct measured_work *work = story->work;
    bool firm = work->firm[measured_at(work, a, b)], reported = reported_siblings(story, a, b);
    enum measured_state state = !firm              ? MEASURED_FLOATING
                                : work->nscans > 1 ? MEASURED_STABLE
                                                   : MEASURED_UNCONFIRMED;
    struct measured_finding *f = add(measured, MEASURED_SIBLINGS, state, !firm || !reported);
    if (!f)
        return false;
    f->a = work->cpus[a]->os_cpu;
    f->b = work->cpus[b]->os_cpu;
    say(f, "CPUs %u and %u behave as SMT siblings", f->a, f->b);
    if (!firm && work->nscans > 1)
        say(f, " in %u of %u scans", scans_that_see(work, a, b), work->nscans);
    say(f, ": ");
    say_evidence(f, story, a, b);
    if (reported)
        say(f, "; as reported");
    else
        say_reported_smt(f, work->input->reported);
    if (!firm)
        say(f, "; floating: one of them has other partners too, or none at times");
    return true;
}

static bool tell_not_siblings(const struct measured_story *story, struct measured *measured,
                              unsigned a, unsigned b)
{
    const struct measured_work *work = story->work;
    struct measured_finding *f =
        add(measured, MEASURED_NOT_SIBLINGS,
            work->nscans > 1 ? MEASURED_STABLE : MEASURED_UNCONFIRMED, true);
    if (!f)
        return false;
    f->a = work->cpus[a]->os_cpu;
    f->b = work->cpus[b]->os_cpu;
    say(f, "CPUs %u and %u are reported as SMT siblings, but do not behave so: ", f->a, f->b);
    say_evidence(f, story, a, b);
    return true;
}

/* Only what was measured can be denied. */
static bool is_known(const struct measured_work *work, unsigned a, unsigned b)
{
    return !isnan(measured_latency(work, a, b)) || !isnan(measured_slowdown(work, a, b));
}

static bool tell_pairs(const struct measured_story *story, struct measured *measured)
{
    const struct measured_work *work = story->work;
    bool good = true;
    for (unsigned a = 0; a < work->n && good; a++)
        for (unsigned b = a + 1; b < work->n && good; b++) {
            if (work->ever[measured_at(work, a, b)])
                good = tell_siblings(story, measured, a, b);
            else if (reported_siblings(story, a, b) && is_known(work, a, b))
                good = tell_not_siblings(story, measured, a, b);
        }
    return good;
}

static void say_cpus(struct measured_finding *finding, const struct measured_story *story,
                     const struct measured_level *level, int label)
{
    struct bitset set = {{0}};
    char list[120];
    for (unsigned i = 0; i < story->work->n; i++)
        if (level->label[i] == label)
            bitset_set(&set, story->work->cpus[i]->os_cpu);
    say(finding, "%s%s", label ? " | " : "", bitset_format(&set, list, sizeof(list)));
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

static bool tell_level(const struct measured_story *story, struct measured *measured,
                       const struct measured_level *level, const char *what)
{
    const struct topo *topo = story->work->input->reported;
    bool reported = is_reported(story, level);
    struct measured_finding *f = add(measured, MEASURED_CLUSTERS, story->levels_state, !reported);
    if (!f)
        return false;
    say(f, "%u clusters of CPUs, %s: %.0f ns within, %.0f ns across", level->clusters, what,
        level->within_ns, level->across_ns);
    if (reported)
        say(f, "; as reported");
    else
        say(f, "; the system reports %u package%s and %u last-level cache%s", topo->npackages,
            topo->npackages == 1 ? "" : "s", topo->nllcs, topo->nllcs == 1 ? "" : "s");
    if (story->levels_state == MEASURED_FLOATING)
        say(f, "; floating: not every scan shows them");
    say(f, ": ");
    for (unsigned label = 0; label < level->clusters; label++)
        say_cpus(f, story, level, (int)label);
    return true;
}

static bool tell_levels(const struct measured_story *story, struct measured *measured)
{
    const struct measured_level *low = story->lowest, *high = story->highest;
    if (low->clusters == 0)
        return true;
    if (measured_same_level(story->work, low, high))
        return tell_level(story, measured, low, "sockets or cache domains");
    return tell_level(story, measured, high, "sockets") &&
           tell_level(story, measured, low, "cache domains");
}

static uint64_t reported_llc_bytes(const struct topo *topo)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < topo->ncaches; i++)
        if (topo->caches[i].size_bytes > bytes)
            bytes = topo->caches[i].size_bytes;
    return bytes;
}

static bool tell_caches(const struct measured_story *story, struct measured *measured)
{
    const struct measured_input *input = story->work->input;
    uint64_t reported = reported_llc_bytes(input->reported);
    char text[32];
    if (input->ncaches == 0)
        return true;
    uint64_t felt = input->cache_bytes[input->ncaches - 1];
    double ratio = (double)reported / (double)felt;
    bool disagrees = reported && (ratio > cache_factor || ratio < 1 / cache_factor);
    struct measured_finding *f = add(measured, MEASURED_CACHES, MEASURED_UNCONFIRMED, disagrees);
    if (!f)
        return false;
    say(f, "one CPU feels caches up to ");
    for (unsigned i = 0; i < input->ncaches; i++)
        say(f, "%s%s", i ? ", " : "",
            units_format_bytes(input->cache_bytes[i], text, sizeof(text)));
    if (reported)
        say(f, "; the largest that the system reports is %s",
            units_format_bytes(reported, text, sizeof(text)));
    if (disagrees && ratio > 1)
        say(f, ", %.1f times what is felt: shared with others, or not there", ratio);
    return true;
}

static bool tell_note(const struct measured_story *story, struct measured *measured)
{
    const struct measured_work *work = story->work;
    if (measured->sibling_pairs || measured->floating_pairs || story->lowest->clusters)
        return true;
    struct measured_finding *f = add(
        measured, MEASURED_NOTE, work->nscans > 1 ? MEASURED_STABLE : MEASURED_UNCONFIRMED, false);
    if (!f)
        return false;
    if (work->n == 2) {
        say(f, "two CPUs are one pair, and no other to compare it with: nothing can be said of "
               "clusters, and of siblings only that they do not slow each other (");
        say_evidence(f, story, 0, 1);
        say(f, ")");
    } else {
        say(f,
            "no pair of CPUs behaves as SMT siblings, and no group of cores is nearer to each "
            "other than to the rest (median %.0f ns)",
            measured->median_ns);
    }
    return true;
}

/* Disagreements and doubts first, otherwise as found: a stable partition. */
static bool put_first(struct measured *measured)
{
    size_t n = measured->nfindings, at = 0;
    struct measured_finding *sorted = calloc(n + 1, sizeof(*sorted));
    if (!sorted)
        return false;
    for (int agrees = 0; agrees < 2; agrees++)
        for (size_t i = 0; i < n; i++)
            if (measured->findings[i].disagrees != (bool)agrees)
                sorted[at++] = measured->findings[i];
    free(measured->findings);
    measured->findings = sorted;
    return true;
}

int measured_tell(const struct measured_story *story, struct measured *measured, struct err *err)
{
    if (tell_pairs(story, measured) && tell_levels(story, measured) &&
        tell_caches(story, measured) && tell_note(story, measured) && put_first(measured))
        return 0;
    return err_set(err, -ENOMEM, "no memory for what the measurement shows");
}
