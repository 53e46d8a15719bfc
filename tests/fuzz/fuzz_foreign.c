/* Any text as results of another benchmark: refused with a sentence, or each comparison is whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/lib/text.h"
#include "harness/show/json/foreign_read.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same file on both sides: a metric that gates may not differ. */
static void check_same(const struct comparisons *comparisons)
{
    for (size_t i = 0; i < comparisons->n; i++) {
        const struct comparison *one = &comparisons->all[i];
        const enum finding_outcome outcome = one->evidence.outcome;
        if (outcome == OUTCOME_FASTER || outcome == OUTCOME_SLOWER ||
            (one->gating && (outcome == OUTCOME_NONE || !one->reason[0])))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str_mark mark = str_mark();
    struct foreign foreign = {0};
    struct comparisons comparisons = {0};
    struct findings findings = {0};
    struct err err = {0};
    char path[256];
    scratch_put("results.json", data, size);
    (void)snprintf(path, sizeof(path), "%s/results.json", scratch_path());
    int rc = 0;
    for (int side = 0; side < FOREIGN_SIDES && !rc; side++)
        rc = foreign_read(path, side, &foreign, &err);
    check_refusal(rc, &err);
    if (!rc && foreign_compare(&foreign, 0.05, &comparisons, &err))
        abort();
    check_same(&comparisons);
    if (!rc)
        foreign_advise(&foreign, &comparisons, &findings);
    findings_free(&findings);
    comparisons_free(&comparisons);
    foreign_free(&foreign);
    str_release(mark);
    return 0;
}
