#include "harness/verdict/odd/odd.h"

#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"

enum { MASKS_REPORTED = 6 };

/* True if an earlier arm of the same placement and variant already reported this. */
static bool is_reported(const struct findings *findings, const struct finding *of)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, of->id) &&
            !strcmp(findings->all[i].subject, of->subject) &&
            !strcmp(findings->all[i].evidence, of->evidence))
            return true;
    return false;
}

static void add_mask(const struct arm *arm, const struct tree_mask *mask,
                     const struct plan_worker *planned, struct findings *findings)
{
    char got[80], want[80];
    struct finding finding = {.id = "mask_changed",
                              .severity = mask->outside_plan ? FINDING_DOUBT : FINDING_NOTE,
                              .evidence = "read back while it ran"};
    text_set(finding.subject, "'%s' under %s%s%s", mask->name,
             arm->variant ? arm->variant->name : "", arm->variant ? ", " : "",
             placement_infos[arm->placement].name);
    if (!is_reported(findings, &finding))
        findings_putf(
            findings, &finding, "%s: it was bound to CPUs %s, and its placement gave it %s",
            mask->outside_plan ? "it sets its own CPUs: the placement does not apply to it"
                               : "it uses only some CPUs of its placement, by its own choice",
            bitset_format(&mask->cpus, got, sizeof(got)),
            bitset_format(&planned->cpus, want, sizeof(want)));
}

void commands_find(const struct analysis *analysis, struct findings *findings)
{
    const struct result *result = analysis->result;
    uint64_t cut_bytes = 0;
    unsigned killed = 0;
    size_t before = findings->n;
    char size[32];
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++) {
            const struct observation *of = &result->arms[a].observations[o];
            for (unsigned i = 0; i < of->nworkers; i++) {
                const struct worker_result *worker = &of->workers[i];
                const struct plan_worker *planned = observation_planned(&result->arms[a], of, i);
                for (unsigned m = 0; planned && m < worker->nmasks; m++)
                    if (findings->n < before + MASKS_REPORTED && worker->masks[m].persists)
                        add_mask(&result->arms[a], &worker->masks[m], planned, findings);
                cut_bytes += worker->cut_bytes;
                killed += worker->killed;
            }
        }
    if (cut_bytes)
        findings_putf(findings, &(struct finding){.id = "output_cut"},
                      "%s of the command's output were dropped: each file holds 1 MiB.",
                      units_format_bytes(cut_bytes, size, sizeof(size)));
    if (killed)
        findings_putf(findings, &(struct finding){.id = "ignored_sigterm"},
                      "%u run%s of the command did not end at SIGTERM and %s killed; --grace gives "
                      "more time.",
                      killed, killed == 1 ? "" : "s", killed == 1 ? "was" : "were");
}
