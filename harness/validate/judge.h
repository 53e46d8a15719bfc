/*
 * Finds odd machines of a fleet, and says why. Each machine is judged by bounds (bounds.h), given
 * or made from the fleet itself. The kinds of offence:
 *
 * - kind: the machine is of another kind than the bounds. Its figures are then not judged.
 * - verdict: its newest validation did not pass. Its figures do not matter for this.
 * - lacks: it lacks figures that nearly all machines have, such as those of a GPU.
 * - figure: a figure is beyond its bounds. On the bad side it fails, or if the machine was
 *   disturbed at that moment it is a warning; on the good side it is odd.
 * - overall: no single figure need be odd, but all together are worse: the median over figures of
 *   value / reference, by more than 5% and by more than 5 spreads of that median over the fleet.
 *
 * Pure.
 */
#ifndef CONTEND_VALIDATE_JUDGE_H
#define CONTEND_VALIDATE_JUDGE_H

#include "harness/lib/finding.h"
#include "harness/validate/bounds.h"

/* The most severe first; figures are ranked by score. */
enum fleet_offence_kind {
    OFFENCE_KIND,
    OFFENCE_VERDICT,
    OFFENCE_LACKS,
    OFFENCE_FIGURE,
    OFFENCE_OVERALL
};

struct fleet_offence {
    uint32_t machine;
    enum fleet_offence_kind kind;
    enum finding_outcome outcome; /* FAIL or WARN; VERDICT may be SKIP */
    size_t bound;                 /* of FIGURE; the first of LACKS; else 0 */
    size_t count;                 /* of LACKS: number of figures */
    double ratio;                 /* of the value to the reference */
    double score;                 /* distance to the reference / that of the bound; for ranking */
};

struct fleet_judged {
    uint32_t machine;
    enum finding_outcome outcome; /* PASS, WARN, FAIL; SKIP: not judged */
    double score;                 /* of its first offence */
    size_t first, noffences;
};

/* Zeroed = empty. */
struct fleet_judgement {
    const struct fleet *fleet; /* borrowed */
    const struct bounds *bounds;
    size_t noffences, offences_capacity;
    struct fleet_offence *offences; /* owned; by machine, the worst first */
    size_t nmachines;
    struct fleet_judged *machines; /* owned; worst first, machines that pass by name */
    size_t count[OUTCOMES];        /* machines of each outcome */
    size_t nbounds;                /* bounds whose figure is in the fleet */
    uint32_t *metric_of;           /* owned: each bound's number in fleet.keys, or INTERN_NONE */
};

/*
 * Judges the machines; `skip` (or NULL) says for each whether it is left out. -ENOMEM, and -EINVAL:
 * a bound has another unit or direction than the results. Free also after an error.
 */
int fleet_judge(const struct fleet *fleet, const struct bounds *bounds, const bool *skip,
                struct fleet_judgement *judgement, struct err *err);
void fleet_judgement_free(struct fleet_judgement *judgement);

/*
 * Makes a finding of an offence: the machine as subject, the sentence "lacks gpu=7: 12 figures".
 * Returns the part of the sentence after the last ": ", the amount; "" if the sentence has none.
 */
const char *fleet_finding(const struct fleet_judgement *judgement,
                          const struct fleet_offence *offence, struct finding *finding);

/* The reason for a SKIP without an offence. */
#define FLEET_NOT_JUDGED "not judged: no bound is for its figures"

/*
 * Adds a finding for each offence, worst machine first, and one with the id "fleet_machine" for
 * each machine without an offence, which passes or is not judged.
 */
void fleet_findings(const struct fleet_judgement *judgement, struct findings *findings);

#endif
