#include "harness/verdict/odd.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"

/* The arm's client, of the job with that prefix, as a limit: its CPUs, or the CPU of its busiest
 * thread. NaN: there is none. */
static double client_busy(const struct analysis *analysis, const struct arm *arm,
                          const char *prefix, bool *by_thread)
{
    double cpus = rows_median(&analysis->rows, arm, str_fmt("%sclient_cpus", prefix)),
           thread = rows_median(&analysis->rows, arm, str_fmt("%sclient_thread", prefix));
    *by_thread = !(cpus > ODD_CLIENT_BUSY);
    return *by_thread ? thread : cpus;
}

/* Returns false where clients run on CPUs of their own. */
static bool find_shared_cpus(const struct result *result, struct findings *findings)
{
    for (size_t a = 0; a < result_measured(result); a++) {
        const struct plan *plan = &result->arms[a].plan;
        if (plan->status != PLAN_OK ||
            !bitset_intersects(&plan->workers[0].cpus, &result->client_cpus))
            continue;
        findings_putf(findings, &(struct finding){.id = "client_shares", .severity = FINDING_DOUBT},
                      "Clients disturb their servers: both share CPUs %s, as no core is to "
                      "spare. Start fewer servers (-n), or give clients cores (--load-cores).",
                      bitset_format(&result->client_cpus));
        return true;
    }
    return false;
}

static void find_busy_clients(const struct analysis *analysis, const char *prefix,
                              struct findings *findings)
{
    const struct result *result = analysis->result;
    struct finding finding = {.id = "client_limit", .severity = FINDING_DOUBT};
    double busiest = ODD_CLIENT_BUSY;
    bool by_thread;
    for (size_t i = 0; i < result->narms; i++) {
        double busy = client_busy(analysis, &result->arms[i], prefix, &by_thread);
        if (!(busy > busiest))
            continue;
        busiest = busy;
        text_set(finding.sentence,
                 "The client is the limit under %s: %s busy for %.0f%% of the time. The "
                 "figure is the client's, not the server's: give it more %s.",
                 statuses_name_arm(result, &result->arms[i]),
                 by_thread ? "one thread of it was" : "its CPUs were", 100 * busy,
                 by_thread ? "threads" : "cores (--load-cores)");
    }
    if (finding.sentence[0])
        findings_put(findings, &finding);
}

/* Metrics that matched several times, of the job, or of all workers if it is NULL. */
static unsigned repeated_by(const struct result *result, const struct neighbour *job)
{
    unsigned repeated = 0;
    for (const struct arm *arm = result->arms; arm < result->arms + result_measured(result); arm++)
        for (size_t o = 0; o < arm->nobservations; o++)
            for (unsigned w = 0; w < arm->observations[o].nworkers; w++)
                if (!job || neighbour_of(result->neighbours, arm->alone, w, NULL) == job)
                    repeated |= arm->observations[o].workers[w].repeated;
    return repeated;
}

static void find_repeated(const struct result *result, const struct neighbour *job,
                          const char *prefix, struct findings *findings)
{
    const struct bench_metric *metrics = result->arms[0].bench->metrics + (job ? job->first : 0);
    const unsigned repeated = repeated_by(result, job);
    const char *names = "";
    unsigned named = 0;
    while (repeated && strcmp(metrics[named].name, str_fmt("%sclient_cpus", prefix)) != 0)
        named++;
    for (unsigned i = 0; i < named; i++)
        if (repeated & (1U << (named - 1 - i)))
            str_add(&names, ", ", "%s", metrics[i].name);
    if (repeated)
        findings_putf(findings, &(struct finding){.id = "metric_repeated"},
                      "--metric%s%s matched several times in a client's output: its last match "
                      "counts.",
                      names[0] ? " " : "", names);
}

/* How servers that were kept differ from those that each placement starts. */
static void find_kept(const struct result *result, struct findings *findings)
{
    const bool again = result->kept_deaths > 0;
    if (bitset_empty(&result->kept_cpus))
        return;
    findings_putf(findings, &(struct finding){.id = "kept", .severity = again ? FINDING_DOUBT : 0},
                  "Servers were started %s, on CPUs %s: placements moved their threads, but did "
                  "not change how many they have.%s",
                  again ? "again after a failed load" : "once", bitset_format(&result->kept_cpus),
                  result->on_nodes ? " Their memory stayed on its nodes." : "");
}

void clients_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    if (bitset_empty(&result->client_cpus) || !result->narms)
        return;
    const struct neighbours *jobs = result->neighbours;
    find_kept(result, findings);
    const bool shared = find_shared_cpus(result, findings);
    for (size_t j = 0; j < (jobs ? jobs->n : 1); j++) {
        const struct neighbour *job = jobs ? &jobs->all[j] : NULL;
        const char *prefix = job ? str_fmt("%s_", job->name) : "";
        if (!shared)
            find_busy_clients(analysis, prefix, findings);
        find_repeated(result, job, prefix, findings);
    }
}
