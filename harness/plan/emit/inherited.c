#include "harness/plan/emit/inherited.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "harness/lib/text.h"

const char *const inherited_teams[INHERITED_TEAMS] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                                      "OPENBLAS_NUM_THREADS"};

/* Sources: libgomp's manual, chapter "Environment Variables"; LLVM/OpenMP runtimes, "Environment
 * Variables"; the manuals of MKL and OpenBLAS. */
static const char *const overriding[] = {
    /* These bind threads. */
    "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET",
    "KMP_PLACE_THREADS",
    /* These set the size of teams. */
    "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "KMP_ALL_THREADS", "MKL_DOMAIN_NUM_THREADS",
    "GOTO_NUM_THREADS"};

/* These let threads spin, which a plan with passive waiting forbids. */
static const char *const spinning[] = {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"};

static bool is_passive(const struct plan *plan)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (plan->workers[w].passive)
            return true;
    return false;
}

static bool is_set(const char *name, char *(*get)(const char *name))
{
    const char *value = get(name);
    return value && *value;
}

static void add(struct strbuf *out, const char *const *names, size_t n, const char *before,
                char *(*get)(const char *name))
{
    for (size_t i = 0; i < n; i++)
        if (!get || is_set(names[i], get))
            strbuf_addf(out, "%s%s", before, names[i]);
}

void inherited_add(struct strbuf *out, const struct plan *plan, const char *before,
                   char *(*get)(const char *name))
{
    add(out, overriding, sizeof(overriding) / sizeof(*overriding), before, get);
    if (is_passive(plan))
        add(out, spinning, sizeof(spinning) / sizeof(*spinning), before, get);
    if (get)
        add(out, inherited_teams + 1, INHERITED_TEAMS - 1, before, get);
}

static void report(const char *const *names, size_t n, char *(*get)(const char *name),
                   struct finding *finding)
{
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(finding->sentence);
        bool binds_nothing = !strcmp(names[i], "OMP_PROC_BIND") && is_set(names[i], get) &&
                             !strcasecmp(get(names[i]), "false");
        if (!is_set(names[i], get) || binds_nothing || used > sizeof(finding->sentence) / 2)
            continue;
        (void)snprintf(finding->sentence + used, sizeof(finding->sentence) - used, "%s%s=%.48s",
                       used ? ", " : "", names[i], get(names[i]));
    }
}

int inherited_check(const struct plan *plan, char *(*get)(const char *name),
                    struct findings *findings, struct err *err)
{
    struct finding finding = {
        .id = "inherited_environment", .severity = FINDING_NOTE, .subject = "environment"};
    report(overriding, sizeof(overriding) / sizeof(*overriding), get, &finding);
    report(inherited_teams + 1, INHERITED_TEAMS - 1, get, &finding);
    if (is_passive(plan))
        report(spinning, sizeof(spinning) / sizeof(*spinning), get, &finding);
    size_t used = strlen(finding.sentence);
    if (!used)
        return 0;
    (void)snprintf(finding.sentence + used, sizeof(finding.sentence) - used,
                   "%s set here and would undo the plan: workers start without",
                   strchr(finding.sentence, ',') ? " are" : " is");
    (void)text_one_line(finding.sentence);
    return findings_add(findings, &finding, err);
}
