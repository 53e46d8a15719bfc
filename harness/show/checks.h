/* Shared by the output forms for other programs: which findings are checks, and their names. */
#ifndef CONTEND_SHOW_CHECKS_H
#define CONTEND_SHOW_CHECKS_H

#include <stddef.h>

#include "harness/lib/finding.h"

/* The result of a check. */
enum check_end {
    CHECK_NONE,    /* the finding judges nothing */
    CHECK_GOOD,    /* PASS, SAME, FASTER */
    CHECK_OPEN,    /* WARN: nothing is proven wrong, but a person should read it */
    CHECK_FAILED,  /* FAIL, SLOWER */
    CHECK_ERROR,   /* ERROR */
    CHECK_SKIPPED, /* SKIP, MISSING, UNCLEAR: nothing is proven either way */
    CHECK_ENDS
};
enum check_end check_end_of(const struct finding *finding);

/*
 * Returns how many checks before findings->all[i] have the same id, subject and metric. Readers
 * that identify a check by its name would keep only one of them.
 */
size_t checks_alike_before(const struct findings *findings, size_t i);

#endif
