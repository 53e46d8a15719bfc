#include "harness/show/summary/findings.h"

#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/plan/placement/check.h"

static void print_command(const struct finding *finding, const char *indent, FILE *out)
{
    if (finding->command[0]) /* not wrapped: it is to be copied */
        (void)fprintf(out, "%sto apply it: %s\n", indent, finding->command);
}

static void print_sentence(const struct finding *finding, FILE *out, bool color)
{
    (void)fputs(color ? "\033[1m" : "", out);
    text_wrap(finding->sentence, 0, 0, out);
    (void)fputs(color ? "\033[0m" : "", out);
}

static void print_whole(const struct finding *finding, FILE *out, bool color)
{
    (void)fputc('\n', out);
    print_sentence(finding, out, color);
    print_command(finding, "", out);
}

/* What is to be known before the table is read. */
static bool is_first(const struct finding *finding)
{
    return !finding->subject[0] && finding->severity == FINDING_DOUBT;
}

static void print_subject(const struct finding *finding, FILE *out, bool color)
{
    static const char marks[FINDING_SEVERITIES] = {'-', '~', '!'};
    char line[sizeof(finding->subject) + sizeof(finding->sentence) + 8];
    bool red = color && finding->severity == FINDING_BAD;
    (void)snprintf(line, sizeof(line), "%c %s: %s", marks[finding->severity], finding->subject,
                   finding->sentence);
    (void)fputs(red ? "\033[31m" : "", out);
    text_wrap(line, 0, 2, out);
    (void)fputs(red ? "\033[0m" : "", out);
    print_command(finding, "  ", out);
}

bool findings_leads(const struct findings *findings, size_t i)
{
    const struct finding *finding = &findings->all[i];
    if (finding->subject[0] || is_first(finding) || finding->command[0])
        return !finding->subject[0];
    while (i-- > 0)
        if (!findings->all[i].subject[0] && !is_first(&findings->all[i]))
            return false;
    return true;
}

/* Those that lead, or the rest of those of the whole. Whether any was. */
static bool print_sentences(const struct findings *findings, bool leading, FILE *out, bool color)
{
    bool any = false;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        if (finding->subject[0] || findings_leads(findings, i) != leading)
            continue;
        (void)fputs(any ? "\n" : "", out);
        print_sentence(finding, out, color);
        print_command(finding, "", out);
        any = true;
    }
    return any;
}

/* Notes that explain a number, or say what is usual. */
static bool is_detail(const struct finding *finding)
{
    static const char *const ids[] = {"absent_here", "bound", "machine_moved", "units_alike"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (finding->severity == FINDING_NOTE && !strcmp(finding->id, ids[i]))
            return true;
    return false;
}

/* A few doubts say enough. */
static bool is_shown(const struct finding *finding, bool all, size_t *doubts)
{
    enum { DOUBTS = 2 };
    if (!finding->subject[0])
        return false;
    if (finding->severity == FINDING_DOUBT)
        return ++*doubts <= DOUBTS || all;
    return all || !is_detail(finding);
}

void findings_print_some(const struct findings *findings, bool leading, bool all, FILE *out,
                         bool color)
{
    size_t doubts = 0, shown = 0;
    bool any = print_sentences(findings, leading, out, color);
    for (size_t i = 0; i < findings->n && !leading; i++) {
        size_t before = doubts;
        bool show = is_shown(&findings->all[i], all, &doubts);
        shown += show && doubts > before;
        if (!show)
            continue;
        (void)fputs(any ? "\n" : "", out);
        any = false;
        print_subject(&findings->all[i], out, color);
    }
    if (doubts > shown)
        (void)fprintf(out, "~ %zu more warnings: with -v\n", doubts - shown);
}

void findings_print_first(const struct findings *findings, FILE *out, bool color)
{
    for (size_t i = 0; i < findings->n; i++)
        if (is_first(&findings->all[i])) {
            print_sentence(&findings->all[i], out, color);
            (void)fputc('\n', out);
        }
}

void findings_print(const struct findings *findings, FILE *out, bool color)
{
    bool any = false;
    for (size_t i = 0; i < findings->n; i++)
        if (!findings->all[i].subject[0] && !is_first(&findings->all[i]))
            print_whole(&findings->all[i], out, color);
    for (size_t i = 0; i < findings->n; i++) {
        if (!findings->all[i].subject[0])
            continue;
        (void)fputs(any ? "" : "\n", out);
        print_subject(&findings->all[i], out, color);
        any = true;
    }
}

int findings_print_plan(const struct topo *topo, const struct plan *plan, FILE *out,
                        struct err *err)
{
    struct findings findings = {0};
    int rc = plan_check(topo, plan, &findings, err);
    if (!rc)
        findings_print(&findings, out, false);
    findings_free(&findings);
    return rc;
}
