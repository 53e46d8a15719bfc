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

static void find_repeated(const struct result *result, struct findings *findings)
{
    const struct bench *bench = result->arms[0].bench;
    const char *names = "";
    unsigned repeated = 0, named = 0;
    for (size_t a = 0; a < result_measured(result); a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++)
            for (unsigned w = 0; w < result->arms[a].observations[o].nworkers; w++)
                repeated |= result->arms[a].observations[o].workers[w].repeated;
    while (strcmp(bench->metrics[named].name, "client_cpus") != 0)
        named++;
    for (unsigned i = 0; i < named; i++)
        if (repeated & (1U << (named - 1 - i)))
            str_add(&names, ", ", "%s", bench->metrics[i].name);
    if (repeated)
        findings_putf(findings, &(struct finding){.id = "metric_repeated"},
                      "--metric%s%s matched several times in a client's output: its last match "
                      "counts.",
                      names[0] ? " " : "", names);
}

void clients_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    if (bitset_empty(&result->client_cpus) || !result->narms)
        return;
    const struct neighbours *jobs = result->neighbours;
    const bool shared = find_shared_cpus(result, findings);
    for (size_t j = 0; !shared && j < (jobs ? jobs->n : 1); j++)
        find_busy_clients(analysis, jobs ? str_fmt("%s_", jobs->all[j].name) : "", findings);
    if (!jobs)
        find_repeated(result, findings);
}
