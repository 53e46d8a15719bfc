#include "harness/cmd/fail_on.h"

#include <errno.h>
#include <string.h>

#include "harness/cmd/cmd.h"

int fail_on_parse(const char *text, struct fail_on *fail_on, struct err *err)
{
    const struct {
        const char *name;
        bool *set;
    } known[] = {{"slower", &fail_on->slower},
                 {"unclear", &fail_on->unclear},
                 {"missing", &fail_on->missing}};
    *fail_on = (struct fail_on){0};
    for (const char *at = text; at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < 3 &&
               (strlen(known[i].name) != length || strncmp(at, known[i].name, length) != 0))
            i++;
        if (i == 3)
            return err_set(err, -EINVAL, "fail-on '%.60s' is none of: slower, unclear, missing",
                           text);
        *known[i].set = true;
        at = at[length] ? at + length + 1 : NULL;
    }
    return 0;
}

int fail_on_code(const struct fail_on *fail_on, const struct comparisons *comparisons)
{
    if ((fail_on->slower && comparisons_count(comparisons, OUTCOME_SLOWER)) ||
        (fail_on->unclear && comparisons_count(comparisons, OUTCOME_UNCLEAR)) ||
        (fail_on->missing && comparisons_count(comparisons, OUTCOME_MISSING)))
        return EXIT_VERDICT;
    return comparisons_decided(comparisons) ? EXIT_GOOD : EXIT_INCONCLUSIVE;
}
