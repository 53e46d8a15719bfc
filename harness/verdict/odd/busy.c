#include "harness/verdict/odd/busy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/arms/collect.h"
#include "harness/lib/stats/stats.h"

static const char id[] = "busy";

static double foreign_of(const struct observation *of)
{
    return of->foreign_cpu;
}

static double steal_of(const struct observation *of)
{
    return of->steal;
}

/* Of all launches that ended with values; NaN where none knows. */
static int median_of(const struct result *result, double (*share)(const struct observation *),
                     size_t *launches, double *median, struct err *err)
{
    size_t most = 0, n = 0;
    for (size_t i = 0; i < result->narms; i++)
        most += result->arms[i].nobservations;
    double *shares = calloc(most + 1, sizeof(*shares));
    if (!shares)
        return err_set(err, -ENOMEM, "out of memory for %zu launches", most);
    for (size_t i = 0; i < result->narms; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++) {
            const struct observation *of = &result->arms[i].observations[o];
            if (of->status <= STATUS_CENSORED)
                shares[n++] = share(of);
        }
    *launches = n;
    *median = stats_sort_median(shares, n);
    free(shares);
    return 0;
}

int busy_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    double foreign = NAN, steal = NAN;
    size_t launches = 0;
    int rc = median_of(analysis->result, foreign_of, &launches, &foreign, err);
    if (!rc)
        rc = median_of(analysis->result, steal_of, &launches, &steal, err);
    bool others = foreign > COLLECT_NOISY_FOREIGN, stolen = steal > COLLECT_NOISY_STEAL;
    if (rc || (!others && !stolen))
        return rc;
    struct finding finding = {.severity = FINDING_DOUBT};
    char used[64] = "", taken[64] = "";
    if (others)
        (void)snprintf(used, sizeof(used), "other programs used %.0f%% of the CPUs", 100 * foreign);
    if (stolen)
        (void)snprintf(taken, sizeof(taken), "the hypervisor took %.0f%% of the CPUs", 100 * steal);
    memcpy(finding.id, id, sizeof(id));
    (void)snprintf(finding.sentence, sizeof(finding.sentence), "%s%s%s: %s.", used,
                   others && stolen ? ", and " : "", taken,
                   analysis->result->variants
                       ? "pairs of rounds bear that, but more of them are needed"
                       : "not evidence; quiet the machine, or measure longer");
    (void)snprintf(finding.evidence, sizeof(finding.evidence),
                   "medians over %zu launches; disturbed is above %.0f%% used or %.0f%% taken",
                   launches, 100 * COLLECT_NOISY_FOREIGN, 100 * COLLECT_NOISY_STEAL);
    return findings_add(findings, &finding, err);
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
