#include "harness/cmd/common/compared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/similar.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/show/export.h"

const char *const compared_fail_on[] = {"slower", "unclear", "missing", "none", NULL};

/* The outcomes of compared_fail_on, in its order. */
static const enum finding_outcome failings[] = {OUTCOME_SLOWER, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                                OUTCOME_NONE};

/* The outcome of the list's first word; OUTCOMES: unknown word. */
static enum finding_outcome first_of(const char *list)
{
    size_t length = strcspn(list, ",");
    for (size_t i = 0; compared_fail_on[i]; i++)
        if (strlen(compared_fail_on[i]) == length && !strncmp(compared_fail_on[i], list, length))
            return failings[i];
    return OUTCOMES;
}

static const char *behind_first(const char *list)
{
    list += strcspn(list, ",");
    return list + (*list == ',');
}

int compared_check_fail_on(const char *fail_on, struct err *err)
{
    return similar_check_list("fail-on", fail_on, compared_fail_on, err);
}

int compared_code(const struct comparisons *comparisons, const char *fail_on)
{
    for (const char *at = fail_on; *at; at = behind_first(at)) {
        enum finding_outcome outcome = first_of(at);
        if (outcome != OUTCOME_NONE && comparisons_count(comparisons, outcome))
            return EXIT_VERDICT;
    }
    return comparisons_decided(comparisons) ? EXIT_GOOD : EXIT_INCONCLUSIVE;
}

int compared_write_junit(const struct comparisons *comparisons, const char *suite, const char *path,
                         struct err *err)
{
    struct findings findings = {0};
    int rc = 0;
    for (size_t i = 0; i < comparisons->n && !rc; i++) {
        struct finding finding;
        comparison_to_finding(&comparisons->all[i], &finding);
        text_set(finding.subject, "%s", comparison_format_where(comparisons, &comparisons->all[i]));
        if (comparisons->all[i].gating)
            rc = findings_add(&findings, &finding, err);
    }
    FILE *out = rc ? NULL : fopen(path, "we");
    if (!rc && !out)
        rc = err_sys(err, -errno, "cannot write '%.150s'", path);
    if (!rc)
        rc = junit_print(suite, &findings, out, err);
    if (out && fclose(out) && !rc)
        rc = err_sys(err, -errno, "cannot write '%.150s'", path);
    findings_free(&findings);
    return rc;
}

const char *compared_title(const char *const *paths, size_t n, size_t nbase)
{
    const char *title = "contend compare";
    for (size_t i = 0; i < n; i++)
        str_add(&title, i == nbase && n > 2 ? " -- " : " ", "%s", paths[i]);
    return title;
}
