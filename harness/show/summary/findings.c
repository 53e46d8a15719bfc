#include "harness/show/summary/findings.h"

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

/* Of those that lead doubts, or the others; of the rest those of the whole. Whether any was. */
static bool print_sentences(const struct findings *findings, bool leading, bool doubts, bool any,
                            FILE *out, bool color)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        if (finding->subject[0] || findings_leads(findings, i) != leading ||
            is_first(finding) != doubts)
            continue;
        (void)fputs(any ? "\n" : "", out);
        print_sentence(finding, out, color);
        print_command(finding, "", out);
        any = true;
    }
    return any;
}

void findings_print_some(const struct findings *findings, bool leading, FILE *out, bool color)
{
    bool any = leading && print_sentences(findings, true, true, false, out, color);
    any = print_sentences(findings, leading, false, any, out, color);
    for (size_t i = 0; i < findings->n && !leading; i++) {
        if (!findings->all[i].subject[0])
            continue;
        (void)fputs(any ? "\n" : "", out);
        any = false;
        print_subject(&findings->all[i], out, color);
    }
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
