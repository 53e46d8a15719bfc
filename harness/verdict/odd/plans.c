#include "harness/verdict/odd/odd.h"

#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/plan/placement/check.h"

/* Effects that make workers of one plan differ; `contend place` reports the others too. */
static bool matters(const struct finding *finding)
{
    static const char *const ids[] = {"workers_unlike", "worker_no_memory",
                                      "worker_some_no_memory"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(finding->id, ids[i]) == 0)
            return true;
    return false;
}

/* Arms with other options of the benchmark have the same plan. */
static bool is_reported(const struct findings *findings, const struct finding *of)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, of->id) && !strcmp(findings->all[i].subject, of->subject))
            return true;
    return false;
}

void plans_find(const struct topo *topo, const struct result *result, struct findings *findings)
{
    for (size_t a = 0; topo && a < result->narms; a++) {
        const struct arm *arm = &result->arms[a];
        struct findings all = {0};
        if (arm->is_baseline || arm->plan.status != PLAN_OK)
            continue;
        (void)plan_check(topo, &arm->plan, &all, NULL);
        for (size_t i = 0; i < all.n; i++) {
            struct finding finding = all.all[i];
            char name[128];
            text_set(finding.subject, "%s: %.90s",
                     statuses_name_arm(result, arm, name, sizeof(name)), all.all[i].subject);
            if (matters(&finding) && !is_reported(findings, &finding))
                findings_put(findings, &finding);
        }
        findings->failed = findings->failed || all.failed;
        findings_free(&all);
    }
}
