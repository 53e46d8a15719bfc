#include "harness/verdict/odd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/collect.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"

static const char id[] = "busy";

static double foreign_of(const struct observation *of)
{
    return of->foreign_cpu;
}

static double steal_of(const struct observation *of)
{
    return of->steal;
}

/* The median over launches that ended with values; NaN if no launch has the share. */
static double median_of(const struct result *result, double (*share)(const struct observation *),
                        double *shares, size_t *launches)
{
    *launches = 0;
    for (size_t i = 0; i < result->narms; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (result->arms[i].observations[o].status <= STATUS_CENSORED)
                shares[(*launches)++] = share(&result->arms[i].observations[o]);
    return stats_sort_median(shares, *launches);
}

/* " Most CPU time: sh (pid 4711) 24%, sh (pid 4712) 23%." */
static void add_others(const struct result *result, struct finding *finding)
{
    for (unsigned i = 0; i < result->nothers; i++) {
        struct other_process of = result->others[i];
        text_add(finding->sentence, "%s%s (pid %lld) %.0f%%",
                 i ? ", " : " Most CPU time: ", text_one_line(of.command), (long long)of.pid,
                 100 * of.share);
    }
    text_add(finding->sentence, result->nothers ? "." : "");
}

void busy_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    size_t launches = 0;
    for (size_t i = 0; i < result->narms; i++)
        launches += result->arms[i].nobservations;
    double *shares = calloc(launches + 1, sizeof(*shares));
    findings->failed = findings->failed || !shares;
    double foreign = shares ? median_of(result, foreign_of, shares, &launches) : NAN;
    double steal = shares ? median_of(result, steal_of, shares, &launches) : NAN;
    bool others = foreign > COLLECT_NOISY_FOREIGN, stolen = steal > COLLECT_NOISY_STEAL;
    struct finding finding = {.severity = FINDING_DOUBT};
    free(shares);
    if (!others && !stolen)
        return;
    memcpy(finding.id, id, sizeof(id));
    if (others)
        text_add(finding.sentence, "other programs used %.0f%% of the CPUs", 100 * foreign);
    if (stolen)
        text_add(finding.sentence, "%sthe hypervisor took %.0f%% of the CPUs",
                 others ? ", and " : "", 100 * steal);
    text_add(finding.sentence, ": rates and times hold beside such load only.");
    add_others(result, &finding);
    text_set(finding.evidence,
             "medians over %zu launches; disturbed is above %.0f%% used or %.0f%% taken", launches,
             100 * COLLECT_NOISY_FOREIGN, 100 * COLLECT_NOISY_STEAL);
    findings_put(findings, &finding);
}

const struct finding *busy_among(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, id))
            return &findings->all[i];
    return NULL;
}

bool busy_explains(const struct findings *findings, const struct arm *arm)
{
    for (size_t o = 0; o < arm->nobservations; o++)
        if (collect_gpu_held_back(&arm->observations[o]))
            return false;
    return busy_among(findings) != NULL;
}
