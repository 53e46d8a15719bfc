#include "harness/show/checks.h"

#include <string.h>

enum check_end check_end_of(const struct finding *finding)
{
    static const enum check_end ends[OUTCOMES] = {
        [OUTCOME_PASS] = CHECK_GOOD,       [OUTCOME_WARN] = CHECK_OPEN,
        [OUTCOME_FAIL] = CHECK_FAILED,     [OUTCOME_SKIP] = CHECK_SKIPPED,
        [OUTCOME_ERROR] = CHECK_ERROR,     [OUTCOME_FASTER] = CHECK_GOOD,
        [OUTCOME_SLOWER] = CHECK_FAILED,   [OUTCOME_SAME] = CHECK_GOOD,
        [OUTCOME_UNCLEAR] = CHECK_SKIPPED, [OUTCOME_MISSING] = CHECK_SKIPPED,
    };
    return ends[finding->outcome];
}

size_t checks_alike_before(const struct findings *findings, size_t i)
{
    const struct finding *this = &findings->all[i];
    size_t n = 0;
    for (size_t j = 0; j < i; j++) {
        const struct finding *other = &findings->all[j];
        n += check_end_of(other) != CHECK_NONE && strcmp(other->id, this->id) == 0 &&
             strcmp(other->subject, this->subject) == 0 && strcmp(other->metric, this->metric) == 0;
    }
    return n;
}
