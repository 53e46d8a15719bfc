/*
 * Which machines of a fleet are odd, and why: each against bounds (bounds.h), given or made from
 * the fleet itself. What is looked at:
 *
 * - kind: it is another machine than the bounds are for. Its figures are not looked at then.
 * - verdict: its newest validation did not pass, whatever its figures are.
 * - lacks: a figure that nearly all have is not there, such as those of a GPU.
 * - figure: one is beyond its bounds. On the bad side that is a failure, unless the machine was
 *   disturbed at that moment; on the good side it is odd.
 * - overall: no figure may be odd, but all together are worse: the median over its figures of
 *   value / reference, by more than 5% and by 5 spreads of the same over the fleet.
 *
 * Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_JUDGE_H
#define CONTEND_VALIDATE_FLEET_JUDGE_H

#include "harness/contract/finding.h"
#include "harness/validate/fleet/bounds.h"

/* The most severe first, but for figures. */
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
    enum finding_outcome outcome; /* FAIL or WARN; SKIP of VERDICT */
    size_t bound;                 /* of a figure; of LACKS the first one; else 0 */
    size_t count;                 /* of LACKS: figures */
    double ratio;                 /* to the reference */
    double score;                 /* how many times as far away as its bound is: what ranks */
};

struct fleet_judged {
    uint32_t machine;
    enum finding_outcome outcome; /* PASS, WARN, FAIL; SKIP: not judged */
    double score;                 /* the largest of its offences */
    size_t first, noffences;
};

/* Zeroed = empty. */
struct fleet_judgement {
    const struct fleet *fleet; /* borrowed */
    const struct bounds *bounds;
    size_t noffences, offences_capacity;
    struct fleet_offence *offences; /* owned; by machine in the order below, the worst first */
    size_t nmachines;
    struct fleet_judged *machines; /* owned; worst first, those that pass by name */
    size_t count[OUTCOMES];        /* machines of each outcome */
    size_t nbounds;                /* that have a figure in the fleet */
    uint32_t *metric_of; /* owned: of each bound, its number in the fleet, or INTERN_NONE */
};

/*
 * `skip` (or NULL): of each machine whether it is left out. -ENOMEM, and -EINVAL: a bound has
 * another unit or direction than the results. Free also after an error.
 */
int fleet_judge(const struct fleet *fleet, const struct bounds *bounds, const bool *skip,
                struct fleet_judgement *judgement, struct err *err);
void fleet_judgement_free(struct fleet_judgement *judgement);

/* The machine's value of a bound's figure; NULL = it lacks it. */
const struct fleet_cell *fleet_judged_cell(const struct fleet_judgement *judgement, size_t bound,
                                           uint32_t machine);

/*
 * An offence as a finding, with its machine as subject and the sentence "lacks gpu=7: 12 figures".
 * Returns where the part behind the last ": " begins, by how much it is off; "" = nowhere.
 */
const char *fleet_finding(const struct fleet_judgement *judgement,
                          const struct fleet_offence *offence, struct finding *finding);

/* The reason of a machine that is SKIP without an offence. */
#define FLEET_NOT_JUDGED "not judged: no bound is for its figures"

/*
 * One for each offence, worst machine first; and one with the id "fleet_machine" for each machine
 * without any, that passes or is not judged. -ENOMEM only.
 */
int fleet_findings(const struct fleet_judgement *judgement, struct findings *findings,
                   struct err *err);

#endif
