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
 * - drift: a figure moves over the machine's own runs (drift.h).
 *
 * Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_JUDGE_H
#define CONTEND_VALIDATE_FLEET_JUDGE_H

#include "harness/contract/finding.h"
#include "harness/validate/fleet/bounds.h"

enum fleet_offence_kind {
    OFFENCE_KIND,
    OFFENCE_VERDICT,
    OFFENCE_LACKS,
    OFFENCE_FIGURE,
    OFFENCE_DRIFT,
    OFFENCE_OVERALL,
    OFFENCE_KINDS
};
/* "fleet_kind", "fleet_lacks" ...: the id of the finding. */
const char *fleet_offence_id(enum fleet_offence_kind kind);

struct fleet_offence {
    uint32_t machine;
    enum fleet_offence_kind kind;
    enum finding_outcome outcome; /* FAIL or WARN; SKIP of VERDICT */
    size_t bound;                 /* of a figure and of drift; of LACKS the first one; else 0 */
    size_t count;                 /* of LACKS: figures; of drift: runs */
    double value;                 /* of a figure: its; of drift: of the last run, as the trend is */
    double ratio;                 /* to the reference, or of the last run to the first one */
    double score;                 /* how many times as far away as its bound is: what ranks */
    bool noisy;
};

struct fleet_judged {
    uint32_t machine;
    enum finding_outcome outcome; /* PASS, WARN, FAIL; SKIP: not judged */
    double score;                 /* the largest of its offences */
    size_t first, noffences;
};

/* Zeroed = empty. */
struct fleet_judgement {
    size_t noffences, offences_capacity;
    struct fleet_offence *offences; /* owned; by machine in the order below, the worst first */
    size_t nmachines;
    struct fleet_judged *machines; /* owned; worst first, those that pass by name */
    size_t npass, nwarn, nfail, nskip;
    uint32_t *metric_of; /* owned: of each bound, its number in the fleet, or INTERN_NONE */
};

/*
 * `skip` (or NULL): of each machine whether it is left out. -ENOMEM only; free also after an error.
 */
int fleet_judge(const struct fleet *fleet, const struct bounds *bounds, const bool *skip,
                struct fleet_judgement *judgement, struct err *err);
void fleet_judgement_free(struct fleet_judgement *judgement);

/* What the machine has of a bound's figure; NULL = it lacks it. */
const struct fleet_cell *fleet_judged_cell(const struct fleet *fleet,
                                           const struct fleet_judgement *judgement, size_t bound,
                                           uint32_t machine);

enum { FLEET_SAID_MAX = 160 };

/* Of a machine that is SKIP without an offence. */
#define FLEET_NOT_JUDGED "not judged: none of its figures has a bound"

/* What is off: "copy_bandwidth dir=h2d;gpu=3, gpu_copy", "lacks gpu=7". Returns buf. */
char *fleet_offence_what(const struct fleet *fleet, const struct bounds *bounds,
                         const struct fleet_judgement *judgement,
                         const struct fleet_offence *offence, char *buf, size_t size);

/* By how much: "-41%", "12 figures", "-12% in 6 runs". Returns buf. */
char *fleet_offence_much(const struct fleet_offence *offence, char *buf, size_t size);

#endif
