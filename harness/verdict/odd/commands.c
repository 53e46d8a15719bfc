#include "harness/verdict/odd/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/units.h"

enum { MASKS_TOLD = 6 };

static struct finding new_finding(const char *id, enum finding_severity severity)
{
    struct finding finding = {.severity = severity, .value = NAN, .low = NAN, .high = NAN};
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    return finding;
}

/* Where an arm is not the first of its placement and variant that says so. */
static bool is_told(const struct findings *findings, const struct finding *of)
{
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, of->id) &&
            !strcmp(findings->all[i].subject, of->subject) &&
            !strcmp(findings->all[i].evidence, of->evidence))
            return true;
    return false;
}

static void name_arm(const struct arm *arm, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s%s%s", arm->variant ? arm->variant->name : "",
                   arm->variant ? ", " : "", placement_infos[arm->placement].name);
}

static int add_mask(const struct arm *arm, const struct tree_mask *mask,
                    const struct plan_worker *planned, struct findings *findings, struct err *err)
{
    char got[80], want[80], arm_name[64];
    struct finding finding =
        new_finding("mask_changed", mask->beyond ? FINDING_DOUBT : FINDING_NOTE);
    name_arm(arm, arm_name, sizeof(arm_name));
    (void)snprintf(finding.subject, sizeof(finding.subject), "'%s' under %s", mask->name, arm_name);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%s: it was bound to CPUs %s, and its placement gave it %s",
                   mask->beyond ? "it sets its own CPUs, so that the placement does not hold for it"
                                : "it narrows its CPUs by itself, within its placement",
                   bitset_format(&mask->cpus, got, sizeof(got)),
                   bitset_format(&planned->cpus, want, sizeof(want)));
    (void)snprintf(finding.evidence, sizeof(finding.evidence), "read back while it ran");
    return is_told(findings, &finding) ? 0 : findings_add(findings, &finding, err);
}

static int add_masks(const struct arm *arm, const struct observation *of, unsigned *told,
                     struct findings *findings, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < of->nworkers; i++) {
        const struct plan_worker *planned = observation_planned(arm, of, i);
        for (unsigned m = 0; planned && m < of->workers[i].nmasks && !rc; m++) {
            size_t before = findings->n;
            if (*told < MASKS_TOLD && of->workers[i].masks[m].lasts)
                rc = add_mask(arm, &of->workers[i].masks[m], planned, findings, err);
            *told += findings->n > before;
        }
    }
    return rc;
}

static int add_cut(uint64_t cut_bytes, struct findings *findings, struct err *err)
{
    char size[32];
    struct finding finding = new_finding("output_cut", FINDING_NOTE);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "Of the command's output %s were not kept: a file of it holds 1 MiB.",
                   units_format_bytes(cut_bytes, size, sizeof(size)));
    return findings_add(findings, &finding, err);
}

static int add_killed(unsigned killed, struct findings *findings, struct err *err)
{
    struct finding finding = new_finding("ignored_sigterm", FINDING_NOTE);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%u run%s of the command did not end at SIGTERM and %s killed; --grace gives "
                   "more time.",
                   killed, killed == 1 ? "" : "s", killed == 1 ? "was" : "were");
    return findings_add(findings, &finding, err);
}

int commands_find(const struct analysis *analysis, struct findings *findings, struct err *err)
{
    const struct result *result = analysis->result;
    uint64_t cut_bytes = 0;
    unsigned killed = 0, told = 0;
    int rc = 0;
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations && !rc; o++) {
            const struct observation *of = &result->arms[a].observations[o];
            rc = add_masks(&result->arms[a], of, &told, findings, err);
            for (unsigned i = 0; i < of->nworkers; i++) {
                cut_bytes += of->workers[i].cut_bytes;
                killed += of->workers[i].killed;
            }
        }
    if (!rc && cut_bytes)
        rc = add_cut(cut_bytes, findings, err);
    if (!rc && killed)
        rc = add_killed(killed, findings, err);
    return rc;
}
