/*
 * One machine that was looked at twice, by the same bounds: what was beyond them the first time was
 * measured once more, in another order. Pure.
 */
#ifndef CONTEND_VALIDATE_FLEET_LOOKS_H
#define CONTEND_VALIDATE_FLEET_LOOKS_H

#include "harness/validate/fleet/judge.h"

struct fleet_look {
    struct fleet fleet;               /* of one machine */
    struct fleet_judgement judgement; /* of it */
};

/* Free *look with fleet_look_free, also after an error: of fleet_judge and fleet_arrange. */
int fleet_look_judge(struct fleet_look *look, const struct bounds *bounds, struct err *err);
void fleet_look_free(struct fleet_look *look);

/*
 * Calls with the key of each figure that is off, or lacks; with each figure of the bounds where all
 * together are worse. Returns whether there was any.
 */
bool fleet_look_doubts(const struct fleet_look *look, const struct bounds *bounds,
                       void (*doubt)(void *arg, const char *key), void *arg);

/*
 * As fleet_findings of the first look; with a second one (or NULL) both results are in the
 * evidence, what fails the first time alone warns, and what the second look alone saw does, too.
 * -ENOMEM only.
 */
int fleet_look_findings(const struct fleet_look *first, const struct fleet_look *second,
                        const struct bounds *bounds, struct findings *findings, struct err *err);

#endif
